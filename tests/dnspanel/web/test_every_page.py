"""All pages in a browser: axe finds no fault in light and dark mode, and all texts fit on a desktop and a phone.

Django's test client renders the pages, and one Chromium loads them from memory. There is no server.
"""

import random
import re
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import pytest
from django.contrib.staticfiles import finders
from django.test import Client, override_settings
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Browser, BrowserContext, Page, Route, ViewportSize

from dnspanel.accounts.actors.actors import EVERY_RIGHT, Grant
from dnspanel.accounts.models import GrantRow, Membership, Team, User
from dnspanel.alerts.models import Alert
from dnspanel.languages import LANGUAGES
from dnspanel.transfer.models import CutoverCheck, CutoverZone, ImportJob, ImportZone
from dnspanel.zones.drafts import draft
from dnspanel.zones.models import Zone
from tests.browser import chromium as chromium
from tests.dnspanel.web.test_every_url import ENDPOINTS, HALF_SIGNED_IN, ZONE, Endpoint
from tests.dnspanel.web.test_every_url import ids as ids
from tests.dnspanel.web.widths import faults_of_width
from tests.dnspanel.zones.conftest import rr, zone_maker
from tests.full import Sample
from tests.people import NOW, PASSWORD
from tests.second_factors import set_up

pytestmark = pytest.mark.browser

ROOT = Path(__file__).parents[3]
# Templates of more pages belong to the layout or to most lists. They don't make all these pages due for a check.
OF_FEW_PAGES = 4
ORIGIN = "http://panel.test"
LONG_ADDRESS = "2001:db8:1234:5678:9abc:def0:1234:5678"
NAME_OF_40 = "mail-and-web.customers-of-an-isp.example."
NAME_OF_200 = ".".join(["no-place-for-a-break" + "x" * 43, "y" * 63, "z" * 63, "example", ""])
AXE = (Path(__file__).parents[2] / "vendor/axe.min.js").read_text()
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice", "experimental"]
EVERYTHING = {"include": [["html"]]}
# The layout is the same on all pages, and is checked once.
FRAME = b'<nav class="nav"'
WITHOUT_FRAME = {"include": [["html"]], "exclude": [[".nav"], [".top"]]}
RUN_AXE = """async ([where, only]) => {
    const found = await axe.run(where, {runOnly: only, resultTypes: ["violations"]});
    return found.violations.map(rule => [rule.id, rule.nodes.map(node => node.html.slice(0, 200))]);
}"""
# As high as the longest page. Otherwise a button below the draft bar at the window's edge would be reported as too
# small.
PHONE: ViewportSize = {"width": 360, "height": 8000}
DESKTOP: ViewportSize = {"width": 1280, "height": 900}


@dataclass(frozen=True)
class Look:
    """The color scheme and window size with which a page is checked."""

    name: str
    scheme: Literal["light", "dark"]
    size: ViewportSize
    rules: dict[str, Any]


# All rules once; then only rules about colors and sizes, whose results can differ.
LOOKS = (
    Look("light", "light", DESKTOP, {"type": "tag", "values": TAGS}),
    Look("dark", "dark", DESKTOP, {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}),
    Look("phone", "light", PHONE, {"type": "rule", "values": ["target-size", "scrollable-region-focusable"]}),
)


@dataclass(frozen=True)
class Answer:
    """The panel's response to a GET request."""

    endpoint: Endpoint
    status: int
    headers: dict[str, str]
    body: bytes
    templates: frozenset[str]
    # The answer to htmx. A fragment that is opened as a page redirects to its page.
    fragment: "Answer | None" = None

    @property
    def is_page(self) -> bool:
        return self.headers.get("Content-Type", "").startswith("text/html") and b"<html" in self.body


@pytest.fixture(scope="module")
def answers(ids: dict[str, int]) -> dict[str, Answer]:
    """Return the responses to all GET URLs by path, as the administrator sees them."""
    alice = User.objects.get(username="alice")
    make_more(alice)
    set_up(User.objects.get(username="bob"), timezone.now())
    client, found = Client(), {}
    for endpoint in ENDPOINTS:
        if endpoint.method != "GET" or endpoint.name == "account_logout":
            continue
        path = reverse(endpoint.name, kwargs={name: ids.get(name, value) for name, value in endpoint.args.items()})
        found[path] = answer_of(endpoint, path, client)
    return found


def answer_of(endpoint: Endpoint, path: str, client: Client) -> Answer:
    """Request the URL as the administrator, or as the kind of person that the endpoint needs."""
    client.logout()
    if endpoint.permission is HALF_SIGNED_IN:
        client.post("/sign-in/", {"login": "bob", "password": PASSWORD})
    elif endpoint.permission is not None:
        alice = User.objects.get(username="alice")
        client.force_login(alice, backend="django.contrib.auth.backends.ModelBackend")
    with override_settings(PANEL_URL="https://panel.test", EMAIL_HOST="mail.test"):  # with all possible content
        answer = recorded(endpoint, client.get(path, endpoint.data, headers={"Accept": "text/html"}))
        if not 300 <= answer.status < 400:
            return answer
        return replace(
            answer, fragment=recorded(endpoint, client.get(path, endpoint.data, headers={"HX-Request": "true"}))
        )


def recorded(endpoint: Endpoint, response: Any) -> Answer:
    content = b"" if response.streaming else response.content
    templates = frozenset(str(template.name) for template in response.templates)
    return Answer(endpoint, response.status_code, dict(response.items()), content, templates)


def make_more(alice: User) -> None:
    """Create a draft that will conflict, names without break points, and a person with rights of each kind."""
    zone = Zone.objects.get(name=ZONE["zone_name"])
    make_long_names(alice)
    for line in (
        "www 300 A 192.0.2.77",
        "a-very-long-name-that-has-no-place-to-break-in-it 300 TXT " + "x" * 200,
        f"six 36000 AAAA {LONG_ADDRESS}",
    ):
        draft.replace_rrset(author=alice, zone=zone, rrset=rr(line), now=NOW, base_revision=zone.revision)
    team = Team.objects.create(name="hostmasters-of-the-whole-organisation", created_at=NOW)
    make_zone = zone_maker(alice)
    for name in ("marked.test.", "marked-too.test."):
        marked = make_zone("www 300 A 192.0.2.1", name=name)
        Zone.objects.filter(pk=marked.pk).update(team=team, tags=["customers", "eu", "signed-elsewhere"])
    for person in User.objects.all():
        for grant in (
            Grant(EVERY_RIGHT, zones=frozenset({zone.pk}), names=("_acme-challenge.*", "mail"), types=frozenset({16})),
            Grant(EVERY_RIGHT, everywhere=True),
        ):
            GrantRow.objects.create(user=person, grant=grant.to_json(), created_at=NOW)
        Membership.objects.create(team=team, user=person, role="editor")


def make_long_names(alice: User) -> None:
    """Create zones whose names must not and must break, in the lists of zones, records, tokens, imports and alerts."""
    make_zone = zone_maker(alice)
    for name in (NAME_OF_40, NAME_OF_200):
        zone = make_zone(f"www 36000 AAAA {LONG_ADDRESS}", "www-2026.example 36000 A 198.51.100.254", name=name)
        Zone.objects.filter(pk=zone.pk).update(tags=["a-tag-of-a-customer"])
        draft.delete_rrset(author=alice, zone=zone, name=f"www.{name}", type=28, now=NOW)
        gone = make_zone("www 300 A 192.0.2.1", name=f"gone.{name[5:]}")
        Zone.objects.filter(pk=gone.pk).update(deleted_at=NOW)
        job = ImportJob.objects.latest("pk")
        ImportZone.objects.create(job=job, piece=1, name=name, path=f"{name}zone", zone_id=zone.pk)
        CutoverZone.objects.create(check_run=CutoverCheck.objects.latest("pk"), name=name, questions=1, checklist=[])
        Alert.objects.create(
            key=f"zone.late:{name}", kind="zone.late", severity="warning", since=NOW, seen_at=NOW,
            sentence=f"{name} is behind on 2001:db8:0:1:2:3:4:5 since serial 2026113001.",
        )  # fmt: skip
    alice.tokens.update(last_used_at=NOW, last_address=LONG_ADDRESS, networks=[f"{LONG_ADDRESS}/128"])


@dataclass(frozen=True)
class Findings:
    """The faults of pages: axe complaints by rule, element and page."""

    complaints: dict[str, dict[str, list[str]]]


@pytest.fixture(scope="module")
def findings(answers: dict[str, Answer], chromium: Browser, sample: Sample) -> Iterator[Findings]:
    """Load each page once and check it in light mode, in dark mode and at phone width."""
    context = chromium.new_context(viewport=DESKTOP, reduced_motion="reduce")
    serve(context, answers)
    window, found = context.new_page(), Findings({})
    where = EVERYTHING
    for path in pages_for_axe(answers, sample):
        window.emulate_media(color_scheme="light")
        window.set_viewport_size(DESKTOP)
        window.goto(ORIGIN + path)
        window.evaluate(AXE)  # not as a script element, which the Content-Security-Policy forbids
        for look in LOOKS:
            window.emulate_media(color_scheme=look.scheme)
            window.set_viewport_size(look.size)
            for rule, elements in window.evaluate(RUN_AXE, [where, look.rules]):
                for element in elements:
                    found.complaints.setdefault(f"{rule} ({look.name})", {}).setdefault(element, []).append(path)
        if FRAME in answers[path].body:
            where = WITHOUT_FRAME
    yield found
    context.close()


def serve(context: BrowserContext, answers: Mapping[str, Answer]) -> None:
    """Answer the panel's URLs and static files from memory, and all other URLs with an empty response."""

    def fulfil(route: Route) -> None:
        path = urlsplit(route.request.url).path
        file = finders.find(path.removeprefix("/static/")) if path.startswith("/static/") else None
        answer = answers.get(path)
        # Playwright does not intercept redirected requests. The page would then say that it is offline.
        if answer is not None and answer.fragment is not None and not route.request.is_navigation_request():
            answer = answer.fragment
        if file:
            route.fulfill(path=file)
        elif answer is not None and answer.is_page == route.request.is_navigation_request():
            route.fulfill(status=answer.status, headers=answer.headers, body=answer.body)
        else:
            route.fulfill(status=204)

    context.route("**/*", fulfil)


def pages(answers: Mapping[str, Answer]) -> list[str]:
    return [path for path, answer in answers.items() if answer.is_page]


def pages_for_axe(answers: Mapping[str, Answer], sample: Sample) -> list[str]:
    """Return pages with changed templates, and 10 other pages that vary, so that all get checked within days."""
    changed = changed_templates()
    used = Counter(name for answer in answers.values() for name in answer.templates)
    own = {name for name in changed if used[name] <= OF_FEW_PAGES}
    mine = [path for path in pages(answers) if not own.isdisjoint(answers[path].templates)]
    others = [path for path in pages(answers) if path not in mine]
    changed_pages = sample.some(mine, 6, reason="pages with changed templates that axe looks at")
    return changed_pages + sample.turn(others, 10, reason="pages that axe looks at")


def changed_templates() -> set[str]:
    """Return the names of the templates that the last day's commits or the work tree changed."""
    where = ["--", "templates"]
    commands = (
        ["git", "log", "--since=1 day ago", "--name-only", "--format=", *where],
        ["git", "diff", "--name-only", "HEAD", *where],
    )
    # A copy without a git history has no changes.
    texts = (subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout for command in commands)
    return {line.removeprefix("templates/") for text in texts for line in text.splitlines()}


def test_the_pages_are_those_of_the_table(answers: dict[str, Answer]) -> None:
    assert len(pages(answers)) > 50
    assert {answers[path].status for path in pages(answers)} <= {200, 404, 410}


def test_axe_has_nothing_to_say_in_the_light_and_in_the_dark(findings: Findings) -> None:
    told = [
        f"{rule}: {element}\n    on {len(found)} pages: {' '.join(found[:3])}"
        for rule, elements in findings.complaints.items()
        for element, found in elements.items()
    ]
    assert not told, "\n".join(told)


def test_no_name_at_the_end_of_a_sentence_has_two_dots(answers: dict[str, Answer]) -> None:
    for path in pages(answers):
        text = re.sub(rb"<[^>]*>", b"", answers[path].body)
        assert not re.search(rb"[a-z]\.\.(?![.\w])", text), path


def test_every_url_that_a_person_opens_is_a_page_a_file_or_leads_to_a_page(answers: dict[str, Answer]) -> None:
    parts = {
        path: answer.body[:60]
        for path, answer in answers.items()
        if not (answer.is_page or 300 <= answer.status < 400 or "Content-Disposition" in answer.headers)
    }
    assert set(parts) == {"/livez", "/readyz", "/healthz"}, parts


@pytest.fixture(scope="module", autouse=True)
def translated(answers: dict[str, Answer], sample: Sample) -> dict[tuple[str, str], Answer]:
    """Return the responses whose widths are checked, by path and language.

    It is created before Chromium, whose event loop hides Django's connection to the database.
    """
    return {
        (path, language): answer_of(answers[path].endpoint, path, Client(headers={"accept-language": language}))
        for path, language in in_languages(answers, sample)
    }


def in_languages(answers: Mapping[str, Answer], sample: Sample) -> list[tuple[str, str]]:
    """Return paths with the language in which to check their widths: each page in each language within weeks."""
    if sample.full:
        return [(path, language) for language, _ in LANGUAGES for path in pages(answers)]
    by_chance = random.Random(sample.seed)
    found = [(path, by_chance.choice(LANGUAGES)[0]) for path in pages_for_axe(answers, sample)]
    return sample.some(found, 8, reason="pages whose widths are checked")


def widths_of(window: Page, path: str) -> list[str]:
    """Load the page once, and return its faults on a desktop and on a phone."""
    window.set_viewport_size(DESKTOP)
    window.goto(ORIGIN + path)
    found = [f"{path} at 1280 px: {fault}" for fault in faults_of_width(window)]
    window.set_viewport_size({"width": PHONE["width"], "height": DESKTOP["height"]})
    return found + [f"{path} at 360 px: {fault}" for fault in faults_of_width(window)]


def test_no_number_or_name_breaks_and_nothing_is_cut(
    answers: dict[str, Answer], translated: dict[tuple[str, str], Answer], chromium: Browser
) -> None:
    context = chromium.new_context(reduced_motion="reduce")
    present = dict(answers)
    serve(context, present)
    window, found = context.new_page(), []
    for (path, language), present[path] in translated.items():
        found += [f"{language} {fault}" for fault in widths_of(window, path)]
    context.close()
    assert not found, "\n".join(found)


def test_the_row_editor_is_one_line(answers: dict[str, Answer], chromium: Browser) -> None:
    context = chromium.new_context(reduced_motion="reduce")
    serve(context, answers)
    window, path = context.new_page(), reverse("zone-rrset", args=[ZONE["zone_name"]])
    assert widths_of(window, path) == []
    window.set_viewport_size(DESKTOP)
    window.locator("[name=ttl]").fill("604800")
    assert faults_of_width(window) == []
    line = [*(f"[name={name}]" for name in ("name", "type", "ttl", "values")), ".row-form .btn", ".row-form summary"]
    boxes = [window.locator(f"tbody {selector}").first.bounding_box() or {} for selector in line]
    assert max(box["y"] for box in boxes) - min(box["y"] for box in boxes) < 12
    assert [box["x"] for box in boxes] == sorted(box["x"] for box in boxes)
    window.locator(".row-form summary").click()
    window.set_viewport_size({"width": 360, "height": 900})
    menu = window.locator(".row-form .menu-list").bounding_box() or {}
    assert menu["x"] >= 0
    assert menu["x"] + menu["width"] <= 360
    context.close()
