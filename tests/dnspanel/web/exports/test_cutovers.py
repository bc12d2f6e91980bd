"""Pages that compare the panel's answers with an old server's."""

import csv
import io
import re
from typing import Any

import pytest

from dnspanel.accounts.models import User
from dnspanel.transfer.cutover import server_comparison as cutover_check
from dnspanel.transfer.models import (
    CutoverCheck,
    CutoverDifference,
    CutoverZone,
    DifferenceKind,
    ImportJob,
    RunState,
)
from tests.dnspanel.web.conftest import HTMX, Browser, MakeZone
from tests.people import NOW

pytestmark = pytest.mark.django_db(transaction=True)

FIELDS = {"server": "192.0.2.53", "port": "53", "resolver": "", "resolver_port": "53"}
POINT = {"code": "serial", "verdict": "to do", "sentence": "Raise the serial.", "lines": ["<b>one</b>"]}


@pytest.fixture(autouse=True)
def allowed(settings: Any) -> None:
    settings.SOURCE_NETWORKS = ["192.0.2.0/24"]


@pytest.fixture
def zone(make_zone: MakeZone, active_node: Any) -> None:
    make_zone("www 300 A 192.0.2.1")
    active_node("ns1")


@pytest.fixture
def check(zone: None, alice: User) -> CutoverCheck:
    """Return a finished comparison with 120 differences and two expected ones."""
    check = cutover_check.create_check(server="192.0.2.53", port=53, author=alice, now=NOW)
    CutoverCheck.objects.filter(pk=check.pk).update(
        state=RunState.DONE, zones=1, zones_total=1, differences=120, expected=2
    )
    CutoverZone.objects.create(
        check_run=check,
        name="example.test.",
        questions=130,
        differences=120,
        expected=2,
        checklist=[POINT],
        open_points=1,
    )
    kinds = [DifferenceKind.RECORDS] * 119 + [DifferenceKind.TTL, DifferenceKind.SERIAL, DifferenceKind.NAMESERVERS]
    CutoverDifference.objects.bulk_create(
        CutoverDifference(
            check_run=check,
            zone="example.test.",
            name=f"h{number}.example.test.",
            type=1,
            kind=kind,
            node="ns1",
            old=f"300 A 192.0.2.{number}",
            new="=NXDOMAIN",
        )
        for number, kind in enumerate(kinds)
    )
    return check


def rows(page: str) -> int:
    return page.count('class="said"') // 2


def test_a_comparison_starts_from_the_form(zone: None, browser: Browser, bob: User) -> None:
    response = browser(bob).post("/comparisons/", FIELDS | {"q": "example"})
    check = CutoverCheck.objects.get()
    assert response["Location"] == f"/comparisons/{check.pk}/"
    assert (check.server, check.port, check.author) == ("192.0.2.53", 53, bob)
    assert "waiting for a worker" in browser(bob).get(response["Location"]).content.decode()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"server": "ns1.old.test"}, "Enter a valid IP address."),
        ({"server": "127.0.0.1"}, "127.0.0.1 is not a public address."),
        ({"resolver": "169.254.169.254"}, "169.254.169.254 is not a public address."),
        ({"port": "6"}, "Port 6 isn’t allowed"),
        ({"server": ""}, "This field is required."),
        ({"port": "65536"}, "less than or equal to 65535"),
        ({"q": "nothing"}, "No zones match."),
    ],
)
def test_a_refused_form_says_why(
    zone: None, browser: Browser, alice: User, fields: dict[str, str], message: str
) -> None:
    response = browser(alice).post("/comparisons/", FIELDS | fields)
    assert response.status_code == 422
    assert message in response.content.decode()
    assert not CutoverCheck.objects.exists()


def test_an_import_from_a_server_fills_in_that_server(zone: None, browser: Browser, alice: User) -> None:
    job = ImportJob.objects.create(
        title="old estate",
        author=alice,
        created_at=NOW,
        phase_at=NOW,
        source="axfr",
        parameters={"server": "192.0.2.77", "port": 5353},
    )
    page = browser(alice).get(f"/comparisons/?job={job.pk}").content.decode()
    assert "old estate" in page
    assert 'value="192.0.2.77"' in page
    assert 'value="5353"' in page
    browser(alice).post("/comparisons/", FIELDS | {"job": str(job.pk)})
    assert CutoverCheck.objects.get().job == job
    assert browser(alice).get("/comparisons/?job=999999").status_code == 404


def test_differences_are_listed_without_the_expected_ones(check: CutoverCheck, browser: Browser, alice: User) -> None:
    page = browser(alice).get(f"/comparisons/{check.pk}/").content.decode()
    assert rows(page) == 100
    assert "different SOA</span>" not in page
    more = re.search(r'hx-get="(\?[^"]+)" hx-target="#cutover-more"', page)
    assert more is not None
    following = browser(alice).get(
        f"/comparisons/{check.pk}/{more[1].replace('&amp;', '&')}", headers=HTMX | {"HX-Target": "cutover-more"}
    )
    assert rows(following.content.decode()) == 20


@pytest.mark.parametrize(
    ("query", "found"),
    [("kind=all&after=0", 100), ("kind=ttl", 1), ("kind=serial", 1), ("q=h11.", 1), ("q=h7", 11), ("q=zzz", 0)],
)
def test_differences_are_filtered(check: CutoverCheck, browser: Browser, alice: User, query: str, found: int) -> None:
    headers = HTMX | {"HX-Target": "cutover-differences"}
    page = browser(alice).get(f"/comparisons/{check.pk}/?{query}", headers=headers).content.decode()
    assert page.startswith('<section class="stack" id="cutover-differences"')
    assert rows(page) == found


def test_differences_are_downloaded_all_of_them_and_no_cell_is_a_formula(
    check: CutoverCheck, browser: Browser, alice: User
) -> None:
    response = browser(alice).get(f"/comparisons/{check.pk}/differences.csv")
    text = b"".join(response).decode()
    found = list(csv.reader(io.StringIO(text, newline="")))
    assert len(found) == 123
    assert found[1] == [
        "example.test.",
        "h0.example.test.",
        "A",
        "different records",
        "ns1",
        "300 A 192.0.2.0",
        "'=NXDOMAIN",
    ]


def test_a_zone_has_its_checklist_to_copy(check: CutoverCheck, browser: Browser, alice: User) -> None:
    page = browser(alice).get(f"/comparisons/{check.pk}/example.test./").content.decode()
    assert "Raise the serial." in page
    assert "&lt;b&gt;one&lt;/b&gt;" in page
    assert "Delegation checklist for example.test.\n[ ] Raise the serial." in page
    assert browser(alice).get(f"/comparisons/{check.pk}/nothing.test./").status_code == 404


def test_the_page_is_told_only_what_is_new(check: CutoverCheck, browser: Browser, alice: User) -> None:
    CutoverCheck.objects.filter(pk=check.pk).update(state=RunState.RUNNING, zones_total=4)
    page = browser(alice).get(f"/comparisons/{check.pk}/").content.decode()
    again = re.search(r'id="cutover-progress" hx-get="([^"]+)"', page)
    assert again is not None
    headers = HTMX | {"HX-Target": "cutover-progress"}
    assert browser(alice).get(again[1], headers=headers).status_code == 204
    CutoverCheck.objects.filter(pk=check.pk).update(zones=2)
    assert "50 %" in browser(alice).get(again[1], headers=headers).content.decode()


def test_a_comparison_is_cancelled(zone: None, browser: Browser, alice: User) -> None:
    check = cutover_check.create_check(server="192.0.2.53", port=53, author=alice, now=NOW)
    page = browser(alice).post(f"/comparisons/{check.pk}/cancel/", follow=True).content.decode()
    assert "Comparison cancelled." in page
    assert "has already ended" in browser(alice).post(f"/comparisons/{check.pk}/cancel/", follow=True).content.decode()
