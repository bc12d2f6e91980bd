"""Views of a zone's keys: add, activate, publish, delete, export."""

from collections.abc import Callable

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST

from dnspanel.accounts.actors.actors import Right
from dnspanel.texts import gettext
from dnspanel.web.dnssec.display import key_lost
from dnspanel.web.dnssec.forms import AddKeyForm, KeyForm
from dnspanel.web.dnssec.pages import acting, answer, page
from dnspanel.web.frame.confirm import Question, ask
from dnspanel.web.frame.layout import PanelRequest, no_store, say_done
from dnspanel.web.frame.one_time_page import show_once
from dnspanel.zones.dnssec import key_material
from dnspanel.zones.dnssec import queries as dnssec
from dnspanel.zones.dnssec.signing_state import KeyView
from dnspanel.zones.errors import DnssecRefused
from dnspanel.zones.models import Zone
from dnspanel.zones.rights import access
from dnspanel.zones.signing import sign
from replication.dns.names import before_full_stop


@no_store
@require_POST
def key_add(request: PanelRequest, zone_name: str) -> HttpResponse:
    """Add a key to the zone. Responses aren't cached, because a rejected form contains the private-key text."""
    zone = access.zone_for(request.user, zone_name, Right.DNSSEC)
    form = AddKeyForm(request.POST, request.FILES)

    def act() -> None:
        chosen = form.cleaned_data
        sign.add_key(
            zone=zone,
            acting=acting(request, form),
            flags=chosen["flags"],
            algorithm=chosen["algorithm"],
            bits=form.key_bits,
            texts=sign.KeyTexts(chosen["private_text"], chosen["public_text"]),
            active=chosen["active"],
            published=chosen["published"],
        )

    return answer(
        request, zone, form, act, gettext("Key for {name} added. Nodes are being updated.").format(name=zone.name)
    )


@require_POST
def key_set(request: PanelRequest, zone_name: str, key_id: int) -> HttpResponse:
    """Switch the key's signing or publishing on or off. Ask first if this takes an active, published key out of use."""
    zone = access.zone_for(request.user, zone_name, Right.DNSSEC)
    form, key = KeyForm(request.POST), _key(zone, key_id)
    if not form.is_valid() or key is None:
        return _unknown(request, zone, key_id)
    active, published = form.cleaned_data["active"], form.cleaned_data["published"]
    if key.active and key.published and False in (active, published):
        act = "deactivate" if active is False else "hide"
        _ask(request, zone, key, act)
    by = acting(request, form)
    return _run_act(
        request,
        zone,
        lambda: sign.set_key(zone=zone, key_id=key_id, active=active, published=published, acting=by),
        gettext("Key {tag} changed. Nodes are being updated.").format(tag=key.tag),
    )


@require_POST
def key_delete(request: PanelRequest, zone_name: str, key_id: int) -> HttpResponse:
    """Delete the key from the zone, after a confirmation. If it is the only key, redirect to the unsigning page."""
    zone = access.zone_for(request.user, zone_name, Right.DNSSEC)
    form, key = KeyForm(request.POST), _key(zone, key_id)
    if not form.is_valid():
        return _unknown(request, zone, key_id)
    if key and len(dnssec.keys_of(zone)) == 1:
        messages.warning(request, gettext("You cannot delete the only key. Unsign the zone instead."))
        return redirect("zone-dnssec-unsign", zone.name)
    # If the key no longer exists, `delete_key` finds out whether this form deleted it.
    if key:
        _ask(request, zone, key, "delete")
    by = acting(request, form)
    return _run_act(
        request,
        zone,
        lambda: sign.delete_key(zone=zone, key_id=key_id, acting=by),
        gettext("Key for {name} deleted. Nodes are being updated.").format(name=zone.name),
    )


@no_store
@require_POST
def key_export(request: PanelRequest, zone_name: str, key_id: int) -> HttpResponse:
    """Ask for the password, then show the private-key text once."""
    zone = access.zone_for(request.user, zone_name, Right.EXPORT_KEYS)
    key = _key(zone, key_id)
    if key is None:
        return _unknown(request, zone, key_id)
    back = reverse("zone-dnssec", args=[zone.name])
    ask(request, _about_export(zone, key, back))
    try:
        text = sign.export_key(zone=zone, key_id=key_id, by=request.user, now=timezone.now())
    except DnssecRefused as exc:
        return page(request, zone, refusal=str(exc), status=422)
    file_name = key_material.bind_file_name(zone.name, key.algorithm, key.tag)
    once_page = render(request, "dnssec/key.html", {"zone": zone, "key": key, "text": text, "file_name": file_name})
    return show_once(request, once_page, after=back)


def _key(zone: Zone, key_id: int) -> KeyView | None:
    return next((key for key in dnssec.keys_of(zone) if key.id == key_id), None)


def _unknown(request: PanelRequest, zone: Zone, key_id: int) -> HttpResponse:
    """Return the DNSSEC page with an error: the key was deleted, or the form requests no change."""
    refusal = (
        gettext("{name} no longer has this key.").format(name=zone.name)
        if _key(zone, key_id) is None
        else gettext("Choose how to change the key.")
    )
    return page(request, zone, refusal=refusal, status=422)


def _run_act(request: PanelRequest, zone: Zone, act: Callable[[], object], done: str) -> HttpResponse:
    try:
        act()
    except DnssecRefused as exc:
        return page(request, zone, refusal=str(exc), status=422)
    say_done(request, done)
    return redirect("zone-dnssec", zone.name)


def _ask(request: PanelRequest, zone: Zone, key: KeyView, act: str) -> None:
    titles = {
        "deactivate": gettext("Deactivate key {tag}"),
        "hide": gettext("Hide key {tag}"),
        "delete": gettext("Delete key {tag}"),
    }
    title = titles[act].format(tag=key.tag)
    effects = key_lost(zone, key, dnssec.keys_of(zone), act=act)
    ask(request, Question(title, *effects, back=reverse("zone-dnssec", args=[zone.name])))


def _about_export(zone: Zone, key: KeyView, back: str) -> Question:
    return Question(
        gettext("Show private key {tag}").format(tag=key.tag),
        gettext("Anyone with this key can forge signed answers for {name}.").format(name=before_full_stop(zone.name)),
        button=gettext("Show private key"),
        back=back,
        needs_password=True,
        only_password=True,
        is_dangerous=False,
    )
