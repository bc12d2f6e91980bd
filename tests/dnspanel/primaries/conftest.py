"""Fixtures of the tests of primaries: a BIND with a zone and one key, and a panel that is allowed to contact it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import dns.query
import dns.rcode
import dns.tsigkeyring
import dns.update
import dns.zone
import pytest

from dnspanel.accounts.models import User
from dnspanel.primaries import refresh, set_up_primaries
from dnspanel.primaries.models import TransferredZone
from dnspanel.primaries.set_up_primaries import Terms
from dnspanel.zones.acting import Acting
from dnspanel.zones.models import Channel, RRset, Zone
from replication.dns import rdata
from tests.dnspanel.transfer.powerdns_estate import TSIG_SECRET
from tests.dnspanel.transfer.sources.over_dns.test_axfr_in import named
from tests.foreign_servers import Record, in_canonical_form
from tests.people import NOW
from tests.people import alice as alice
from tests.people import bob as bob

ZONE = "abroad.test."
KEY = {"tsig_name": "transfer", "tsig_secret": TSIG_SECRET}
TEXT = """
@ 300 SOA ns1.abroad.test. hostmaster.abroad.test. 10 3600 600 86400 300
@ 300 NS ns1.abroad.test.
ns1 300 A 192.0.2.53
www 300 A 192.0.2.1
www 300 A 192.0.2.2
mail 60 MX 10 mx.example.net.
txt 60 TXT "one" "two words"
"""


@dataclass(frozen=True, slots=True)
class Primary:
    """A running BIND that accepts DNS UPDATE from every client, and transfers the zone to clients with the key."""

    port: int

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def update(self, *acts: tuple[str, Sequence[Any]]) -> None:
        message = dns.update.UpdateMessage(ZONE)
        for act, arguments in acts:
            getattr(message, act)(*arguments)
        answer = dns.query.tcp(message, "127.0.0.1", port=self.port, timeout=10)
        assert answer.rcode() == dns.rcode.NOERROR

    def records(self) -> set[Record]:
        keyring = dns.tsigkeyring.from_text({"transfer": TSIG_SECRET})
        found = dns.query.xfr("127.0.0.1", ZONE, port=self.port, relativize=False, timeout=10, keyring=keyring)
        text = dns.zone.from_xfr(found, relativize=False).to_text()
        assert isinstance(text, str)
        return in_canonical_form(ZONE, text)


@pytest.fixture(scope="session")
def primary(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Primary]:
    directory: Path = tmp_path_factory.mktemp("primary")
    options = {ZONE: "allow-update { any; }; allow-transfer { key transfer; }; ixfr-from-differences yes;"}
    with named(directory, {ZONE: TEXT}, options) as port:
        yield Primary(port)


@pytest.fixture
def transferred(primary: Primary, alice: User, settings: Any) -> Zone:
    """Return the zone after its first transfer to the panel."""
    settings.SOURCE_NETWORKS = ["127.0.0.0/8"]
    zone = awaited(primary.address, alice, **KEY)
    assert take_turn(zone) == "axfr"
    zone.refresh_from_db()
    return zone


def awaited(address: str, author: User, **terms: Any) -> Zone:
    """Create a zone that will be transferred from this address. Return it before the first transfer."""
    made_of = Terms(addresses=[address], **terms)
    set_up_primaries.create_transferred_zone(name=ZONE, terms=made_of, acting=Acting(author, Channel.WEB, NOW))
    return Zone.objects.get(name=ZONE, deleted_at=None)


def take_turn(zone: Zone, *, after: timedelta = timedelta(0)) -> str:
    """Run the zone's next refresh step, `after` from NOW. Return the kind of step, such as "axfr"."""
    return refresh.take_turn(zone_id=zone.pk, clock=lambda: NOW + after)


def row_of(zone: Zone) -> TransferredZone:
    return TransferredZone.objects.get(pk=zone.pk)


def records_here(zone: Zone) -> set[Record]:
    """Return the panel's records of the zone in dnspython's form."""
    lines = [
        f"{row.name} {row.ttl} IN {rdata.type_to_text(row.type)} {text}"
        for row in RRset.objects.filter(zone=zone)
        for text in row.rdata
    ]
    return in_canonical_form(zone.name, "\n".join(lines))
