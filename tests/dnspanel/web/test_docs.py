"""The API documentation on the panel's pages."""

import html
import re
import shlex
import time
from base64 import b64encode
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from django.utils import timezone

from dnspanel.accounts.actors.actors import EVERY_RIGHT, Grant, Right
from dnspanel.accounts.models import User
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import create_token, revoke_token
from dnspanel.web.api_document import TOKEN
from dnspanel.web.docs import GUIDES
from dnspanel.webhooks.models import EventKind
from dnspanel.webhooks.sign_events import new_secret, signed_headers
from dnspanel.zones.models import RRset
from tests.dnspanel.web.conftest import Browser, MakeZone

SCOPE = (Grant(frozenset({Right.READ}), everywhere=True),)


@pytest.fixture(scope="module")
def opened() -> set[str]:
    """Return the set of links that this module's tests have followed."""
    return set()


@pytest.mark.parametrize("guide", [guide.slug for guide in GUIDES])
def test_every_guide_opens_with_this_panel_s_address(
    browser: Browser, charlie: User, guide: str, opened: set[str]
) -> None:
    page = browser(charlie).get(f"/docs/api/{guide}/")
    assert page.status_code == 200
    text = page.content.decode()
    assert f'data-page="/docs/api/{guide}/"' in text
    for link in set(re.findall(r'href="(/docs/api/[^"]*)"', text)) - opened:  # all pages have the same menu
        assert browser(charlie).get(link).status_code == 200
        opened.add(link)


def test_operations_are_shown_by_task_with_curl_and_python(browser: Browser, charlie: User) -> None:
    page = browser(charlie).get("/docs/api/task-change-records/").content.decode()
    assert f"{settings.PANEL_URL}/api/v2/zones" in page
    assert "requests.put(" in page
    assert f"Bearer <span data-secret>{TOKEN}</span>" in page
    assert browser(charlie).get("/docs/api/task-nothing/").status_code == 404


def test_operations_name_the_panel_s_address_of_now(browser: Browser, charlie: User, settings: Any) -> None:
    for url in (settings.PANEL_URL, "https://other.test"):
        settings.PANEL_URL = url
        assert f"{url}/api/v2/zones" in browser(charlie).get("/docs/api/task-change-records/").content.decode()


def test_every_kind_of_problem_is_in_the_table_of_errors(browser: Browser, charlie: User) -> None:
    page = browser(charlie).get("/docs/api/errors/").content.decode()
    for code in ("precondition-failed", "key-reused", "too-many-requests"):
        assert f"<code>{code}</code>" in page


def test_every_kind_of_event_is_on_the_page_of_webhooks(browser: Browser, charlie: User) -> None:
    page = browser(charlie).get("/docs/api/webhooks/").content.decode()
    for kind in EventKind.values:
        assert f'<code class="strong">{kind}</code>' in page
        assert f"&quot;event&quot;: &quot;{kind}&quot;" in page


def test_the_reader_chooses_among_own_living_tokens_and_no_secret_is_in_the_page(
    browser: Browser, bob: User, charlie: User
) -> None:
    now = timezone.now()
    made = create_token(owner=charlie, terms=TokenTerms("mine", SCOPE), by=charlie, now=now)
    dead = create_token(owner=charlie, terms=TokenTerms("dead", SCOPE), by=charlie, now=now)
    revoke_token(token=dead.token, by=charlie, now=now)
    create_token(owner=bob, terms=TokenTerms("of bob", SCOPE, expires_at=now + timedelta(days=1)), by=bob, now=now)
    page = browser(charlie).get("/docs/api/").content.decode()
    assert f'<option value="{made.token.prefix}…">' in page
    assert "of bob" not in page
    assert ">dead" not in page
    assert made.secret not in page
    assert not re.search(r'<input[^>]*id="docs-secret"[^>]*name=', page), "no form could send it"


def test_who_has_no_token_is_led_to_make_one(browser: Browser, charlie: User) -> None:
    assert b"No tokens yet" in browser(charlie).get("/docs/api/").content


def test_the_document_names_this_panel(browser: Browser, charlie: User) -> None:
    document = browser(charlie).get("/docs/api/openapi.json").json()
    assert document["servers"] == [{"url": settings.PANEL_URL}]
    assert document["openapi"].startswith("3.1")


def test_the_signature_check_of_the_guide_accepts_what_the_panel_signs(browser: Browser, charlie: User) -> None:
    page = browser(charlie).get("/docs/api/webhooks/").content.decode()
    found = re.search(r'id="webhooks-code-text"[^>]*>(.*?)</pre>', page, re.DOTALL)
    assert found is not None
    names: dict[str, object] = {}
    exec(html.unescape(found.group(1)), names)
    check = names["is_from_the_panel"]
    secret, body = new_secret(), b'{"type": "ping"}'
    headers = signed_headers(message_id="1", timestamp=int(time.time()), body=body, secrets=[new_secret(), secret])
    assert check(secret, headers, body)  # type: ignore[operator]
    assert not check(secret, headers, body + b" ")  # type: ignore[operator]
    assert not check(new_secret(), headers, body)  # type: ignore[operator]
    old = signed_headers(message_id="1", timestamp=int(time.time()) - 600, body=body, secrets=[secret])
    assert not check(secret, old, body)  # type: ignore[operator]


def code_in(page: str, block: str) -> str:
    """Return the text of a code block, with example.com replaced by a zone that tests can use."""
    found = re.search(rf'id="{block}"[^>]*>(.*?)</pre>', page, re.DOTALL)
    assert found is not None, block
    return html.unescape(re.sub("<[^>]+>", "", found.group(1))).replace("example.com", "example.test")


def run_curl(command: str, secret: str) -> Any:
    """Run a curl command from the documentation against the API, and return the answer."""
    words = iter(shlex.split(command.replace(TOKEN, secret)))
    method, headers, data, url = "GET", {}, "", ""
    for word in words:
        if word == "-X":
            method = next(words)
        elif word == "-H":
            name, _, value = next(words).partition(": ")
            headers[name] = value
        elif word == "-d":
            data = next(words)
        elif word == "-u":
            headers["Authorization"] = "Basic " + b64encode(next(words).encode()).decode()
        elif word.startswith("http"):
            url = word.removeprefix(settings.PANEL_URL)
    return Client().generic(method, url, data, content_type=headers.pop("Content-Type", ""), headers=headers)


@pytest.mark.parametrize(
    ("guide", "block"),
    [
        ("start", "start-me-curl"),
        ("start", "start-put-curl"),
        ("paging", "paging-code-curl"),
        ("idempotency", "idempotency-code-curl"),
        ("powerdns", "powerdns-code-curl"),
        ("dyndns2", "dyndns2-code-curl"),
    ],
)
def test_the_commands_of_the_guides_do_what_they_say(
    browser: Browser, make_zone: MakeZone, bob: User, guide: str, block: str
) -> None:
    make_zone("www 300 A 192.0.2.7", name="shop.example.test.")
    make_zone("home 300 A 192.0.2.8", name="example.test.")
    terms = TokenTerms("docs", (Grant(EVERY_RIGHT, everywhere=True),))
    secret = create_token(owner=bob, terms=terms, by=bob, now=timezone.now()).secret
    page = browser(bob).get(f"/docs/api/{guide}/").content.decode()
    answer = run_curl(code_in(page, block), secret)
    assert 200 <= answer.status_code < 300, answer.content
    if guide == "dyndns2":
        assert answer.content.startswith(b"good 192.0.2.7")


def test_the_guide_s_conditional_write_works_with_a_real_tag(browser: Browser, make_zone: MakeZone, bob: User) -> None:
    zone = make_zone("www 300 A 192.0.2.7", name="shop.example.test.")
    terms = TokenTerms("docs", (Grant(EVERY_RIGHT, everywhere=True),))
    secret = create_token(owner=bob, terms=terms, by=bob, now=timezone.now()).secret
    text = code_in(browser(bob).get("/docs/api/etag/").content.decode(), "etag-code-curl")
    read, remark, write = (
        text.partition("\n# ")[0],
        re.search(r'"[0-9]+-[0-9a-f]{16}"', text),
        text[text.index("curl -X") :],
    )
    assert remark is not None
    assert run_curl(write, secret).status_code == 412
    tag = run_curl(read, secret)["ETag"]
    assert run_curl(write.replace(remark.group(), tag), secret).status_code == 202
    assert RRset.objects.get(zone=zone, type=1).rdata == ["192.0.2.9"]


def test_the_powerdns_page_has_terraform_and_says_what_notify_and_metadata_do(browser: Browser, charlie: User) -> None:
    page = browser(charlie).get("/docs/api/powerdns/").content.decode()
    assert f'server_url = "{settings.PANEL_URL}"' in page
    assert "sends NOTIFY to the zone’s secondaries" in page
    assert "sends nothing" not in page
    assert "All metadata is stored and returned" in page
