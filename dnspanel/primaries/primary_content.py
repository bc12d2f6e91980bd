"""Convert transferred records to RRsets: a whole zone from AXFR, or changed RRsets from IXFR.

A transfer is accepted completely or not at all. It fails if it contains another zone, records outside the zone, records
that break rules, or signatures that can't be served.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dnspanel.primaries.errors import TransferFailed
from dnspanel.texts import gettext, joined
from dnspanel.transfer import zone_changes
from dnspanel.transfer.documents import BroughtSignatures, Options, SourceFault
from dnspanel.transfer.models import Action
from dnspanel.transfer.sources.over_dns.axfr_in import presentation
from dnspanel.transfer.sources.over_dns.dns_wire import Record
from dnspanel.transfer.sources.over_dns.ixfr_in import Increment
from dnspanel.transfer.zonefile.parse import read_zone
from dnspanel.transfer.zonefile.writer import ZoneText
from dnspanel.zones.plan.merge import Changes
from dnspanel.zones.rules.computed_types import DEPENDING, reasons_against
from dnspanel.zones.rules.violations import Severity
from replication.dns import names, rdata, rdtypes
from replication.dns.rrset import Key, RRset, make
from replication.errors import BadRdata, BadRRset

# Maps each folded value of an RRset (`rdata.fold`) to its original spelling and its TTL.
_Values = dict[str, tuple[str, int]]
# These types show that a zone is signed. A signed zone is compared as a whole, without using the changes of an IXFR.
_OF_SIGNERS = frozenset({rdtypes.RRSIG, rdtypes.NSEC, rdtypes.NSEC3, rdtypes.NSEC3PARAM, rdtypes.DNSKEY})
_OPTIONS = Options(existing="replace", signatures="keep")


class DoesNotFit(Exception):
    """The changes don't apply to the zone's current content, so the whole zone has to be transferred."""


@dataclass(frozen=True, slots=True)
class Transfer:
    """The result of a transfer: changed RRsets and the SOA, the zone's own signatures, and the rdata size in bytes."""

    changes: Changes
    soa: RRset
    signatures: BroughtSignatures | None
    how: str
    size: int


def read_all(zone: str, records: Iterable[Record], current: Mapping[Key, RRset]) -> Transfer:
    """Return the changes from the current RRsets to the whole zone in these records.

    Raise TransferFailed if the records aren't exactly this zone, or can't be served.
    """
    text, size = ZoneText(zone), 0
    for record in records:
        if not names.is_within(record.name, zone):
            raise TransferFailed(
                gettext("The primary sent a record outside the zone: {name}").format(name=record.name), is_refused=True
            )
        if record.type == rdtypes.LUA:  # another operator's program, which our nodes would run
            raise TransferFailed(
                gettext("The transferred zone can’t be served: {name} has a LUA record.").format(name=record.name),
                is_refused=True,
            )
        text.add(record.name, record.ttl, rdtypes.type_to_text(record.type), presentation(record.type, record.rdata))
        size += len(record.rdata)
        if text.is_too_large:
            break
    document = text.document(zone)
    if isinstance(document, SourceFault):
        raise TransferFailed(joined("", (document.reason, ".")), is_refused=True)
    parsed = read_zone(
        document, options=_OPTIONS, include=lambda path: None, allow_lua=False, unanswered=reasons_against(DEPENDING)
    )
    fault = next((each for each in parsed.faults if each.severity is Severity.ERROR), None)
    if fault is not None or parsed.name != zone:
        reason = fault.reason if fault else gettext("the primary sent the zone {name}").format(name=parsed.name)
        raise TransferFailed(
            gettext("The transferred zone can’t be served: {reason}.").format(reason=reason), is_refused=True
        )
    changes = dict(zone_changes.changes_of(action=Action.REPLACE, parsed=parsed, current=current))
    apex = zone, rdtypes.SOA
    soa = next(zone_changes.rrset_of(each) for each in parsed.rrsets if (each.name, each.type) == apex)
    changes[apex] = soa
    return Transfer(changes, soa, parsed.signatures, "axfr", size)


def touched_names(zone: str, increment: Increment) -> set[str]:
    """Return the owner names in the changes, and the apex. Raise TransferFailed for a name outside the zone."""
    found = {zone}
    for step in increment.steps:
        for record in (*step[0], *step[1]):
            if not names.is_within(record.name, zone):
                raise TransferFailed(
                    gettext("The primary sent a record outside the zone: {name}").format(name=record.name),
                    is_refused=True,
                )
            found.add(record.name)
    return found


def read_changes(zone: str, increment: Increment, current: Mapping[Key, RRset]) -> Transfer:
    """Return the changes that an IXFR makes to `current`, which must have all RRsets at the touched names.

    Raise DoesNotFit if a removed record is missing, an added record exists, or an RRset's TTLs differ. Invalid values,
    LUA records and DNSSEC records raise DoesNotFit too.
    """
    values: dict[Key, _Values] = {
        key: {rdata.fold(key[1], text): (text, rrset.ttl) for text in rrset.rdata}
        for key, rrset in current.items()
        if key != (zone, rdtypes.SOA)
    }
    size = 0
    for gone, come in increment.steps:
        size += sum(len(record.rdata) for record in (*gone, *come))
        _apply(values, gone, come)
    soa = _rrset((zone, rdtypes.SOA), {"": (_text(increment.soa), increment.soa.ttl)})
    after = {key: _rrset(key, texts) if texts else None for key, texts in values.items()}
    changes: Changes = {key: rrset for key, rrset in after.items() if rrset != current.get(key)}
    return Transfer({**changes, (zone, rdtypes.SOA): soa}, soa, None, "ixfr", size)


def _apply(values: dict[Key, _Values], gone: Sequence[Record], come: Sequence[Record]) -> None:
    for record in gone:
        folded = rdata.fold(record.type, _text(record))
        if record.type in _OF_SIGNERS or values.get((record.name, record.type), {}).pop(folded, None) is None:
            raise DoesNotFit
    for record in come:
        texts, text = values.setdefault((record.name, record.type), {}), _text(record)
        folded = rdata.fold(record.type, text)
        if record.type in _OF_SIGNERS or record.type == rdtypes.LUA or folded in texts:
            raise DoesNotFit
        texts[folded] = text, record.ttl


def _text(record: Record) -> str:
    try:
        return rdata.from_wire(record.type, record.rdata)
    except BadRdata as exc:
        raise DoesNotFit from exc


def _rrset(key: Key, values: _Values) -> RRset:
    ttls = {ttl for _, ttl in values.values()}
    if len(ttls) > 1:  # only the whole zone shows which TTL is right
        raise DoesNotFit
    try:
        return make(*key, ttls.pop(), [text for text, _ in values.values()])
    except BadRRset as exc:
        raise DoesNotFit from exc
