"""Forms that generate several records from their fields, preview them, and add them to the draft."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import blake2s

from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_safe

from dnspanel.fleet.dnssec.resolver import resolver_of_settings
from dnspanel.fleet.lookups.spf_lookups import SpfLook, follow_spf
from dnspanel.fleet.lookups.tls_certificate import NoCertificate
from dnspanel.fleet.lookups.turns import Busy, turn
from dnspanel.texts import gettext, ngettext
from dnspanel.transfer.zone_templates.access import may_make_templates, templates_visible_to
from dnspanel.web.editor.lines.fields import Unreadable
from dnspanel.web.editor.lines.quick_add import AmbiguousName, read_owner
from dnspanel.web.editor.lines.rrset_form import digest_of
from dnspanel.web.editor.table import default_ttl, violations_of
from dnspanel.web.editor.typed.typed_helpers import fetch_certificate
from dnspanel.web.editor.typed.typed_values import TypedInput
from dnspanel.web.editor.zone_head import render_zone
from dnspanel.web.frame.layout import PanelRequest, is_fragment, say_done
from dnspanel.web.frame.rows import capitalize
from dnspanel.zones.builders.authorities import CaaBuilder, IssuerVerdict, judge_issuer
from dnspanel.zones.builders.builder_pieces import Builder, build_rrsets
from dnspanel.zones.builders.catalogue import BUILDERS, LUA, RECORDS, SNIPPETS
from dnspanel.zones.builders.dkim import DkimBuilder, about_key
from dnspanel.zones.builders.spf import SpfBuilder, Term, present_spf, terms_of
from dnspanel.zones.drafts import draft
from dnspanel.zones.errors import BadFields
from dnspanel.zones.lists import rrset_pages
from dnspanel.zones.models import TemplateKind, Zone
from dnspanel.zones.rights import access
from dnspanel.zones.rules.violations import Violation
from dnspanel.zones.typed.fields import LONGEST_FIELD
from dnspanel.zones.values.readable_texts import readable_text
from replication.dns import names, rdata
from replication.dns.rrset import Key, RRset
from replication.errors import ReplicationError

_LONGEST = min(LONGEST_FIELD, 20_000)


@dataclass(frozen=True, slots=True)
class BuiltRRset:
    """An RRset that a builder changes, with its records before and after."""

    zone: str
    before: RRset | None
    after: RRset

    @property
    def owner(self) -> str:
        return names.owner_text(self.after.name, self.zone)

    @property
    def type(self) -> str:
        return rdata.type_to_text(self.after.type)

    @property
    def lines(self) -> list[tuple[str, str]]:
        """The records as (CSS class, text): deleted records first, then unchanged and new ones."""
        before, after = self.before.rdata if self.before else (), self.after.rdata
        gone = [("is-delete", readable_text(text)) for text in before if text not in after]
        return gone + [("is-same" if text in before else "is-add", readable_text(text)) for text in after]


@dataclass(frozen=True, slots=True)
class Building:
    """A builder's state: its input, the resulting changes, and the errors."""

    builder: Builder
    name: str
    values: dict[str, str]
    seen: str = ""
    faults: dict[str, str] | None = None
    changes: tuple[BuiltRRset, ...] | None = None
    violations: tuple[Violation, ...] = ()
    terms: tuple[Term, ...] = ()
    look: SpfLook | None = None
    verdict: IssuerVerdict | None = None
    server: str = ""
    message: str = ""

    @property
    def inputs(self) -> list[TypedInput]:
        faults = self.faults or {}
        return [
            TypedInput(each, f"b-{each.name}", self.values.get(each.name, ""), faults.get(each.name, ""))
            for each in self.builder.fields
        ]

    @property
    def name_fault(self) -> str:
        return (self.faults or {}).get("name", "")

    @property
    def fault(self) -> str:
        """The error that doesn't belong to a single field, or ""."""
        return (self.faults or {}).get("", "")

    @property
    def about_key(self) -> str:
        """A remark on the DKIM key in the records, or "" without a remark."""
        if not isinstance(self.builder, DkimBuilder) or self.changes is None:
            return ""
        return about_key(self.values["public_key"])

    @property
    def counts_lookups(self) -> bool:
        return isinstance(self.builder, SpfBuilder)


@require_safe
def zone_builders(request: PanelRequest, zone_name: str) -> HttpResponse:
    """List the builders and snippets for this zone."""
    zone = access.zone_for_editing(request.user, zone_name)
    records = (*RECORDS, LUA) if access.may_publish_lua(request.user) else RECORDS
    context: dict[str, object] = {
        "groups": ((gettext("Records for one purpose"), records), (gettext("Mail providers"), SNIPPETS)),
        "own_snippets": templates_visible_to(request.user).filter(kind=TemplateKind.SNIPPET),
        "may_make": may_make_templates(request.user),
    }
    return render_zone(request, zone, "records", "editor/builders.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def zone_builder(request: PanelRequest, zone_name: str, key: str) -> HttpResponse:
    """Show a builder filled in from the zone's records. A POST previews the changes, or adds them to the draft.

    `act=count` also follows an SPF record's lookups, and `act=certificate` compares CAA with a server's certificate.
    """
    zone = access.zone_for_editing(request.user, zone_name)
    builder = BUILDERS.get(key)
    if builder is None or (builder is LUA and not access.may_publish_lua(request.user)):
        raise Http404(key)
    if request.method != "POST":
        return _show(request, zone, _open_builder(request, zone, builder))
    act = request.GET.get("act") or request.POST.get("act", "preview")
    building = _preview_builder(request, zone, builder)
    if building.faults:
        return _show(request, zone, building, status=200 if act == "typed" else 422)
    if act == "count":
        return _show(request, zone, _follow_spf_record(building, zone))
    if act == "certificate" and isinstance(builder, CaaBuilder):
        return _show(request, zone, _check_certificate(building, zone))
    if act == "add" and request.POST.get("seen") == building.seen:
        return _draft(request, zone, building)
    if act == "add" and request.POST.get("seen"):
        building = replace(
            building, message=gettext("The zone or your draft has changed in the meantime. Check the preview again.")
        )
    return _show(request, zone, building)


def _open_builder(request: PanelRequest, zone: Zone, builder: Builder) -> Building:
    """Return the builder filled in from the existing records at the name in the URL, or at the zone's apex."""
    name = request.GET.get("name", "@")[:1100]
    values = {field.name: field.default for field in builder.fields}
    owner = _owner(name, zone)
    if not isinstance(owner, str):
        return Building(builder, name, values, faults=owner.faults)
    try:
        present = _present(request, zone, builder.keys(owner, values))
    except (BadFields, ReplicationError) as exc:  # names below this name would be too long
        return Building(builder, name, values, faults={"name": capitalize(str(exc))})
    values |= builder.read(owner, present)
    terms = tuple(terms_of(present_spf(owner, present))) if isinstance(builder, SpfBuilder) else ()
    return Building(builder, name, values, terms=terms)


def _preview_builder(request: PanelRequest, zone: Zone, builder: Builder) -> Building:
    values = {field.name: request.POST.get(f"b-{field.name}", "")[:_LONGEST] for field in builder.fields}
    server = request.POST.get("server", "").strip()[:300]
    building = Building(builder, request.POST.get("name", "@")[:1100], values, server=server)
    owner = _owner(building.name, zone)
    if not isinstance(owner, str):
        return replace(building, faults=owner.faults)
    try:
        present = _present(request, zone, builder.keys(owner, values))
        rrsets = build_rrsets(builder, owner, values, present, default_ttl(request, zone))
    except BadFields as exc:
        return replace(building, faults=exc.faults)
    except ReplicationError as exc:
        return replace(building, faults={"name": capitalize(str(exc))})
    changes = tuple(BuiltRRset(zone.name, present.get((each.name, each.type)), each) for each in rrsets)
    terms = tuple(terms_of(builder.text(values))) if isinstance(builder, SpfBuilder) else ()
    return replace(
        building,
        changes=changes,
        terms=terms,
        seen=blake2s("".join(digest_of(each.before) + digest_of(each.after) for each in changes).encode()).hexdigest(),
        violations=violations_of(request, zone, *rrsets) if rrsets else (),
    )


def _follow_spf_record(building: Building, zone: Zone) -> Building:
    """Return the builder's state with the DNS lookups for its SPF record, or a message if too many lookups are running.

    Return other builders' states unchanged. The lookups run outside any transaction.
    """
    owner = _owner(building.name, zone)
    if not isinstance(building.builder, SpfBuilder) or not isinstance(owner, str):
        return building
    try:
        with turn():
            look = follow_spf(building.builder.text(building.values), owner, resolver=resolver_of_settings())
    except Busy as exc:
        return replace(building, message=str(exc))
    return replace(building, look=look)


def _check_certificate(building: Building, zone: Zone) -> Building:
    """Fetch the certificate of the typed server (default: port 443 of the record's name), and judge its issuer.

    The name must be valid. Call this outside any transaction.
    """
    host, _, port = building.server.partition(":")
    try:
        certificate = fetch_certificate(host or read_owner(building.name, zone.name), port or "443")
    except (NoCertificate, Busy, BadFields) as exc:
        return replace(building, message=str(exc))
    return replace(building, verdict=judge_issuer(certificate, building.values))


def _owner(typed: str, zone: Zone) -> str | BadFields:
    try:
        return read_owner(typed, zone.name)
    except Unreadable as exc:
        return BadFields({"name": exc.message})
    except AmbiguousName as exc:
        return BadFields(
            {
                "name": gettext("{typed} has no trailing dot. Enter {absolute} or {relative}").format(
                    typed=exc.typed, absolute=exc.absolute, relative=exc.relative
                )
            }
        )
    except ReplicationError as exc:
        return BadFields({"name": str(exc)})


def _present(request: PanelRequest, zone: Zone, keys: Sequence[Key]) -> dict[Key, RRset]:
    """Return the existing RRsets with these keys, including changes in the author's draft."""
    found = {}
    for name, type_ in keys:
        row = rrset_pages.rrset_row(zone=zone, author=request.user, name=name, type=type_)
        if row.change.after is not None:
            found[name, type_] = row.change.after
    return found


def _draft(request: PanelRequest, zone: Zone, building: Building) -> HttpResponse:
    rrsets = [each.after for each in building.changes or ()]
    draft.replace_rrsets(author=request.user, zone=zone, rrsets=rrsets, now=timezone.now())
    changed = len(rrsets)
    say_done(
        request,
        ngettext("{title}: {changed} change added to draft.", "{title}: {changed} changes added to draft.", changed),
        title=building.builder.title,
        changed=changed,
    )
    return redirect(f"{reverse('zone-detail', args=[zone.name])}?in=draft")


def _show(request: PanelRequest, zone: Zone, building: Building, status: int = 200) -> HttpResponse:
    context: dict[str, object] = {"building": building}
    if is_fragment(request):
        return render(request, "editor/_builder_preview.html", {"zone": zone, **context}, status=status)
    return render_zone(request, zone, "records", "editor/builder.html", context, status)
