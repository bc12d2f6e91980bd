"""Compute the RRsets that a template version creates in one zone, and find every error with its position.

    text ─► expand ─► Reader ─► Content ─► rules about the records by themselves ─► Made
      (template_text)  (the one parser of zone files)

Rules that involve the zone's own records are checked when the RRsets are drafted or published, as for every edit.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from django.conf import settings

from dnspanel.texts import gettext, gettext_noop
from dnspanel.transfer.documents import Document, SourceFault
from dnspanel.transfer.zone_changes import rrset_of
from dnspanel.transfer.zonefile.check_zone import APEX_SOA
from dnspanel.transfer.zonefile.reader import Reader
from dnspanel.transfer.zonefile.record_parser import Enough, Scope
from dnspanel.transfer.zonefile.report import report_notes, report_violations
from dnspanel.transfer.zonefile.zonefile_content import Content
from dnspanel.transfer.zonefile.zonefile_tokens import Sheet, Unreadable
from dnspanel.zones.models import TemplateVersion, ZoneTemplate
from dnspanel.zones.settings.server_sets import Servers
from dnspanel.zones.settings.template_text import BadText, Expanded, Fault, Variable, expand, expanded_values
from replication.dns import rdtypes
from replication.dns.rrset import Key, RRset

DEFAULT_TTL = 3600  # for records without a $TTL
MOST_RRSETS = 1_000

_REFUSED_DIRECTIVES = {
    "$INCLUDE": gettext_noop("$INCLUDE is not supported in templates"),
    "$GENERATE": gettext_noop("$GENERATE is not supported in templates: enter each record"),
}
# Faults that do not apply, because the zone has these records.
_NOT_ITS_OWN = frozenset(("soa-missing", "apex-ns-missing"))


@dataclass(frozen=True, slots=True)
class Made:
    """The RRsets from a template. Use them only if `faults` is empty.

    `servers` is set if the template is a set of name servers, which can also set names in a zone's SOA.
    """

    rrsets: tuple[RRset, ...]
    faults: tuple[Fault, ...] = ()
    servers: Servers | None = None

    @property
    def by_key(self) -> dict[Key, RRset]:
        return {(rrset.name, rrset.type): rrset for rrset in self.rrsets}

    @property
    def names_in_soa(self) -> bool:
        """True if the template sets names in the zone's SOA, although the template has no SOA record."""
        return self.servers is not None and bool(self.servers.primary or self.servers.hostmaster)

    def over(self, current: Mapping[Key, RRset], apex: str) -> dict[Key, RRset]:
        """Return the template's RRsets by key, plus the zone's SOA if the template sets names in the SOA."""
        made = self.by_key
        if self.servers is not None and self.names_in_soa and (soa := current.get((apex, rdtypes.SOA))) is not None:
            made[apex, rdtypes.SOA] = self.servers.named_in(soa)
        return made


def variables_stored(version: TemplateVersion) -> tuple[Variable, ...]:
    """Return the template version's declared variables."""
    return tuple(map(Variable.from_json, version.variables))


def version_of(template: ZoneTemplate, number: int | None = None) -> TemplateVersion:
    """Return a version of the template, by default the newest. Raise TemplateVersion.DoesNotExist if it is missing."""
    return TemplateVersion.objects.get(template=template, number=template.version if number is None else number)


def make_version(version: TemplateVersion, values: Mapping[str, str], *, zone: str, name: str = "") -> Made:
    """Return the RRsets that the version creates in a zone with these values for its variables.

    `name` is a canonical name inside the zone, by default its apex.
    """
    made = make_records(version.text, variables_stored(version), values, zone=zone, name=name or zone)
    return made if version.servers is None else replace(made, servers=Servers.from_json(version.servers))


def make_records(text: str, variables: Iterable[Variable], values: Mapping[str, str], *, zone: str, name: str) -> Made:
    """Return the RRsets that the text creates with these values. Each fault has its position or its variable."""
    try:
        expanded = expand(text, expanded_values(variables, values, zone=zone, name=name))
    except BadText as exc:
        return Made((), exc.faults)
    if faults := _directives(expanded):
        return Made((), faults)
    reader = Reader(zone, Scope(comments=True, allow_lua=settings.ALLOW_LUA_RECORDS), include=lambda path: None)
    reader.set_origin(name)
    reader.default_ttl = DEFAULT_TTL
    document = Document("", expanded.text.encode("utf-8", "surrogateescape"), zone)
    rrsets: tuple[RRset, ...] = ()
    try:
        reader.read_sheet(Sheet(document, 0))
        rrsets = _finish(reader)
    except Enough:
        pass
    found = tuple(_fault_at_place(fault, expanded) for fault in reader.faults if _is_error(fault))
    return Made(() if found else rrsets, found)


def _finish(reader: Reader) -> tuple[RRset, ...]:
    content: Content = reader.content
    ordered = content.finish()
    if APEX_SOA in content.sets:
        reason = gettext("a template can’t have an SOA record, because each zone has one")
        reader.report(content.place_of(APEX_SOA), Unreadable(reason, "template-soa"))
    if len(ordered) > MOST_RRSETS:
        reason = gettext("a template can create at most {most_rrsets:,} RRsets, but this one creates {count:,}").format(
            most_rrsets=MOST_RRSETS, count=len(ordered)
        )
        reader.report(None, Unreadable(reason, "template-size"))
    report_notes(reader)
    report_violations(reader, ordered)
    if any(_is_error(fault) for fault in reader.faults):
        return ()
    sets = (content.sets[record] for record in ordered)
    return tuple(map(rrset_of, sets))


def _is_error(fault: SourceFault) -> bool:
    if fault.code in _NOT_ITS_OWN:
        return False
    return fault.is_loss  # an import warns and continues, but a template would lose the line without notice


def _fault_at_place(fault: SourceFault, expanded: Expanded) -> Fault:
    column, variable = expanded.place(fault.line, fault.column)
    return Fault(fault.line, column, fault.reason, variable)


def _directives(expanded: Expanded) -> tuple[Fault, ...]:
    """Return a fault for each line with a directive that can read files or create any number of records."""
    found = []
    for number, line in enumerate(expanded.text.split("\n"), 1):
        start = line.lstrip(" \t")
        word = start[:10].upper()
        for directive, message in _REFUSED_DIRECTIVES.items():
            if word.startswith(directive):
                column, variable = expanded.place(number, len(line) - len(start) + 1)
                found.append(Fault(number, column, gettext(message), variable))
    return tuple(found)
