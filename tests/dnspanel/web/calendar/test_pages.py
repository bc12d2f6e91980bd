"""The calendar page, and the feed with the secret in its URL."""

import html
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import icalendar
import pytest
from django.conf import settings
from django.test import Client
from django.utils import timezone

from dnspanel.accounts.errors import TokenUnknown
from dnspanel.accounts.models import Role, Token, TokenKind, User
from dnspanel.accounts.people.people import deactivate
from dnspanel.accounts.tokens.tokens import actor_by_secret, revoke_token
from dnspanel.web.calendar.events import Event, Kind
from dnspanel.web.calendar.pages import calendar_file
from dnspanel.zones.governance import publish_rules
from dnspanel.zones.governance.publish_rules import FreezeTimes, Scope
from dnspanel.zones.models import Expiry
from replication.codec.keys import relative_key
from tests.dnspanel.web.conftest import Browser, MakeZone
from tests.people import NOW, make_person

PAGE = "/changes/calendar/"


def page_of(client: Client, query: str = "") -> str:
    return client.get(PAGE + query).content.decode()


def freeze(alice: User, reason: str = "Holidays, <no> changes; ask Ops") -> None:
    now = timezone.now()
    times = FreezeTimes(now + timedelta(days=1), now + timedelta(days=2))
    publish_rules.add_freeze(scope=Scope(), times=times, reason=reason, author=alice, now=now)


def feed_of(client: Client) -> str:
    """Create a feed on the page, and return the path of its URL."""
    made = client.post(f"{PAGE}feed/", follow=True).content.decode()
    found = re.search(rf"{settings.PANEL_URL}(/calendar/[^/]+/dnspanel\.ics)", html.unescape(made))
    assert found
    return found[1]


def test_the_page_shows_a_picture_and_the_same_events_as_text(browser: Browser, alice: User) -> None:
    client = browser(alice)
    assert "No events in this period" in page_of(client)
    freeze(alice)
    page = page_of(client)
    assert 'role="group" aria-label="Events from' in page
    assert "every zone: Holidays, &lt;no&gt; changes; ask Ops" in page
    flat = " ".join(page.split())
    at = timezone.localtime(timezone.now() + timedelta(days=1))
    assert f'role="img" aria-label="Freezes: 1 mark, {at:%Y-%m-%d}' in flat
    assert re.search(rf"<rect [^>]*> <title> {at:%Y-%m-%d} \d\d:\d\d every zone: Holidays, [^<]* </title>", flat)
    assert "No events in this period" in page_of(client, "?kind=key")
    assert "Holidays" in page_of(client, "?kind=freeze")


def test_earlier_and_later_periods_and_wrong_days(browser: Browser, alice: User) -> None:
    client = browser(alice)
    freeze(alice)
    page = page_of(client, "?from=2026-01-31&kind=freeze")
    assert "2026-01-31 – 2026-04-30" in page
    assert 'href="?from=2025-11-02&amp;kind=freeze"' in page
    assert 'href="?from=2026-05-01&amp;kind=freeze"' in page
    assert "Holidays" not in page
    for query in ("?from=9999-12-31", "?from=0001-01-01", "?from=tomorrow", "?kind=nonsense"):
        assert client.get(PAGE + query).status_code == 200


@pytest.mark.parametrize("kind", ["", "?kind=record"])
def test_a_large_calendar_is_a_small_page(browser: Browser, make_zone: MakeZone, alice: User, kind: str) -> None:
    zone, now = make_zone(), timezone.now()
    label = "a" * 60
    names = {number: f"{label}.n{number}.example.test." for number in range(1, 2_001)}
    Expiry.objects.bulk_create(
        Expiry(
            zone=zone,
            owner_key=relative_key(name, zone.name),
            type=1,
            name=name,
            remove_at=now + timedelta(hours=number),
            set_at=NOW,
        )
        for number, name in names.items()
    )
    page = page_of(browser(alice), kind)
    assert "Only the first events are shown of: Records" in page
    assert page.count("is removed</a>") == (250 if kind else 40)
    assert len(page.encode()) < 150_000
    assert re.search(r", and \d+ more\s*</title>", page)


def test_the_feed_is_read_without_a_session_and_is_a_valid_calendar(browser: Browser, alice: User) -> None:
    freeze(alice)
    path = feed_of(browser(alice))
    answer = Client().get(path)
    assert answer["Content-Type"] == "text/calendar; charset=utf-8"
    assert answer["Cache-Control"] == "no-store"
    events: Any = icalendar.Calendar.from_ical(answer.content).walk("VEVENT")
    [found] = [event for event in events if event["UID"].startswith("freeze-")]
    assert found["SUMMARY"] == "every zone: Holidays, <no> changes; ask Ops"
    assert found["URL"] == f"{settings.PANEL_URL}/zones/"  # a feed can't change settings
    assert found["DTEND"].dt - found["DTSTART"].dt == timedelta(days=1)


def test_a_feed_reads_the_calendar_and_nothing_else(browser: Browser, alice: User) -> None:
    secret = feed_of(browser(alice)).split("/")[2]
    [token] = Token.objects.all()
    assert (token.kind, token.owner, token.unused_days) == (TokenKind.FEED, alice, 90)
    assert secret.encode() not in bytes(token.secret_sha256 or b"")
    for path in ("/api/v2/zones", "/api/v2/me", "/scim/v2/Users"):
        assert Client().get(path, headers={"Authorization": f"Bearer {secret}"}).status_code == 401
    with pytest.raises(TokenUnknown):
        actor_by_secret(secret=secret, address=None, now=timezone.now())


def test_a_feed_shows_its_owners_events_and_ends_with_its_rights(browser: Browser, alice: User, bob: User) -> None:
    path = feed_of(browser(bob))
    now = timezone.now()
    Token.objects.update(expires_at=now + timedelta(days=3))
    other = feed_of(browser(alice))
    assert b"Calendar feed" in Client().get(path).content
    assert b"token-" not in Client().get(other).content
    deactivate(user=bob, by=alice, now=now)
    assert Client().get(path).status_code == 404
    [token] = Token.objects.filter(owner=alice)
    revoke_token(token=token, by=alice, now=now)
    assert Client().get(other).status_code == 404


def test_api_tokens_and_wrong_secrets_open_no_feed(browser: Browser, alice: User) -> None:
    path = feed_of(browser(alice))
    Token.objects.update(kind=TokenKind.API)
    for wrong in (path, "/calendar/dnsp_wrong/dnspanel.ics", "/calendar/nonsense/dnspanel.ics"):
        assert Client().get(wrong).status_code == 404


@pytest.mark.django_db
def test_a_member_without_zones_gets_no_feed(browser: Browser) -> None:
    mia = make_person("mia", Role.MEMBER)
    page = browser(mia).post(f"{PAGE}feed/", follow=True).content.decode()
    assert "You can’t grant rights that you don’t have: read." in page
    assert not Token.objects.exists()


def test_long_and_odd_texts_are_folded_and_escaped() -> None:
    at = datetime(2026, 12, 1, 8, tzinfo=UTC)
    text = "Zürich; a,b\\c\nBEGIN:VEVENT " + "日本" * 80
    content = calendar_file(
        [Event(at, "k1", Kind.ZONE, text, "/zones/x./")], name="DNS", panel_url="https://panel.test:8443", now=NOW
    )
    assert max(map(len, content.split(b"\r\n"))) <= 75
    [event] = icalendar.Calendar.from_ical(content).walk("VEVENT")
    assert event["SUMMARY"] == text
    assert event["UID"] == "k1@panel.test"
    assert b"DTSTART:20261201T080000Z" in content
