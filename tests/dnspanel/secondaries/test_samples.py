"""Tests of sample comparison: a server with the right serial but different content is detected.

BIND, Knot and NSD answer from zone files of the test.
"""

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from dnspanel.accounts.models import User
from dnspanel.secondaries import samples, secondary_answers, secondary_keys, udp_exchange
from dnspanel.secondaries.models import Member, Secondary
from dnspanel.secondaries.queries import differing_secondaries, gets_all_of, secondary_row, state_of
from dnspanel.zones.acting import Acting
from dnspanel.zones.models import Channel, Zone
from dnspanel.zones.publishing import zone_patches
from dnspanel.zones.signing import sign
from dnspanel.zones.store import store_rrsets
from replication.dns import rdata, rdtypes
from replication.dns.rrset import Key, RRset
from tests.dnspanel.secondaries.compared import SERVERS, Serving
from tests.dnspanel.secondaries.conftest import MakeSecondary
from tests.dnspanel.zones.conftest import ZONE, MakeZone, rr
from tests.people import NOW
from tests.signzone import signed_text

pytestmark = pytest.mark.django_db(transaction=True)

LATER = NOW + timedelta(hours=2)
WWW, MAIL = (f"www.{ZONE}", rdtypes.A), (f"mail.{ZONE}", rdtypes.A)


@pytest.fixture(autouse=True)
def at_home(settings: Any) -> None:
    settings.SECONDARY_NETWORKS = ["127.0.0.0/8"]


@pytest.fixture
def zone(make_zone: MakeZone, alice: User) -> Zone:
    """Create a zone with every kind of name whose answer follows a special rule, and with ordinary names."""
    made = make_zone(
        "@ 3600 NS ns1.example.net.",
        "@ 300 MX 10 mail",
        '@ 300 TXT "v=spf1 -all" "two"',
        "www 300 A 192.0.2.1 | 192.0.2.2",
        "mail 300 A 192.0.2.9",
        "old 300 A 192.0.2.8",
        "shop 300 CNAME www",
        "*.wild 300 A 192.0.2.3",
        "sub 300 NS ns.sub",
        "sub 300 DS 1 13 2 " + "ab" * 32,
        "ns.sub 300 A 192.0.2.4",
        "tree 300 DNAME other.example.net.",
        "_25._tcp.mail 300 TLSA 3 1 1 " + "cd" * 32,
        "svc 300 HTTPS 1 . alpn=h2",
    )
    return change(made, alice, {(f"old.{ZONE}", rdtypes.A): None, WWW: rr("www 300 A 192.0.2.5")})


def change(zone: Zone, author: User, changes: dict[Key, RRset | None]) -> Zone:
    patch = zone_patches.Patch(zone, lambda current: changes, None)
    zone_patches.publish_patches(patches=[patch], acting=Acting(author, Channel.API, NOW))
    return Zone.objects.select_related("signing").get(pk=zone.pk)


def text_of(zone: Zone, other: dict[Key, Sequence[str]] | None = None) -> str:
    """Return the zone as zone file text. `other` replaces the values of single RRsets."""
    found = {key: (rrset.ttl, rrset.served) for key, rrset in store_rrsets.rrsets_of_zones([zone.pk])[zone.pk].items()}
    for key, values in (other or {}).items():
        found[key] = 300, tuple(values)
    rows = sorted(found.items(), key=lambda each: each[0][1] != rdtypes.SOA)
    return "".join(
        f"{name} {ttl} IN {rdata.type_to_text(type)} {text}\n" for (name, type), (ttl, texts) in rows for text in texts
    )


@pytest.fixture(params=SERVERS)
def serving(request: pytest.FixtureRequest) -> Serving:
    return SERVERS[request.param]


def difference(
    zone: Zone, text: str, folder: Path, secondary: Secondary, serving: Serving, place: str = "w"
) -> str | None:
    key = secondary_keys.key_of(secondary)
    with serving(folder, ZONE, text, key) as port:
        return samples.difference_of(
            zone,
            lambda messages: udp_exchange.exchange(messages, address=f"127.0.0.1:{port}", key=key, seconds=5),
            place=place,
        )


@pytest.mark.parametrize("place", ["a", "ns", "w", "zz"])
def test_a_server_with_the_same_content_does_not_differ(
    place: str, zone: Zone, tmp_path: Path, make_secondary: MakeSecondary, serving: Serving
) -> None:
    assert difference(zone, text_of(zone), tmp_path, make_secondary(), serving, place) == ""


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (
            {(f"old.{ZONE}", rdtypes.A): ["192.0.2.8"]},
            "old.example.test. A: expected nothing, received 192.0.2.8.",
        ),
        ({WWW: ["192.0.2.1", "192.0.2.2"]}, "expected 192.0.2.5, received 192.0.2.1, 192.0.2.2."),
        ({WWW: []}, "www.example.test. A: expected 192.0.2.5, received nothing."),
        ({(ZONE, rdtypes.MX): ["20 mail.example.test."]}, "example.test. MX: expected 10 mail"),
    ],
)
def test_another_content_under_the_same_serial_is_found(
    other: dict[Key, Sequence[str]],
    expected: str,
    zone: Zone,
    tmp_path: Path,
    make_secondary: MakeSecondary,
    serving: Serving,
) -> None:
    found = difference(zone, text_of(zone, other), tmp_path, make_secondary(), serving)
    assert found
    assert expected in found


def test_signatures_of_a_zone_that_is_signed_no_more_are_found(
    zone: Zone, tmp_path: Path, make_secondary: MakeSecondary, serving: Serving
) -> None:
    """Regression test: BIND, Knot and NSD kept DNSKEY, RRSIG and NSEC, but the panel reported them as in sync."""
    text = signed_text(ZONE, text_of(zone), tmp_path)
    found = difference(zone, text, tmp_path, make_secondary(), serving)
    assert found == "The zone is not signed, but the answer has signatures."


def test_a_server_without_the_signatures_of_a_signed_zone_is_found(
    zone: Zone, tmp_path: Path, make_secondary: MakeSecondary, serving: Serving
) -> None:
    secondary = make_secondary()
    sign.sign(zones=[zone], acting=Acting(None, Channel.SYSTEM, NOW))
    zone = Zone.objects.get(pk=zone.pk)
    found = difference(zone, text_of(zone), tmp_path, secondary, serving)
    assert found == "The zone is signed, but the answer doesn’t have signatures."
    foreign = signed_text(ZONE, text_of(zone), tmp_path)
    found = difference(zone, foreign, tmp_path, secondary, serving)
    assert found
    assert found.startswith("example.test. DNSKEY: expected ")


def test_nothing_is_known_of_another_serial_of_silence_and_of_a_zone_that_moved(
    zone: Zone, alice: User, tmp_path: Path, make_secondary: MakeSecondary, serving: Serving
) -> None:
    secondary, old = make_secondary(), text_of(zone)
    newer = change(zone, alice, {WWW: rr("www 300 A 192.0.2.6")})
    assert difference(newer, old, tmp_path, secondary, serving) is None
    assert difference(zone, old, tmp_path, secondary, serving) is None, "as it was loaded, before it moved"
    assert (
        samples.difference_of(newer, lambda messages: [udp_exchange.answer_of_silence()] * len(messages), place="a")
        is None
    )


def test_a_difference_is_noted_told_and_forgotten(
    zone: Zone, tmp_path: Path, make_secondary: MakeSecondary, serving: Serving
) -> None:
    secondary = make_secondary()
    key = secondary_keys.key_of(secondary)

    def ask(text: str, at: Any) -> Member:
        Member.objects.update(question_at=at)
        with serving(tmp_path, ZONE, text, key) as port:
            Secondary.objects.update(addresses=[f"127.0.0.1:{port}"])
            secondary_answers.ask_due(secondary_id=secondary.pk, clock=lambda: at)
        return Member.objects.select_related("secondary").get()

    stale = {WWW: ["192.0.2.1"], MAIL: ["192.0.2.9"]}
    member = ask(text_of(zone, stale), NOW)
    assert (member.served_serial, member.behind_since, member.compared_at) == (zone.serial, None, NOW)
    assert (member.differs_since, "www.example.test. A" in member.difference) == (NOW, True)
    assert (state_of(secondary, member, NOW)[0], secondary_row(secondary).word(NOW)) == ("differs", "differs")
    assert gets_all_of(secondary, zone)
    [told] = differing_secondaries()
    assert (told.name, told.zones, told.first, told.since) == ("partner", 1, ZONE, NOW)
    member = ask(text_of(zone, stale), LATER)
    assert (member.differs_since, member.compared_at) == (NOW, LATER)
    assert member.question_at == LATER + secondary_answers.AFTER_DIFFERENCE
    member = ask(text_of(zone), LATER + timedelta(minutes=5))
    assert (member.difference, member.differs_since) == ("", None)
    assert state_of(secondary, member, NOW)[0] == "in sync"
    assert not differing_secondaries()
    assert not gets_all_of(secondary, zone)


def test_zones_in_sync_are_compared_once_a_day_and_after_a_transfer_within_an_hour(
    zone: Zone, make_secondary: MakeSecondary
) -> None:
    make_secondary()

    def is_due(at: Any, **fields: Any) -> bool:
        Member.objects.update(**fields)
        return secondary_answers._is_to_be_compared(Member.objects.select_related("zone").get(), at)

    assert is_due(NOW)
    assert not is_due(NOW + timedelta(hours=23), compared_at=NOW)
    assert is_due(NOW + timedelta(hours=24))
    assert not is_due(NOW + timedelta(minutes=59), transferred_at=NOW + timedelta(seconds=1))
    assert is_due(NOW + timedelta(minutes=60))
    assert not is_due(NOW + timedelta(minutes=60), transferred_at=NOW - timedelta(seconds=1))
    assert is_due(NOW + timedelta(minutes=5), difference="something", differs_since=NOW)
    Zone.objects.update(is_catalog=True)
    assert not is_due(NOW + timedelta(days=9)), "nobody has to answer questions about a catalog"
