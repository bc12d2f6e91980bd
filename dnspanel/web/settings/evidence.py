"""Views for administrators that list, add, change, test, switch off and delete audit log destinations."""

from functools import partial
from typing import Any

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dnspanel.audit.forward import destinations
from dnspanel.audit.forward.destination_address import LONGEST_HEADERS
from dnspanel.audit.forward.destination_tls import LONGEST_PEM
from dnspanel.audit.forward.errors import DestinationRefused, NotSent
from dnspanel.audit.forward.models import Destination, Kind
from dnspanel.texts import gettext, gettext_lazy
from dnspanel.web.frame.confirm import Question, ask, run_confirmed
from dnspanel.web.frame.forms import PanelForm, mono_field, switch_field, text_field
from dnspanel.web.frame.layout import PanelRequest, reporting, say_done
from dnspanel.webhooks.address_guard import LONGEST_URL

_ADDRESSES = {
    Kind.SYSLOG: (
        gettext_lazy("Host and port"),
        "logs.example:6514",
        gettext_lazy("Syslog over TLS with octet counting (RFC 5425). The default port is 6514."),
    ),
    Kind.OTLP: (
        "URL",
        "https://collector.example/v1/logs",
        gettext_lazy("OTLP over HTTP, as JSON. The path is usually /v1/logs."),
    ),
}
_SECRET_STAYS = gettext_lazy("Leave empty to keep the stored value, which is never shown.")


class DestinationForm(PanelForm):
    """The form for an audit log destination: its address, the CA that signs its certificate, and credentials."""

    name = text_field(None, destinations.LONGEST_NAME, required=True)
    address = mono_field(None, LONGEST_URL, required=True)
    ca = mono_field(
        gettext_lazy("Certificate authority"),
        LONGEST_PEM,
        gettext_lazy("PEM format. Leave empty to use the system’s CAs."),
        rows=4,
    )
    certificate = mono_field(
        gettext_lazy("Client certificate"),
        LONGEST_PEM,
        gettext_lazy("PEM format, with intermediate certificates. Leave empty to send no certificate."),
        rows=4,
    )
    key = mono_field(
        gettext_lazy("Private key"),
        LONGEST_PEM,
        gettext_lazy("PEM format. Stored encrypted and never shown again."),
        rows=4,
    )
    headers = mono_field(
        gettext_lazy("Headers"),
        LONGEST_HEADERS,
        gettext_lazy("Stored encrypted and never shown again. Enter one per line, such as Authorization: Bearer …"),
        rows=4,
    )
    without_headers = switch_field(gettext_lazy("Delete stored headers"))
    from_beginning = switch_field(
        gettext_lazy("Send the whole log"), gettext_lazy("Otherwise, only new entries are sent.")
    )

    def __init__(self, *args: Any, kind: Kind, destination: Destination | None = None, **kwargs: Any) -> None:
        if destination is not None:
            kwargs["initial"] = {name: getattr(destination, name) for name in ("name", "address", "ca", "certificate")}
        super().__init__(*args, **kwargs)
        address = self.fields["address"]
        address.label, address.widget.attrs["placeholder"], address.help_text = _ADDRESSES[kind]
        if kind == Kind.SYSLOG:
            del self.fields["headers"]
        if destination is None or destination.headers is None:
            del self.fields["without_headers"]
        if destination is not None:
            self.fields["from_beginning"].label = gettext("Send the whole log again")
            self.fields["from_beginning"].help_text = gettext("Otherwise, sending continues after the last entry sent.")
            if destination.key is not None:
                self.fields["key"].help_text = _SECRET_STAYS
            if destination.headers is not None:
                self.fields["headers"].help_text = _SECRET_STAYS

    @property
    def terms(self) -> destinations.Terms:
        return destinations.Terms(**self.cleaned_data)


@require_safe
def evidence_list(request: PanelRequest) -> HttpResponse:
    """List the audit log destinations, and how far the log has been sent to each."""
    destinations.require_operator(request.user)
    rows = destinations.destination_rows()
    context = {"rows": rows, "may_add": len(rows) < destinations.MOST_DESTINATIONS, "tab": "evidence"}
    return render(request, "settings/evidence.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def evidence_new(request: PanelRequest) -> HttpResponse:
    """Show the form for a new audit log destination. A POST requires the password and adds the destination."""
    destinations.require_operator(request.user)
    kind = Kind.OTLP if request.GET.get("kind") == Kind.OTLP else Kind.SYSLOG
    form = DestinationForm(request.POST or None, kind=kind)
    if form.is_valid():
        create = partial(
            destinations.create_destination, kind=kind, terms=form.terms, by=request.user, now=timezone.now()
        )
        with form.catching(DestinationRefused):
            made = run_confirmed(request, _ABOUT_LOG, create)
            text = gettext("Destination {name} created. Send a test message to check the connection.")
            say_done(request, text, name=made.name)
            return redirect("settings-evidence-detail", made.pk)
    context = {"form": form, "kind": kind, "kinds": Kind.choices}
    return render(request, "settings/evidence_new.html", context, status=422 if form.is_bound else 200)


_ABOUT_LOG = Question(
    gettext_lazy("Send audit log to another system"),
    gettext_lazy("Anyone with access to that system can read all actions in every zone, with their IP addresses."),
    button=gettext_lazy("Send audit log"),
    back="/settings/evidence/",
    needs_password=True,
    only_password=True,
)


@require_http_methods(["GET", "HEAD", "POST"])
def evidence_detail(request: PanelRequest, destination_id: int) -> HttpResponse:
    """Show an audit log destination and its progress. A POST requires the password and changes the destination."""
    row = _row(request, destination_id)
    form = DestinationForm(request.POST or None, kind=Kind(row.destination.kind), destination=row.destination)
    if form.is_valid():
        change = partial(
            destinations.change_destination,
            destination=row.destination,
            terms=form.terms,
            by=request.user,
            now=timezone.now(),
        )
        with form.catching(DestinationRefused):
            run_confirmed(request, _ABOUT_LOG, change)
            say_done(request, gettext("Destination saved. Changes apply from the next batch."))
            return redirect("settings-evidence-detail", destination_id)
    context = {"row": row, "destination": row.destination, "form": form}
    return render(request, "settings/evidence_detail.html", context, status=422 if form.is_bound else 200)


@require_POST
def evidence_switch(request: PanelRequest, destination_id: int) -> HttpResponse:
    """Switch the destination off after a confirmation, or on after a password check (`active` is "no" or "yes")."""
    destination = _row(request, destination_id).destination
    active = request.POST.get("active") == "yes"
    question = Question(
        gettext("Disable {name}").format(name=destination.name),
        gettext("No entries are sent to the destination. New entries wait until it’s enabled again."),
        button=gettext("Disable"),
        back=reverse("settings-evidence-detail", args=[destination.pk]),
    )
    ask(request, _ABOUT_LOG if active else question)
    destinations.switch_destination(destination=destination, active=active, by=request.user, now=timezone.now())
    say_done(request, gettext("{name} enabled.") if active else gettext("{name} disabled."), name=destination.name)
    return redirect("settings-evidence-detail", destination.pk)


@require_POST
def evidence_test(request: PanelRequest, destination_id: int) -> HttpResponse:
    """Send a test message to the destination and show the result."""
    destination = _row(request, destination_id).destination
    with reporting(request, NotSent, text=gettext("Test failed: {exc}")):
        destinations.try_destination(destination=destination, by=request.user, clock=timezone.now)
        say_done(request, gettext("{name} confirmed the test message."), name=destination.name)
    return redirect("settings-evidence-detail", destination.pk)


@require_POST
def evidence_delete(request: PanelRequest, destination_id: int) -> HttpResponse:
    """Delete the destination after the user confirms."""
    destination = _row(request, destination_id).destination
    question = Question(
        gettext("Delete {name}").format(name=destination.name),
        gettext(
            "The panel will stop sending entries and delete its position in the log. Entries already sent "
            "will stay at the destination."
        ),
        button=gettext("Delete"),
        back=reverse("settings-evidence-detail", args=[destination.pk]),
    )
    ask(request, question)
    destinations.delete_destination(destination=destination, by=request.user, now=timezone.now())
    say_done(request, gettext("{name} deleted."), name=destination.name)
    return redirect("settings-evidence")


def _row(request: PanelRequest, destination_id: int) -> destinations.DestinationRow:
    """Return the destination. Raise Forbidden for users who aren't operators, DestinationUnknown for an unknown id."""
    destinations.require_operator(request.user)
    return destinations.destination_row(destination_id)
