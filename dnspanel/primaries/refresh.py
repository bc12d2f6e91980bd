"""Refresh a zone: query its primaries in order until one answers (RFC 1034 section 4.3.5).

No transaction is open while the panel waits for a primary.
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from dnspanel.database.sql import fetch_one
from dnspanel.primaries import apply_transfer
from dnspanel.primaries.apply_transfer import TransferSource
from dnspanel.primaries.errors import TransferFailed
from dnspanel.primaries.models import TransferredZone
from dnspanel.primaries.primary_content import DoesNotFit, Transfer, read_all, read_changes, touched_names
from dnspanel.primaries.primary_keys import key_for
from dnspanel.primaries.primary_tls import peer_for, place_of
from dnspanel.primaries.soa_query import Primary, serial_at
from dnspanel.primaries.timers import Timers
from dnspanel.texts import gettext, joined
from dnspanel.transfer.allowed_servers import allowed_addresses
from dnspanel.transfer.errors import ServerRefused, SourceAway
from dnspanel.transfer.import_limits import MOST_ITEM_SECONDS
from dnspanel.transfer.sources.over_dns.axfr_in import Server
from dnspanel.transfer.sources.over_dns.dns_wire import BadMessage, Record
from dnspanel.transfer.sources.over_dns.ixfr_in import Increment
from dnspanel.transfer.sources.over_dns.transfer_faults import Broken, NotGiven
from dnspanel.zones.dnssec.queries import signing_of
from dnspanel.zones.dnssec.trust import newly_broken
from dnspanel.zones.models import Zone
from dnspanel.zones.plan.merge import Changes, Edit
from dnspanel.zones.plan.plan import plan_zones
from dnspanel.zones.rules.rules import BREAKING_DS
from dnspanel.zones.store import store_rrsets
from replication.dns import rdtypes
from replication.dns.rrset import Change, Key, RRset, Serial

Clock = Callable[[], datetime]

SILENT_SECONDS = 30.0
# If an IXFR has more records than this, the whole zone is transferred.
MOST_CHANGES = 100_000
# A claim expires after this time, so that a dead worker does not block the zone.
CLAIM = timedelta(seconds=MOST_ITEM_SECONDS * 2)

_CLAIM = """
UPDATE primaries_transferredzone SET due_at = %(until)s WHERE zone_id = (
    SELECT t.zone_id FROM primaries_transferredzone t JOIN zones_zone z ON z.id = t.zone_id
    WHERE t.due_at <= %(now)s AND z.deleted_at IS NULL AND z.transferred_from <> ''
    ORDER BY t.due_at LIMIT 1 FOR UPDATE OF t SKIP LOCKED
) RETURNING zone_id"""


def claim_due(now: datetime) -> int | None:
    """Claim the zone that has been due longest. Return its id, or None if no zone is due.

    The claim ends with the refresh, or after CLAIM.
    """
    found = fetch_one(_CLAIM, {"now": now, "until": now + CLAIM})
    return None if found is None else int(found[0])


@dataclass(frozen=True, slots=True)
class _Turn:
    """A zone's state at the beginning of a refresh."""

    row: TransferredZone
    zone: Zone
    timers: Timers | None

    @property
    def known_serial(self) -> Serial | None:
        """The primary's serial at the last transfer, or None if there was none or a full transfer was requested."""
        return None if self.row.serial is None or self.row.wants_all else Serial(self.row.serial)


def take_turn(*, zone_id: int, clock: Clock) -> str:
    """Refresh the zone from the first primary that works. Return "axfr", "ixfr", "" without a transfer, or the error.

    If a primary fails, the zone stays unchanged and the next one is tried. If all fail, the error is also stored.
    """
    row = TransferredZone.objects.select_related("zone").filter(pk=zone_id).first()
    if row is None or not row.is_active or row.zone.deleted_at is not None:
        return ""
    turn = _Turn(row, row.zone, _timers_of(row))
    faults: list[TransferFailed] = []
    for number in range(len(row.addresses)):
        try:
            return _from_primary(turn, number, clock)
        except TransferFailed as exc:
            faults.append(exc)
    reason = joined(" ", (_with_stop(str(fault)) for fault in faults))
    is_refused = any(fault.is_refused for fault in faults)
    apply_transfer.note_failure(row=row, reason=reason, is_refused=is_refused, timers=turn.timers, now=clock())
    return reason


def _with_stop(text: str) -> str:
    return text if text.endswith(".") else joined("", [text, "."])


def _timers_of(row: TransferredZone) -> Timers | None:
    if row.serial is None:
        return None
    zone = row.zone
    found = store_rrsets.rrsets_at_names({zone.pk: (zone.name, {zone.name})})[zone.pk]
    return Timers.of(found[zone.name, rdtypes.SOA])


def _from_primary(turn: _Turn, number: int, clock: Clock) -> str:
    """Transfer the zone from the primary at this index. Return "axfr" or "ixfr", or "" if the zone is up to date.

    Raise TransferFailed if the primary's serial is lower or the transfer fails.
    """
    address = turn.row.addresses[number]
    host, port = place_of(turn.row, address)
    primary = Primary(host, port, key_for(turn.row), peer_for(turn.row, number, now=clock()))
    offered = Serial(serial_at(primary, turn.zone.name))
    known = turn.known_serial
    if known is not None and offered == known:
        if turn.timers is not None and not turn.zone.waits_for_nodes:
            apply_transfer.note_current(row=turn.row, timers=turn.timers, now=clock())
            return ""
    elif known is not None and not offered > known:
        raise TransferFailed(
            gettext(
                "{address} has serial {value}, but this panel already has serial {value2}. Serials can only increase."
            ).format(address=address, value=offered.value, value2=known.value),
            is_refused=True,
        )
    transfer = _transfer(turn, primary, known)
    serial = int(transfer.soa.rdata[0].split()[2])
    if known is not None and not Serial(serial) >= known:
        raise TransferFailed(
            gettext("{address} sent a lower serial ({serial}).").format(address=address, serial=serial), is_refused=True
        )
    _refuse_broken_below(turn, transfer.changes)
    apply_transfer.apply(
        row=turn.row, zone=turn.zone, transfer=transfer, source=TransferSource(address, serial), now=clock()
    )
    return transfer.how


def _transfer(turn: _Turn, primary: Primary, known: Serial | None) -> Transfer:
    """Transfer by IXFR if possible, otherwise by AXFR. Raise TransferFailed if this fails."""
    until = time.monotonic() + MOST_ITEM_SECONDS
    server = Server(
        primary.host, primary.port, primary.key, SILENT_SECONDS, allowed_addresses, until=until, tls=primary.tls
    )
    is_untouched = turn.zone.revision == turn.row.revision and not turn.zone.waits_for_nodes
    try:
        if known is not None and turn.row.uses_ixfr and is_untouched and not signing_of(turn.zone).presigned:
            transfer = _changes(turn, server, known)
            if transfer is not None:
                return transfer
        return _all(turn, server.all_of(turn.zone.name))
    except (NotGiven, BadMessage) as exc:
        raise TransferFailed(
            gettext("{host} port {port}: {exc}.").format(host=primary.host, port=primary.port, exc=exc), is_refused=True
        ) from exc
    except (Broken, SourceAway) as exc:
        raise TransferFailed(
            gettext("{host} port {port}: {exc}.").format(host=primary.host, port=primary.port, exc=exc)
        ) from exc
    except ServerRefused as exc:
        raise TransferFailed(str(exc), is_refused=True) from exc


def _changes(turn: _Turn, server: Server, known: Serial) -> Transfer | None:
    """Transfer by IXFR. Return None if a full transfer is needed.

    The primary can answer with changes or with the whole zone. Raise TransferFailed if the content can't be served.
    Raise the errors of `Server.all_of` if the primary sends the whole zone but doesn't complete it.
    """
    try:
        increment = server.changes_since(turn.zone.name, known.value, MOST_CHANGES)
    except (NotGiven, Broken, BadMessage):  # not every server supports IXFR; a full transfer reports the error
        return None
    if increment is None:
        return None
    if not isinstance(increment, Increment):
        return _all(turn, increment)
    if not increment.steps:
        return None
    touched = touched_names(turn.zone.name, increment)
    current = store_rrsets.rrsets_at_names({turn.zone.pk: (turn.zone.name, touched)})[turn.zone.pk]
    try:
        transfer = read_changes(turn.zone.name, increment, current)
    except DoesNotFit:
        return None
    _refuse_violations(turn.zone, transfer.changes, current)
    return transfer


def _all(turn: _Turn, records: Iterable[Record]) -> Transfer:
    current = store_rrsets.rrsets_of_zones([turn.zone.pk])[turn.zone.pk]
    return read_all(turn.zone.name, records, current)


def _refuse_violations(zone: Zone, changes: Changes, current: dict[Key, RRset]) -> None:
    """Raise TransferFailed if an IXFR breaks a rule that applies to all zones. For an AXFR, `read_all` checks this."""
    edits = [Edit(Change(*key, current.get(key), rrset)) for key, rrset in changes.items()]
    [plan] = plan_zones({zone.pk: (zone, edits)}, zone.changed_at)
    broken = [each for each in plan.violations if each in plan.errors or each.code == BREAKING_DS]
    if broken:
        raise TransferFailed(
            gettext("The transferred zone can’t be served: {message}.").format(message=broken[0].message),
            is_refused=True,
        )


def _refuse_broken_below(turn: _Turn, changes: Changes) -> None:
    """Raise TransferFailed if a DS would break the chain of trust to a child zone that is served here."""
    after = {name: rrset.served for (name, type), rrset in changes.items() if type == rdtypes.DS and rrset is not None}
    if not after:
        return
    current = store_rrsets.rrsets_at_names({turn.zone.pk: (turn.zone.name, set(after))})[turn.zone.pk]
    before = {name: current[name, rdtypes.DS].served for name in after if (name, rdtypes.DS) in current}
    for name, reason in newly_broken(before, after).items():
        raise TransferFailed(
            gettext("The transferred DS would break the zone {name}, {reason}.").format(name=name, reason=reason),
            is_refused=True,
        )
