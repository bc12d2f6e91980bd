"""Fixtures of the catalog tests: a BIND with two catalogs and their members, and a panel that consumes them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import dns.query
import dns.rcode
import dns.update
import pytest

from dnspanel.accounts.models import User
from dnspanel.catalogs import consumer, set_up_catalogs
from dnspanel.catalogs.models import Catalog, Listing, State
from dnspanel.catalogs.set_up_catalogs import CatalogTerms
from dnspanel.primaries import refresh
from dnspanel.primaries.set_up_primaries import Terms
from dnspanel.zones.acting import Acting
from dnspanel.zones.models import Channel
from tests.dnspanel.transfer.powerdns_estate import TSIG_SECRET
from tests.dnspanel.transfer.sources.over_dns.test_axfr_in import named
from tests.people import NOW
from tests.people import alice as alice
from tests.people import bob as bob
from tests.people import charlie as charlie

FIRST, SECOND = "first.catalog.test.", "second.catalog.test."
ZONES = [f"member{number}.test." for number in range(12)]
KEY = {"tsig_name": "transfer", "tsig_secret": TSIG_SECRET}
_HEAD = "@ 0 SOA invalid. invalid. 1 3600 600 86400 0\n@ 0 NS invalid.\n"
CATALOG = _HEAD + 'version 0 TXT "2"\n'
MEMBER = "@ 300 SOA ns1.{0} hostmaster.{0} 10 3600 600 86400 300\n@ 300 NS ns1.{0}\nns1 300 A 192.0.2.53\n"

Act = tuple[str, Sequence[Any]]


@dataclass(frozen=True, slots=True)
class Producer:
    """A running BIND that accepts DNS UPDATE for its catalogs, and transfers all zones to clients with the key."""

    port: int

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def update(self, catalog: str, *acts: Act) -> None:
        message = dns.update.UpdateMessage(catalog)
        for act, arguments in acts:
            getattr(message, act)(*arguments)
        answer = dns.query.tcp(message, "127.0.0.1", port=self.port, timeout=10)
        assert answer.rcode() == dns.rcode.NOERROR

    def name(self, catalog: str, *zones: str, label: str = "", group: str = "", coo: str = "") -> None:
        """Add these zones to the catalog, each under its own label or under `label`."""
        acts: list[Act] = []
        for zone in zones:
            node = f"{label or zone.partition('.')[0]}.zones"
            acts.append(("replace", (node, 0, "PTR", zone)))
            acts += [("replace", (f"group.{node}", 0, "TXT", f'"{group}"'))] if group else []
            acts += [("replace", (f"coo.{node}", 0, "PTR", coo))] if coo else []
        self.update(catalog, *acts)

    def forget(self, catalog: str, *labels: str) -> None:
        """Remove these labels from the catalog."""
        nodes = [f"{label}.zones" for label in labels]
        self.update(
            catalog, *(("delete", (name,)) for node in nodes for name in (node, f"group.{node}", f"coo.{node}"))
        )


@pytest.fixture
def producer(tmp_path: Any, settings: Any) -> Iterator[Producer]:
    settings.SOURCE_NETWORKS = ["127.0.0.0/8"]
    texts = {FIRST: CATALOG, SECOND: CATALOG, **{zone: MEMBER.format(zone) for zone in ZONES}}
    transfer = "allow-transfer { key transfer; };"
    options = {zone: f"{transfer} allow-update {{ any; }};" if zone in (FIRST, SECOND) else transfer for zone in texts}
    with named(tmp_path, texts, options) as port:
        yield Producer(port)


def follow_one(author: User, name: str = FIRST, source: Terms | None = None, **terms: Any) -> Catalog:
    """Begin to consume the catalog."""
    return set_up_catalogs.follow_catalog(
        name=name,
        primaries_terms=source or Terms(["9.9.9.9"], **KEY),
        terms=CatalogTerms(**terms),
        acting=Acting(author, Channel.WEB, NOW),
    )


def followed(producer: Producer, author: User, name: str = FIRST, **terms: Any) -> Catalog:
    """Begin to consume the catalog, and transfer it with its members' entries."""
    catalog = follow_one(author, name, Terms([producer.address], **KEY), **terms)
    take_turns(catalog)
    return catalog


def take_turns(catalog: Catalog, *, after: timedelta = timedelta(0)) -> Catalog:
    """Transfer the catalog and apply its changes until nothing is left. Return the catalog."""
    refresh.take_turn(zone_id=catalog.pk, clock=lambda: NOW + after)
    for _ in range(20):
        if not consumer.take_turn(catalog_id=catalog.pk, now=NOW + after):
            break
    else:
        raise AssertionError("its turn never ends")
    return Catalog.objects.select_related("zone", "zone__transferred").get(pk=catalog.pk)


def names_here(catalog: Catalog) -> list[str]:
    """Return the names of the catalog's members in order."""
    rows = Listing.objects.filter(catalog=catalog, state=State.MEMBER).order_by("zone_name")
    return list(rows.values_list("zone_name", flat=True))


def reason_of(catalog: Catalog, zone: str) -> str:
    """Return the reason why the zone isn't a member."""
    row = Listing.objects.get(catalog=catalog, zone_name=zone)
    assert row.state != State.MEMBER
    return row.reason
