"""The tab with a zone's problems: each says why it matters and what to do, and its fix goes into the draft."""

import pytest
from django.test import Client
from pytest_django.fixtures import DjangoAssertNumQueries

from dnspanel.accounts.models import User
from dnspanel.zones.drafts import draft
from dnspanel.zones.models import Operation, Zone
from dnspanel.zones.publishing import zone_health
from dnspanel.zones.publishing.zone_health import health_of
from tests.dnspanel.web.conftest import Browser, MakeZone
from tests.people import NOW

ZONE = "example.test."
HEALTH = f"/zones/{ZONE}/health/"
REVERSE = "2.0.192.in-addr.arpa."
HEALTHY = (
    '@ 3600 TXT "v=spf1 -all"',
    '_dmarc 3600 TXT "v=DMARC1; p=reject; rua=mailto:post@example.test"',
    '@ 3600 CAA 0 issue "letsencrypt.org"',
)


def codes(zone: Zone, author: User) -> list[str]:
    """Return the problems as "code name", relative to the zone."""
    found = health_of(zone=zone, author=author, ttl=3600, now=NOW).findings
    return [f"{each.violation.code} {each.violation.name.removesuffix(ZONE) or '@'}" for each in found]


def fix(client: Client, zone: Zone, author: User, code: str) -> dict[str, list[str]]:
    """Press the button of a problem. Return the draft as {"name type": values}, without values if deleted."""
    found = health_of(zone=zone, author=author, ttl=3600, now=NOW).findings
    key = next(each.key for each in found if each.key.startswith(f"{code} "))
    client.post(f"/zones/{zone.name}/health/", {"fix": key})
    return drafted(author)


def drafted(author: User) -> dict[str, list[str]]:
    return {
        f"{each.name} {each.type}": each.wanted["rdata"] if each.wanted else [] for each in draft.operations_of(author)
    }


def test_a_healthy_zone_says_so_and_what_was_checked(make_zone: MakeZone, browser: Browser, charlie: User) -> None:
    zone = make_zone(*HEALTHY, "www 300 A 198.51.100.1", "*.dev 300 CNAME www")
    page = browser(charlie).get(HEALTH).content.decode()
    assert codes(zone, charlie) == []
    assert "All checks passed." in page
    assert "none found" in page
    for checked in ("SPF, DMARC and DKIM", "CAA", "networks", "missing names", "PTRs", "TTLs", "7 record sets"):
        assert checked in page, checked


def test_a_zone_lacks_records_for_mail_and_certificates(make_zone: MakeZone, browser: Browser, bob: User) -> None:
    zone = make_zone("@ 3600 MX 10 mail", "mail 3600 A 198.51.100.1", '@ 3600 TXT "site=1"')
    assert codes(zone, bob) == ["dmarc-missing _dmarc.", "spf-missing @", "caa-missing @"]
    client = browser(bob)
    page = client.get(HEALTH).content.decode()
    assert page.count("Add fix to draft") == 2
    assert "List the authorities that you use." in page
    assert f'href="/zones/{ZONE}/builders/caa/"' in page
    assert "Fix: add the record" in page
    fix(client, zone, bob, "spf-missing")
    assert fix(client, zone, bob, "dmarc-missing") == {
        f"{ZONE} 16": ['"site=1"', '"v=spf1 mx ~all"'],
        f"_dmarc.{ZONE} 16": ['"v=DMARC1; p=none"'],
    }
    assert codes(zone, bob) == ["caa-missing @", "dmarc-rua _dmarc."]
    assert zone.rrsets.filter(type=16).get().rdata == ['"site=1"'], "nothing is published"


@pytest.mark.parametrize("mx", [(), ("@ 3600 MX 0 .",)])
def test_a_domain_without_mail_gets_records_that_say_so(
    mx: tuple[str, ...], make_zone: MakeZone, browser: Browser, bob: User
) -> None:
    zone = make_zone(*mx)
    client = browser(bob)
    fix(client, zone, bob, "spf-missing")
    assert fix(client, zone, bob, "dmarc-missing") == {
        f"{ZONE} 16": ['"v=spf1 -all"'],
        f"_dmarc.{ZONE} 16": ['"v=DMARC1; p=reject"'],
    }


def test_a_zone_below_another_one_has_its_dmarc_and_caa(make_zone: MakeZone, bob: User) -> None:
    make_zone(*HEALTHY)
    below = make_zone(name=f"shop.{ZONE}")
    assert codes(below, bob) == ["spf-missing shop."]
    assert codes(make_zone(name=REVERSE), bob) == [], "reverse zones need no records for mail"


@pytest.mark.parametrize(
    ("line", "code", "after"),
    [
        ("www 10 A 198.51.100.1", "ttl-low", {f"www.{ZONE} 1": ["198.51.100.1"]}),
        ("shop 300 CNAME gone", "target-missing", {f"shop.{ZONE} 5": []}),
        ("x.cut 300 A 192.0.2.3", "occluded", {f"x.cut.{ZONE} 1": []}),
        ("y 300 DS 1 13 2 " + "ab" * 32, "ds-without-ns", {f"y.{ZONE} 43": []}),
        (
            'two 300 TXT "v=spf1 mx -all" | "v=spf1 mx ip4:192.0.2.0/24 ~all"',
            "spf-duplicate",
            {f"two.{ZONE} 16": ['"v=spf1 mx ip4:192.0.2.0/24 ~all"']},
        ),
        (
            '_dmarc.c 300 TXT "v=DMARC1; rua=mailto:a@example.test"',
            "dmarc-policy",
            {f"_dmarc.c.{ZONE} 16": ['"v=DMARC1; p=none; rua=mailto:a@example.test"']},
        ),
    ],
)
def test_a_problem_is_fixed_by_one_click_and_is_no_longer_listed(
    line: str, code: str, after: dict[str, list[str]], make_zone: MakeZone, browser: Browser, bob: User
) -> None:
    zone = make_zone(*HEALTHY, "cut 300 NS ns1.example.net. | ns2.example.net.", line)
    listed = [each for each in codes(zone, bob) if each.startswith(code)]
    assert len(listed) == 1
    assert fix(browser(bob), zone, bob, code) == after
    assert not [each for each in codes(zone, bob) if each.startswith(code)]
    operation = Operation.objects.get()
    if code == "ttl-low":
        assert operation.wanted is not None
        assert operation.wanted["ttl"] == 3600


def test_only_values_that_lead_nowhere_are_removed(make_zone: MakeZone, browser: Browser, bob: User) -> None:
    make_zone("here 300 A 192.0.2.1", name="other.test.")
    zone = make_zone(*HEALTHY, "@ 300 MX 10 gone | 20 mail | 30 no.other.test.", "mail 300 A 198.51.100.1")
    client = browser(bob)
    assert fix(client, zone, bob, "target-missing") == {f"{ZONE} 15": [f"20 mail.{ZONE}", "30 no.other.test."]}
    assert codes(zone, bob) == ["target-missing @"], "the target in the other zone"
    assert fix(client, zone, bob, "target-missing") == {f"{ZONE} 15": [f"20 mail.{ZONE}"]}


def test_name_servers_are_never_removed(make_zone: MakeZone, browser: Browser, bob: User) -> None:
    zone = make_zone(*HEALTHY, "@ 3600 NS ns1 | ns2", "ns1 300 A 192.0.2.1")
    assert codes(zone, bob) == ["target-missing @"]
    client = browser(bob)
    page = client.get(HEALTH).content.decode()
    assert "Add fix to draft" not in page
    assert "Add an address for the target, or enter another target." in page
    client.post(HEALTH, {"fix": f"target-missing {ZONE} 2 ns2.{ZONE}"})
    assert drafted(bob) == {}


@pytest.mark.parametrize(
    ("addresses", "is_listed"),
    [
        (("ns1 300 A 192.0.2.1", "ns2 300 A 192.0.2.200"), True),
        (("ns1 300 A 192.0.2.1", "ns2 300 A 198.51.100.1"), False),
        (("ns1 300 A 192.0.2.1", "ns2 300 A 192.0.2.2", "ns2 300 AAAA 2001:db8::1"), True),
        (("ns1 300 AAAA 2001:db8::1", "ns2 300 A 192.0.2.2"), True),
        (("ns1 300 AAAA 2001:db8::1", "ns2 300 AAAA 2001:db8:1::1"), False),
    ],
)
def test_name_servers_in_one_network_are_listed(
    addresses: tuple[str, ...], is_listed: bool, make_zone: MakeZone, bob: User
) -> None:
    make_zone(*addresses, name="host.test.")
    zone = make_zone(*HEALTHY, "@ 3600 NS ns1.host.test. | ns2.host.test.")
    assert codes(zone, bob) == (["ns-spread @"] if is_listed else [])


def test_missing_ptrs_are_added_in_the_reverse_zones(make_zone: MakeZone, browser: Browser, bob: User) -> None:
    make_zone(name=REVERSE)
    zone = make_zone(*HEALTHY, "www 300 A 192.0.2.1", "mail 300 A 192.0.2.9")
    assert [each.split()[0] for each in codes(zone, bob)] == ["ptr-missing"]
    client = browser(bob)
    assert "2 addresses lack a matching PTR." in client.get(HEALTH).content.decode()
    assert fix(client, zone, bob, "ptr-missing") == {
        f"1.{REVERSE} 12": [f"www.{ZONE}"],
        f"9.{REVERSE} 12": [f"mail.{ZONE}"],
    }


def test_a_fix_that_is_not_needed_any_longer_changes_nothing(
    make_zone: MakeZone, browser: Browser, bob: User, charlie: User
) -> None:
    zone = make_zone("www 10 A 192.0.2.1")
    page = browser(charlie).get(HEALTH).content.decode()
    assert "A www has a low TTL" in page
    assert "Add fix to draft" not in page
    assert "Edit record" not in page
    draft.delete_rrset(author=bob, zone=zone, name=f"www.{ZONE}", type=1, now=NOW)
    answer = browser(bob).post(HEALTH, {"fix": f"ttl-low www.{ZONE} 1"}, follow=True).content.decode()
    assert "This problem is already fixed." in answer


def test_a_zone_from_a_primary_elsewhere_is_only_shown(make_zone: MakeZone, browser: Browser, bob: User) -> None:
    zone = make_zone("www 10 A 192.0.2.1")
    Zone.objects.filter(pk=zone.pk).update(transferred_from="192.0.2.53")
    client = browser(bob)
    page = client.get(HEALTH).content.decode()
    assert "A www has a low TTL" in page
    assert "Add fix to draft" not in page
    assert client.post(HEALTH, {"fix": f"ttl-low www.{ZONE} 1"}).status_code in (403, 409)


def test_a_large_zone_is_checked_in_part_and_a_long_list_is_cut(
    make_zone: MakeZone,
    browser: Browser,
    bob: User,
    monkeypatch: pytest.MonkeyPatch,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    zone = make_zone(*HEALTHY, *(f"h{number} 10 A 198.51.100.{number}" for number in range(1, 100)))
    client = browser(bob)
    client.get(HEALTH)
    with django_assert_max_num_queries(45):
        page = client.get(HEALTH).content.decode()
    assert page.count("Add fix to draft") == 60
    assert "39 more problems are shown after you fix these." in page
    assert len(page) < 150_000
    monkeypatch.setattr(zone_health, "MOST_CHECKED", 20)
    health = health_of(zone=zone, author=bob, ttl=3600, now=NOW)
    assert (health.checked, health.is_complete) == (20, False)
    assert "This zone is large." in client.get(HEALTH).content.decode()
