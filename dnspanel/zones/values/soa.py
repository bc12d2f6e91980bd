"""Read and change a zone's serial in its SOA RRset, and apply the rules for new serials. Pure."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from replication.dns import names, rdata, rdtypes
from replication.dns.rrset import RRset, Serial

DEFAULT_TTL = 3600
# Refresh, retry and expire for secondaries, and how long resolvers may cache "no such name".
DEFAULT_TIMERS = "10800 3600 604800 3600"
NO_SERIAL = Serial(0)  # tools use 0 for an unset serial`
_SERIAL_FIELD = 2
# PowerDNS's values for the two settings, in upper or lower case. Both can be empty.
SOA_EDIT_API = ("DEFAULT", "INCREASE", "EPOCH", "SOA-EDIT", "SOA-EDIT-INCREASE")
SOA_EDIT = ("NONE", "EPOCH", "INCEPTION-EPOCH", "INCEPTION-INCREMENT")


@dataclass(frozen=True, slots=True)
class SoaEdit:
    """The rules for a zone's serial, as values of PowerDNS's metadata SOA-EDIT-API and SOA-EDIT.

    `api` determines the new serial for any publication. PowerDNS applies `edit` whenever it answers. Here, nodes answer
    with the published serial, and `edit` is applied once, to the result of `api`. Unknown values count as no rule.
    https://doc.powerdns.com/authoritative/domainmetadata.html
    """

    api: str = "INCREASE"
    edit: str = ""

    def after(self, serial: Serial, now: datetime) -> Serial:
        """Return the next serial, which is always greater (RFC 1982), so that secondaries notice the change."""
        found = self._edit_serial(serial, now)
        return found if found > serial else serial.next

    def first(self, serial: Serial, now: datetime) -> Serial:
        """Return the first serial of a new zone. `serial` is the serial in its SOA, or NO_SERIAL.

        If no rule changes the serial, it is returned unchanged, but NO_SERIAL becomes today's first serial.
        """
        moved = self._edit_serial(serial, now)
        if moved != serial:
            return self.after(serial, now)
        return serial if serial != NO_SERIAL else first_serial(now)

    def _edit_serial(self, serial: Serial, now: datetime) -> Serial:
        api, edit = self.api.upper(), self.edit.upper()
        if api.startswith("SOA-EDIT"):
            edited = _by_edit(serial, edit, now)
            return edited if api == "SOA-EDIT" or edited > serial else serial.next
        return _by_edit(_by_api(serial, api, now), edit, now)


def _by_api(serial: Serial, api: str, now: datetime) -> Serial:
    if api == "DEFAULT":
        today = first_serial(now)
        return today if today > serial else serial.next
    if api == "EPOCH":
        return _epoch(now)
    return serial.next if api == "INCREASE" else serial


def _by_edit(serial: Serial, edit: str, now: datetime) -> Serial:
    if edit == "EPOCH":
        return _epoch(now)
    if edit not in ("INCEPTION-EPOCH", "INCEPTION-INCREMENT"):
        return serial
    inception = start_of_week(now)
    least = _epoch(inception) if edit == "INCEPTION-EPOCH" else first_serial(inception)
    return least if least > serial else serial


def first_serial(now: datetime) -> Serial:
    """Return the day's first serial, YYYYMMDD01, usually above the serial that a moved zone's secondaries have."""
    return Serial(int(f"{now:%Y%m%d}01"))


def _epoch(now: datetime) -> Serial:
    return Serial(int(now.timestamp()) % 2**32)


def start_of_week(now: datetime) -> datetime:
    """Return the start of PowerDNS's current signature week, a Thursday. Weeks are counted from 1970-01-01."""
    return now - timedelta(seconds=now.timestamp() % timedelta(weeks=1).total_seconds())


def default_soa(zone: str, primary: str, hostmaster: str, serial: Serial) -> RRset:
    """Return a default SOA for a zone without one."""
    text = f"{names.parse(primary)} {names.parse(hostmaster)} {serial.value} {DEFAULT_TIMERS}"
    return RRset(zone, rdtypes.SOA, DEFAULT_TTL, (rdata.parse(rdtypes.SOA, text),))


def served_soa(rrset: RRset) -> str:
    """Return the rdata of the SOA that nodes receive, or of the first record if all are disabled."""
    return (rrset.served or rrset.rdata)[0]


def serial_of(rrset: RRset) -> Serial:
    """Return the serial in an SOA RRset."""
    return Serial(int(served_soa(rrset).split(" ")[_SERIAL_FIELD]))


def with_serial(rrset: RRset, serial: Serial) -> RRset:
    """Return the SOA RRset with this serial in every record, including disabled ones."""

    def replace_serial(text: str) -> str:
        fields = text.split(" ")
        fields[_SERIAL_FIELD] = str(serial.value)
        return " ".join(fields)

    return replace(
        rrset,
        rdata=tuple(map(replace_serial, rrset.rdata)),
        disabled=tuple(map(replace_serial, rrset.disabled)),
        notes=rrset.notes.rename_values(replace_serial),
    )


def next_soa(before: RRset | None, edited: RRset | None, soa_edit: SoaEdit, now: datetime) -> RRset | None:
    """Return `edited` with the serial that follows the serial of `before`.

    Return `edited` unchanged if its serial is already greater than that of `before`, or if one of the RRsets is None.
    """
    if before is None or edited is None:
        return edited
    current, requested = serial_of(before), serial_of(edited)
    return edited if current < requested else with_serial(edited, soa_edit.after(current, now))


def above(ours: Serial, served: Serial | None) -> Serial:
    """Return a serial greater than both arguments. If they can't be compared (RFC 1982), only `served` counts."""
    return ours.next if served is None or ours > served else served.next


def beyond(serial: Serial, last: Serial | None) -> Serial:
    """Return `serial` if secondaries with the deleted zone's serial `last` accept it, else the one after `last`."""
    return serial if last is None or serial > last else last.next


def same_to_dns(one: RRset | None, other: RRset | None) -> bool:
    """Return True if the RRsets differ at most in the SOA serial, the case of names in rdata, or spellings."""
    return same(
        *(rrset and replace(rrset.folded, notes=rrset.folded.notes.without_spellings) for rrset in (one, other))
    )


def same(one: RRset | None, other: RRset | None) -> bool:
    """Return True if the RRsets differ at most in the SOA serial, which changes with every publication."""
    if one is None or other is None:
        return one is other
    if one.type == other.type == rdtypes.SOA:
        return with_serial(one, NO_SERIAL) == with_serial(other, NO_SERIAL)
    return one == other
