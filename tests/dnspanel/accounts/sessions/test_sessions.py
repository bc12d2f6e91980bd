"""Tests of sessions and of their end, and of `sessions.session_store`."""

from datetime import datetime, timedelta

import pytest
from django.conf import settings
from django.test import Client
from django.utils import timezone

from dnspanel.accounts.actors.actors import Grant, Permission, Right, actor_of_token
from dnspanel.accounts.errors import AboveYou, SessionUnknown
from dnspanel.accounts.models import AuditEntry, Role, Session, User
from dnspanel.accounts.sessions import sessions
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import create_token
from tests.people import NOW, PASSWORD, make_person

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"


@pytest.fixture
def now() -> datetime:
    return timezone.now()


def signed_in(name: str, address: str = "192.0.2.7", browser: str = FIREFOX) -> Client:
    client = Client(REMOTE_ADDR=address, headers={"User-Agent": browser})
    assert client.post("/sign-in/", {"login": name, "password": PASSWORD}).status_code == 302
    return client


def is_signed_in(client: Client) -> bool:
    return client.get("/zones/").status_code == 200


def test_a_session_says_whose_it_is_where_and_since_when(bob: User, now: datetime) -> None:
    client = signed_in("bob")
    [session] = sessions.sessions_of(bob, now)
    assert (session.user, session.address, session.browser_name) == (bob, "192.0.2.7", "Firefox on Linux")
    assert session.began_at is not None
    assert abs(session.began_at - now) < timedelta(seconds=5)
    assert session.seen_at == session.began_at
    assert session.session_key not in session.public_id
    data = client.session
    data["seen"] -= 120
    data.save()
    client.get("/zones/", REMOTE_ADDR="192.0.2.8", headers={"Sec-Fetch-Dest": "document"})
    [session] = sessions.sessions_of(bob, now)
    assert (session.address, session.began_at) == ("192.0.2.8", session.seen_at and session.began_at)


def test_a_browser_in_which_nobody_signed_in_is_nobodys(bob: User) -> None:
    client = Client()
    client.post("/sign-in/", {"login": "bob", "password": "wrong"})
    session = client.session
    session["something"] = "kept"
    session.save()
    assert Session.objects.get(pk=session.session_key).user is None


def test_ending_one_ends_that_one(bob: User, now: datetime) -> None:
    first, second = signed_in("bob"), signed_in("bob", "192.0.2.8")
    [one] = [each for each in sessions.sessions_of(bob, now) if each.address == "192.0.2.8"]
    sessions.end_session(user=bob, public_id=one.public_id, now=now)
    assert (is_signed_in(first), is_signed_in(second)) == (True, False)
    with pytest.raises(SessionUnknown):
        sessions.end_session(user=bob, public_id=one.public_id, now=now)
    entry = AuditEntry.objects.get(action="session.end")
    assert (entry.user, entry.target) == (bob, "bob")
    assert entry.details == {"at": "192.0.2.8", "browser": FIREFOX, "session": one.public_id}


def test_nobody_ends_the_session_of_somebody_else(alice: User, bob: User, now: datetime) -> None:
    client = signed_in("alice")
    [hers] = sessions.sessions_of(alice, now)
    for guess in (hers.public_id, hers.session_key, "", "x" * 32):
        with pytest.raises(SessionUnknown):
            sessions.end_session(user=bob, public_id=guess, now=now)
    assert is_signed_in(client)


def test_ending_the_others_keeps_this_one(alice: User, bob: User, now: datetime) -> None:
    this, *others = [signed_in("bob") for _ in range(3)]
    alices = signed_in("alice")
    assert sessions.end_other_sessions(user=bob, keep=this.session.session_key, now=now) == 2
    assert [is_signed_in(each) for each in (this, *others, alices)] == [True, False, False, True]


def test_an_administrator_ends_all_of_somebody(alice: User, bob: User, now: datetime) -> None:
    clients = [signed_in("bob") for _ in range(2)]
    assert sessions.end_all_sessions(user=bob, by=alice, now=now) == 2
    assert not any(map(is_signed_in, clients))
    bob.refresh_from_db()
    assert sessions.sessions_of(bob, now) == []
    entry = AuditEntry.objects.get(action="session.end-all")
    assert (entry.user, entry.target, entry.details) == (alice, "bob", {"sessions": 2})
    assert is_signed_in(signed_in("bob"))


def test_a_token_ends_no_session_of_somebody_at_or_above_its_owner(alice: User, now: datetime) -> None:
    other = make_person("otto", Role.ADMINISTRATOR)
    terms = TokenTerms("people", (Grant(frozenset({Right.READ}), everywhere=True),), frozenset({Permission.PEOPLE}))
    by = actor_of_token(create_token(owner=alice, terms=terms, by=alice, now=NOW).token)
    client = signed_in("otto")
    with pytest.raises(AboveYou):
        sessions.end_all_sessions(user=other, by=by, now=now)
    assert is_signed_in(client)


def test_what_opens_nothing_any_more_is_not_listed(bob: User, now: datetime) -> None:
    client = signed_in("bob")
    Session.objects.update(seen_at=now - timedelta(minutes=settings.SESSION_IDLE_MINUTES + 1))
    assert sessions.sessions_of(bob, now) == []
    Session.objects.update(seen_at=now)
    assert len(sessions.sessions_of(bob, now)) == 1
    bob.set_password("another long pass phrase")
    bob.save()
    assert sessions.sessions_of(bob, now) == []
    Session.objects.update(expire_date=now - timedelta(seconds=1))
    sessions.forget_dead_sessions(user=bob, now=now)
    assert not Session.objects.filter(pk=client.session.session_key).exists()


def test_a_request_under_way_does_not_bring_an_ended_session_back(bob: User, now: datetime) -> None:
    """Regression test: the request saved the session that it had read before the end."""
    client = signed_in("bob")
    reading = client.session
    reading["password-at"] = 1
    sessions.end_other_sessions(user=bob, keep=None, now=now)
    from django.contrib.sessions.backends.base import UpdateError

    with pytest.raises(UpdateError):
        reading.save()
    assert not is_signed_in(client)
