"""The search for zones."""

import re
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.db import connection
from pytest_django import DjangoDbBlocker

from dnspanel.accounts.models import Role, Team
from dnspanel.database.statement_time import SearchTooGeneral
from dnspanel.zones.acting import Acting
from dnspanel.zones.models import Zone
from dnspanel.zones.search import zone_conditions
from dnspanel.zones.search.terms import parse
from dnspanel.zones.search.zone_conditions import fitting, in_zone_name, refuse_too_general
from dnspanel.zones.signals import acked_everywhere_requested
from dnspanel.zones.signing import sign
from tests import database
from tests.dnspanel.zones.conftest import MakeZone, zone_maker
from tests.people import NOW, make_person


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("search", "reason"),
    [
        ("qz", "qz is too broad for this many zones: enter at least three letters or digits in a row."),
        ("a.b x-y", "a.b is too broad"),
        ("", ""),
        ("qz shop", ""),
        ("tag:x", ""),
        ("q has:1", ""),
        ("ü", ""),
    ],
)
def test_a_search_that_no_index_serves_is_refused_among_many_zones(
    search: str, reason: str, make_zone: MakeZone, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Previously a search for two letters among 1,000,000 zones read the whole trigram index, in 10 s."""
    for name in ("a.test.", "b.test."):
        make_zone(name=name)
    monkeypatch.setattr(zone_conditions, "MANY_ZONES", 1)
    if not reason:
        refuse_too_general(parse(search))
        return
    with pytest.raises(SearchTooGeneral, match=re.escape(reason)):
        refuse_too_general(parse(search))
    monkeypatch.setattr(zone_conditions, "MANY_ZONES", 2)
    refuse_too_general(parse(search))


@pytest.mark.django_db
def test_a_short_word_never_has_the_index_of_trigrams_read_in_full(make_zone: MakeZone) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO zones_zone (name, sort_name, serial, revision, rrset_count, created_at, changed_at, sequence)"
            " SELECT made.name, made.name, 1, 1, 2, now(), now(), 0 FROM generate_series(1, 10000) n"
            " CROSS JOIN LATERAL (SELECT 'z' || n || '.estate.test.') AS made (name)"
        )
        cursor.execute("ANALYZE zones_zone")
        cursor.execute("SET LOCAL enable_seqscan = off")  # in a small table, a sequential scan may be cheaper
    assert "zone_name_trigram" not in Zone.objects.filter(in_zone_name("QZ")).order_by("name")[:101].explain()
    assert "zone_name_trigram" in Zone.objects.filter(in_zone_name("Z777.")).order_by("name")[:101].explain()
    assert Zone.objects.filter(in_zone_name("Z7")).count() == 1111


SHOP, BLOG, REVERSE, UMLAUT = "shop.test.", "blog.test.", "2.0.192.in-addr.arpa.", "xn--mller-kva.test."


def make_estate() -> None:
    """Create four zones that differ in all properties that a filter compares."""
    alice, bob = make_person("alice", Role.ADMINISTRATOR), make_person("bob", Role.EDITOR)
    make_zone = zone_maker(alice)
    shop = make_zone("www 300 A 192.0.2.7", "@ 60 MX 10 mail", name="shop.test.")
    blog = make_zone("www 300 AAAA 2001:db8:1::7", '@ 300 TXT "hello"', name="blog.test.")
    make_zone("7 300 PTR www.shop.test.", name="2.0.192.in-addr.arpa.")
    make_zone("b\xfccher 300 CNAME www", name="m\xfcller.test.".encode("idna").decode())
    web = Team.objects.create(name="Web ops", created_at=NOW)
    Zone.objects.filter(pk=shop.pk).update(tags=["customer", "x"], team=web, serial=2026112501, changed_at=NOW)
    Zone.objects.filter(name=UMLAUT).update(transferred_from="192.0.2.53")
    Zone.objects.filter(pk=blog.pk).update(created_by=bob, serial=7, changed_at=NOW - timedelta(days=9))
    sign.sign(zones=[blog], acting=Acting(author=alice, channel="web", now=NOW - timedelta(days=9)))


@pytest.fixture(scope="class")
def estate(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Create the zones of `make_estate` once for all tests of a class."""
    with database.lasting_rows(django_db_blocker):
        make_estate()
        yield


@pytest.mark.django_db
@pytest.mark.usefixtures("estate")
class TestEstate:
    @pytest.mark.parametrize(
        ("search", "zones"),
        [
            ("", {SHOP, BLOG, REVERSE, UMLAUT}),
            ("TEST", {SHOP, BLOG, UMLAUT}),
            ("test -blog", {SHOP, UMLAUT}),
            ("zone:shop", {SHOP}),
            ("m\xdcll", {UMLAUT}),
            ("\xfcl", {UMLAUT}),
            ("m\xfcller.test.", {UMLAUT}),
            ("xn--mll", {UMLAUT}),
            ("192.0.2.7", {SHOP, REVERSE}),
            ("2001:DB8:1:0::7", {BLOG}),
            ("192.0.2.0/24", {SHOP}),
            ("2001:db8::/32", {BLOG}),
            ("10.0.0.0/8", set()),
            ("tag:customer", {SHOP}),
            ("-tag:X", {BLOG, REVERSE, UMLAUT}),
            ('team:"web OPS"', {SHOP}),
            ("team:none -dnssec:on", {REVERSE, UMLAUT}),
            ("owner:BOB", {BLOG}),
            ("dnssec:signed", {BLOG}),
            ("dnssec:off", {SHOP, REVERSE, UMLAUT}),
            ("dnssec:rolling", set()),
            ("primary:elsewhere", {UMLAUT}),
            ("primary:here shop", {SHOP}),
            ("serial:2026", {SHOP}),
            ("serial:<100 blog", {BLOG}),
            ("serial:2026112501", {SHOP}),
            ("changed:<7d", {SHOP, REVERSE, UMLAUT}),
            ("changed:>7d", {BLOG}),
            ("changed:2026-11-12", {BLOG}),
            ("changed:>=2026-11-13", {SHOP, REVERSE, UMLAUT}),
            ("type:mx", {SHOP}),
            ("-type:a,aaaa", {REVERSE, UMLAUT}),
            ("type:a ttl:<100", set()),
            ("type:mx ttl:<100", {SHOP}),
            ("value:hell", {BLOG}),
            ("name:b\xfcch", {UMLAUT}),
            ("name:www -type:aaaa", {SHOP}),
            ("has:hello", {BLOG}),
            ("-has:hello test", {SHOP, UMLAUT}),
            ("comment:x", set()),
            ("type:nonsense", set()),
            ("%", set()),
            ("_", set()),
        ],
    )
    def test_a_search_finds_zones(self, search: str, zones: set[str]) -> None:
        found = fitting(Zone.objects.all(), parse(search), now=NOW)
        assert set(found.values_list("name", flat=True)) == zones

    def test_zones_are_late_that_an_active_node_has_not_acked(self) -> None:
        def late() -> list[str]:
            return list(
                fitting(Zone.objects.order_by("pk"), parse("sync:late"), now=NOW).values_list("name", flat=True)
            )

        assert late() == []
        acked = Zone.objects.get(name=REVERSE).sequence

        def answer(**_: object) -> int:
            return acked

        acked_everywhere_requested.connect(answer)
        try:
            assert late() == [BLOG, UMLAUT]
            done = fitting(Zone.objects.order_by("pk"), parse("sync:done"), now=NOW)
            assert list(done.values_list("name", flat=True)) == [SHOP, REVERSE]
        finally:
            acked_everywhere_requested.disconnect(answer)


@pytest.mark.django_db
def test_names_of_another_script_are_found_by_their_index(make_zone: MakeZone) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO zones_zone (name, sort_name, serial, revision, rrset_count, created_at, changed_at, sequence)"
            " SELECT made.name, made.name, 1, 1, 2, now(), now(), 0 FROM generate_series(1, 2000) n"
            " CROSS JOIN LATERAL (SELECT 'xn--mller-kva.z' || n || '.test.') AS made (name)"
        )
        cursor.execute("ANALYZE zones_zone")
        cursor.execute("SET LOCAL enable_seqscan = off")
    found = Zone.objects.filter(in_zone_name("m\xfcller.z77.")).order_by("name")[:101]
    assert "zone_name_displayed" in found.explain()
    assert len(found) == 11


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("name", "displayed"),
    [
        ("xn--mller-kva.test.", "m\xfcller.test."),
        ("xn--ihqwcrb4cv8a8dqg056pqjye.", "\u4ed6\u4eec\u4e3a\u4ec0\u4e48\u4e0d\u8bf4\u4e2d\u6587."),
        (
            "xn--4dbcagdahymbxekheh6e0a7fei0b.",
            "".join(
                map(
                    chr,
                    (
                        0x5DC,
                        0x5DE,
                        0x5D4,
                        0x5D4,
                        0x5DD,
                        0x5E4,
                        0x5E9,
                        0x5D5,
                        0x5D8,
                        0x5DC,
                        0x5D0,
                        0x5DE,
                        0x5D3,
                        0x5D1,
                        0x5E8,
                        0x5D9,
                        0x5DD,
                        0x5E2,
                        0x5D1,
                        0x5E8,
                        0x5D9,
                        0x5EA,
                    ),
                )
            )
            + ".",
        ),
        ("www.xn--strae-oqa.xn--a!.test.", "www.stra\xdfe.xn--a!.test."),
        ("xn--.test.", "xn--.test."),
        ("xn--99999999.", "xn--99999999."),
        ("xn--zzzzzzzzzzzzzzzzzzzzz.", "xn--zzzzzzzzzzzzzzzzzzzzz."),
        ("xn--a-b-c.", "xn--a-b-c."),
        (".", "."),
    ],
)
def test_postgresql_shows_names_in_their_own_script(name: str, displayed: str, db: None) -> None:
    """The second and third example are from RFC 3492 section 7.1."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT name_displayed(%s)", [name])
        assert cursor.fetchone() == (displayed,)
