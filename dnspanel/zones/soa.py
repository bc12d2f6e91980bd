"""The SOA RRset, which is also where a zone's serial stands."""

from dataclasses import replace

from replication.dns import names, rdata, rdtypes
from replication.dns.rrset import RRset, Serial

DEFAULT_TTL = 3600
# Refresh, retry and expire for secondaries; how long a resolver may keep "no such name".
DEFAULT_TIMERS = "10800 3600 604800 3600"
FIRST_SERIAL = Serial(1)
_SERIAL_FIELD = 2


def default_soa(zone: str, primary: str, hostmaster: str) -> RRset:
    """The SOA of a zone that was given none."""
    text = f"{names.parse(primary)} {names.parse(hostmaster)} {FIRST_SERIAL.value} {DEFAULT_TIMERS}"
    return RRset(zone, rdtypes.SOA, DEFAULT_TTL, (rdata.parse(rdtypes.SOA, text),))


def served_soa(rrset: RRset) -> str:
    """The one SOA text that nodes get, or the first one if all are disabled."""
    return (rrset.served or rrset.rdata)[0]


def serial_of(rrset: RRset) -> Serial:
    """The serial in a SOA RRset."""
    return Serial(int(served_soa(rrset).split(" ")[_SERIAL_FIELD]))


def with_serial(rrset: RRset, serial: Serial) -> RRset:
    """The same SOA RRset with this serial in every record."""

    def moved(text: str) -> str:
        fields = text.split(" ")
        fields[_SERIAL_FIELD] = str(serial.value)
        return " ".join(fields)

    return replace(rrset, rdata=tuple(map(moved, rrset.rdata)), disabled=tuple(map(moved, rrset.disabled)))


def next_soa(before: RRset | None, edited: RRset | None) -> RRset | None:
    """The edited SOA; its serial counts only if it is greater than the zone's, else the zone's next one does."""
    if before is None or edited is None:
        return edited
    current, requested = serial_of(before), serial_of(edited)
    return edited if current < requested else with_serial(edited, current.next)


def above(ours: Serial, served: Serial | None) -> Serial:
    """A serial greater than both. Two that do not compare (RFC 1982) give one greater than `served`."""
    return ours.next if served is None or ours > served else served.next


def same(one: RRset | None, other: RRset | None) -> bool:
    """Equal, apart from a SOA's serial, which moves with every publication."""
    if one is None or other is None:
        return one is other
    if one.type == other.type == rdtypes.SOA:
        return with_serial(one, FIRST_SERIAL) == with_serial(other, FIRST_SERIAL)
    return one == other
