"""Read an IXFR response record by record, as RFC 1995 defines it. Pure."""

from dataclasses import dataclass, field

from dnspanel.texts import gettext
from dnspanel.transfer.sources.over_dns.dns_wire import Record
from dnspanel.transfer.sources.over_dns.transfer_faults import Broken, NotGiven
from replication.dns import rdtypes


@dataclass(slots=True)
class Increment:
    """A zone's changes, in steps of removed and added records. `soa` is the zone's new SOA."""

    soa: Record
    steps: list[tuple[list[Record], list[Record]]] = field(default_factory=list)


class IncrementReader:
    """Reader for the records after the first SOA, `soa`, of an IXFR response to the serial `since` (RFC 1995 4)."""

    def __init__(self, soa: Record, since: int) -> None:
        self.found = Increment(soa)
        self.count = 0
        self._at = since  # the serial after the steps so far
        self._adding: bool | None = None
        # A single SOA means that nothing is newer, or that more messages follow.
        self.is_complete = serial_in(soa) == since

    def take(self, record: Record) -> bool:
        """Read a record as part of a step. Return False if the response is the whole zone.

        Raise NotGiven if records follow the end, or Broken if the steps are not in sequence.
        """
        self.count += 1
        if self.is_complete:
            raise NotGiven("transfer-incomplete", gettext("records follow the end of the changes"))
        if record.type == rdtypes.SOA and record.name == self.found.soa.name:
            return self._take_soa(record)
        if self._adding is None:
            return False
        self.found.steps[-1][self._adding].append(record)
        return True

    def _take_soa(self, record: Record) -> bool:
        """Read an SOA inside a step, between steps or at the end. Return and raise the same as `take`."""
        if self._adding is False:
            self._adding, self._at = True, serial_in(record)
        elif self._adding and record.rdata == self.found.soa.rdata and self._at == serial_in(record):
            self.is_complete = True
        elif serial_in(record) == self._at:
            self._adding = False
            self.found.steps.append(([], []))
        elif self._adding is None:
            return False
        else:
            raise Broken(gettext("the changes aren’t consecutive"))
        return True


def serial_in(soa: Record) -> int:
    """Return an SOA record's serial."""
    return int.from_bytes(soa.rdata[-20:-16], "big")
