"""The only parser of zone files. Every import source provides zone-file text for it (RFC 1035 5).

    document ─► Sheet ─► zone's name ─► Reader ─► Content ─► options ─► rules ─► ParsedZone
                lines       apex        (fast and slow path)            check_zone

If a zone file is ambiguous, the parser reads it like `named-checkzone`; tests/oracle/test_zonefiles.py lists the
exceptions. Records outside the zone are left out with a warning. So are records of DNSSEC's own types, unless the
options keep signatures. If an RRset's records have different TTLs, the RRset gets the first record's TTL.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from django.conf import settings

from dnspanel.texts import gettext
from dnspanel.transfer import import_limits
from dnspanel.transfer.documents import Document, Options, ParsedZone, ReadyRRset, SourceFault
from dnspanel.transfer.zonefile import apex
from dnspanel.transfer.zonefile.check_zone import APEX_NS, APEX_SOA
from dnspanel.transfer.zonefile.reader import Reader
from dnspanel.transfer.zonefile.record_parser import Enough, Scope
from dnspanel.transfer.zonefile.report import report_notes, report_violations
from dnspanel.transfer.zonefile.zonefile_content import APEX, Content
from dnspanel.transfer.zonefile.zonefile_signatures import signatures_of, with_chain
from dnspanel.transfer.zonefile.zonefile_tokens import Sheet, Unreadable, printable
from dnspanel.zones.rules.rules import LOW_TTL
from dnspanel.zones.rules.violations import Severity
from dnspanel.zones.settings.server_sets import Servers
from dnspanel.zones.values import soa
from replication.dns import rdata, rdtypes
from replication.dns.rrset import MAX_TTL, RRset, Serial, make

Include = Callable[[str], Document | None]

ONE = Serial(1)
AS_IT_IS = Options()  # for zones that keep their signatures, which must not be changed


def read_zone(  # noqa: PLR0913  # a document, and what is known about its zone
    document: Document,
    *,
    options: Options,
    include: Include,
    allow_lua: bool,
    unanswered: Mapping[int, str] = MappingProxyType({}),
    first_serial: Serial = ONE,
    ours: Servers | None = None,
) -> ParsedZone:
    """Parse a document into a zone, with all its faults. Invalid content never raises an error.

    `include` returns another file of the upload by its path in a `$INCLUDE`. `unanswered` maps types that not every
    node supports to the reason (`zones.rules.computed_types.reasons_against`); their RRsets are errors. An SOA that the
    panel creates gets the serial `first_serial`. `ours` are the name servers for the option value `ours`, by default
    those in the settings.
    """
    sheet = Sheet(document, 0)
    zone, fault, line, is_dotless = apex.find(sheet, include)
    if sheet.fault is not None:
        fault, line = sheet.fault, sheet.fault_line
    if fault is not None:
        return ParsedZone(zone, faults=[_fault_of_file(sheet, fault, line)])
    reader = Reader(
        zone,
        Scope(
            comments=options.comments,
            allow_lua=allow_lua,
            unanswered=unanswered,
            signatures=options.signatures == "keep",
        ),
        include=include,
        is_dotless=is_dotless,
    )
    try:
        reader.read_sheet(sheet)
        signatures = signatures_of(reader) if reader.scope.signatures else None
        if signatures is not None:
            options = AS_IT_IS
        made = _complete(reader.content, options, first_serial, ours)
        ordered = _finish(reader, options)
        if signatures is not None and not reader.errors:
            signatures = with_chain(reader, signatures, [reader.content.sets[record] for record in ordered])
    except Enough:
        reader.faults.append(_note_of_unread(document, zone))
        return ParsedZone(zone, faults=reader.faults, generated=reader.generated)
    content = reader.content
    sets = content.sets
    return ParsedZone(
        zone,
        _serial(content),
        [sets[record] for record in ordered],
        reader.faults,
        sum([len(known) - 1 for known in content.more.values()], len(sets)),
        reader.generated,
        made,
        signatures,
    )


def _fault_of_file(sheet: Sheet, fault: Unreadable, line: int) -> SourceFault:
    document = sheet.document
    mapped = document.lines
    number = line + 1 if mapped is None else mapped[line] if line < len(mapped) else 0
    source = printable(sheet.lines[line][:200])
    return SourceFault(document.path, number, fault.column, source, fault.reason, fault.code, printable(fault.fix))


def _note_of_unread(document: Document, zone: str) -> SourceFault:
    reason = gettext("at least {most_faults_of_zone} errors found: the rest of the file wasn’t checked").format(
        most_faults_of_zone=import_limits.MOST_FAULTS_OF_ZONE
    )
    return SourceFault(document.path, 0, 0, "", reason, "too-many", severity=Severity.NOTE, zone=zone)


def _serial(content: Content) -> int:
    found = content.sets.get(APEX_SOA)
    return int(found.texts[0].split(" ", 3)[2]) if found else 0


def _complete(content: Content, options: Options, first_serial: Serial, ours: Servers | None) -> frozenset[int]:
    """Add or replace SOA and NS according to the options. Return the types that were missing and have been created."""
    made = set()
    if options.soa == "missing" and APEX_SOA not in content.sets:
        made.add(rdtypes.SOA)
    if options.nameservers == "missing" and APEX_NS not in content.sets:
        made.add(rdtypes.NS)
    if options.soa == "ours" or rdtypes.SOA in made:
        _take_our_soa(content, first_serial, ours)
    if options.nameservers == "ours" or rdtypes.NS in made:
        _take_our_nameservers(content, ours)
    return frozenset(made)


def _finish(reader: Reader, options: Options) -> list[bytes]:
    """Set the TTLs according to the options, check the content, and return the sorted record keys."""
    content = reader.content
    ordered = content.finish()
    if options.ttl is not None or options.ttl_least is not None or options.ttl_most is not None:
        _bound_ttls(content, options)
    report_notes(reader)
    report_violations(reader, ordered)
    return ordered


def _take_our_soa(content: Content, first_serial: Serial, ours: Servers | None) -> None:
    serial = Serial(_serial(content)) if APEX_SOA in content.sets else first_serial
    made = soa.default_soa(content.zone, settings.DEFAULT_NAMESERVERS[0], settings.DEFAULT_HOSTMASTER, serial)
    _replace(content, APEX_SOA, ours.named_in_new(made) if ours else made)


def _take_our_nameservers(content: Content, ours: Servers | None) -> None:
    made = make(content.zone, rdtypes.NS, soa.DEFAULT_TTL, settings.DEFAULT_NAMESERVERS)
    _replace(content, APEX_NS, ours.nameservers(content.zone) if ours else made)


def _replace(content: Content, record: bytes, rrset: RRset) -> None:
    """Replace an RRset at the apex, and keep its position in the file."""
    place = content.places.get(record, 0)
    content.remove(record)
    for text in rrset.rdata:
        wire = rdata.to_wire(rrset.type, text)
        content.add(ReadyRRset(rrset.name, APEX, rrset.type, rrset.ttl, (text,), (wire,)), place)


def _bound_ttls(content: Content, options: Options) -> None:
    least, most = options.ttl_least or 0, options.ttl_most if options.ttl_most is not None else MAX_TTL
    content.low_ttls.clear()
    for record, rrset in content.sets.items():
        ttl = options.ttl if options.ttl is not None else max(least, min(rrset.ttl, most))
        if ttl != rrset.ttl:
            content.sets[record] = rrset._replace(ttl=ttl)
        if ttl < LOW_TTL:
            content.low_ttls.add(record)
