"""Search conditions for RRsets, which apply alike to published and drafted ones."""

import pytest

from dnspanel.accounts.models import User
from dnspanel.zones.drafts import draft
from dnspanel.zones.models import Operation, RRset, Zone
from dnspanel.zones.search.rrset_conditions import fitting
from dnspanel.zones.search.terms import parse
from tests.dnspanel.zones.conftest import MakeZone, rr
from tests.people import NOW

pytestmark = pytest.mark.django_db

LINES = (
    "www 300 A 192.0.2.1 | 192.0.2.77",
    "v6 60 AAAA 2001:db8:1::7",
    "mail 3600 MX 10 mx.example.net.",
    r'text 3600 TXT "gr\195\188\195\159e %_" | "say \"hi\""',
    'spf 3600 TXT "v=spf1 ip4:192.0.2.1 -all"',
    "xn--bcher-kva 300 CNAME www",
)
BOOKS = "xn--bcher-kva"
NO_ZONES = Zone.objects.none()


@pytest.fixture
def published(make_zone: MakeZone) -> Zone:
    zone = make_zone(*LINES)
    RRset.objects.filter(name="v6.example.test.").update(comment="Überall; till May")
    return zone


@pytest.fixture
def drafted(make_zone: MakeZone, bob: User) -> Zone:
    zone = make_zone()
    for line in LINES:
        draft.replace_rrset(
            author=bob, zone=zone, rrset=rr(line, comment="Überall; till May" if line[:2] == "v6" else ""), now=NOW
        )
    return zone


@pytest.mark.parametrize("kind", ["published", "drafted"])
def test_a_search_finds_what_is_published_and_what_is_drafted_alike(kind: str, request: pytest.FixtureRequest) -> None:
    zone = request.getfixturevalue(kind)
    model = RRset if kind == "published" else Operation
    for search, owners in (
        ("192.0.2.1", {"www"}),
        ('"192.0.2.1"', {"www", "spf"}),
        ("192.0.2.7", set()),
        ("192.0.2.64/26", {"www"}),
        ("2001:DB8::/32", {"v6"}),
        ("2001:db8:1:0::7", {"v6"}),
        ("EXAMPLE.net", {"mail"}),
        ("w www.example", {"www", BOOKS}),
        ("BÜCH", {BOOKS}),
        ("büch", {BOOKS}),
        ("xn--b", {BOOKS}),
        ("grüß", {"text"}),
        ("%_", {"text"}),
        ("__", set()),
        (r"\"hi", {"text"}),
        ("überALL", {"v6"}),
        ("value:10", {"mail"}),
        ("comment:may", {"v6"}),
        ("-comment:may -type:txt,mx,cname name:.", {"www"}),
        ("name:w", {"www"}),
        ("type:mx", {"mail"}),
        ("ttl:<300", {"v6"}),
        ("ttl:300..1h -ttl:300", {"mail", "text", "spf"}),
        ("has:mx.example.net", set()),
        ("has:192.0.2.77", {"www"}),
        ("-has:192.0.2.77 type:a", set()),
        ("www -mail", {"www", BOOKS}),
    ):
        rows = fitting(model.objects.filter(zone=zone).exclude(type__in=(2, 6)), parse(search), NO_ZONES)
        assert {row.name.partition(".")[0] for row in rows} == owners, search


def test_what_a_draft_deletes_has_a_name_and_no_values(published: Zone, bob: User) -> None:
    draft.delete_rrset(author=bob, zone=published, name="www.example.test.", type=1, now=NOW)
    for search, count in (("www", 1), ("192.0.2.1", 0), ("ttl:300", 0), ("type:a", 1), ("-value:x", 1)):
        assert fitting(Operation.objects.all(), parse(search), NO_ZONES).count() == count, search
