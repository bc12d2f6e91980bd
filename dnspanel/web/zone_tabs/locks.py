"""Views for a zone's locks, on its Settings tab. Only a lock's manager can change the locked records."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from dnspanel.accounts.actors.actors import Actor, Right
from dnspanel.accounts.models import User
from dnspanel.texts import gettext, gettext_lazy
from dnspanel.web.access.rights_form import AboutRRsetForm, person_or_token
from dnspanel.web.editor.zone_head import render_zone
from dnspanel.web.frame.all_or_some import AllOrSome, AllOrSomeForm
from dnspanel.web.frame.forms import mono_field, text_field
from dnspanel.web.frame.layout import PanelRequest, actor_for, reporting, say_done
from dnspanel.zones.errors import LockRefused, LockUnknown
from dnspanel.zones.models import Zone
from dnspanel.zones.rights import access
from dnspanel.zones.rights.lock_rules import locks_of
from dnspanel.zones.rights.locks import LONGEST_REASON, NO_MANAGER, Manager, add_lock, lift_lock


class LockForm(AllOrSomeForm, AboutRRsetForm):
    """The form for a lock: its records, the reason, and the person or token that can still change the records."""

    all_or_some = (
        AllOrSome(
            ("name", "type"),
            "what",
            gettext_lazy("Locked records"),
            gettext_lazy("The whole zone"),
            gettext_lazy("Only these records"),
        ),
    )
    without_type = None
    reason = text_field(
        gettext_lazy("Why"),
        LONGEST_REASON,
        gettext_lazy("Shown to people who try to change locked records."),
        required=True,
        placeholder=gettext_lazy("Managed by Terraform"),
    )
    who = mono_field(
        gettext_lazy("Exceptions"),
        1100,
        gettext_lazy("Enter a user name, the visible start of a token, or the name of a TSIG key."),
        placeholder=gettext_lazy("no one"),
    )

    def __init__(self, *args: Any, zone: Zone, reader: Actor, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.zone, self.reader = zone, reader
        self.fields["name"].help_text = gettext("Enter @ for the zone apex.")
        self.fields["type"].help_text = gettext("Leave empty for all types at the name.")

    def zone_meant(self) -> Zone | None:
        return self.zone

    def clean_who(self) -> Manager:
        text = self.cleaned_data["who"].strip()
        if not text:
            return NO_MANAGER
        found = person_or_token(text, self.reader)
        return Manager(person=found) if isinstance(found, User) else Manager(person=found.owner, token=found)


def locks_context(zone: Zone, form: LockForm) -> dict[str, object]:
    """Return the template context for the locks card."""
    return {"lock_form": form, "locks": locks_of(zone)}


def lock_form(request: PanelRequest, zone: Zone, data: QueryDict | None = None) -> LockForm:
    """Return the form for a new lock, bound to `data` if given."""
    return LockForm(data, zone=zone, reader=actor_for(request))


@require_http_methods(["GET", "HEAD", "POST"])
def zone_locks(request: PanelRequest, zone_name: str) -> HttpResponse:
    """Show the locks of a zone. A POST adds a lock."""
    zone = access.zone_for(request.user, zone_name, Right.SETTINGS)
    form = lock_form(request, zone, request.POST or None)
    if form.is_valid():
        given = form.cleaned_data
        with form.catching(LockRefused):
            lock = add_lock(
                zone=zone,
                name=given["name"],
                type=given["type"],
                reason=given["reason"],
                manager=given["who"],
                author=request.user,
                now=timezone.now(),
            )
            say_done(request, gettext("Lock created for {what}."), what=lock.what)
            return redirect("zone-locks", zone.name)
    status = 422 if form.is_bound else 200
    return render_zone(request, zone, "settings", "zone_tabs/locks.html", locks_context(zone, form), status)


@require_POST
def zone_lock_lift(request: PanelRequest, zone_name: str, lock_id: int) -> HttpResponse:
    """Remove the lock from the zone."""
    zone = access.zone_for(request.user, zone_name, Right.SETTINGS)
    with reporting(request, LockUnknown, level=messages.WARNING):
        lift_lock(zone=zone, lock_id=lock_id, author=request.user, now=timezone.now())
        say_done(request, gettext("Lock deleted."))
    return redirect("zone-locks", zone.name)
