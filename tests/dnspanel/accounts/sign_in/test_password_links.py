"""Tests of password links: they work once, for a day, and only while the account is unchanged."""

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from threading import Barrier
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from dnspanel.accounts.actors.actors import Grant, Permission, Right, actor_of_token
from dnspanel.accounts.errors import AboveYou, AccountRefused, LinkDead, OpensMore, PersonUnknown
from dnspanel.accounts.models import AuditEntry, Role, User
from dnspanel.accounts.people import people
from dnspanel.accounts.sessions import sessions
from dnspanel.accounts.sign_in.password_links import _Links, make_password_link, person_of_link, set_password_by_link
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import create_token
from tests.people import NOW, PASSWORD, make_person

NEW = "a new long pass phrase"


@pytest.fixture
def now() -> datetime:
    return timezone.now()


def set_by(link: str, now: datetime, password: str = NEW) -> User:
    return set_password_by_link(link=link, password=password, now=now)


def test_it_sets_the_password_once_and_ends_all_sessions(alice: User, bob: User, now: datetime) -> None:
    client = Client()
    client.force_login(bob, backend="django.contrib.auth.backends.ModelBackend")
    bob.refresh_from_db()
    link, other = (make_password_link(user=bob, by=alice, now=now) for _ in range(2))
    assert person_of_link(link) == bob
    assert set_by(link, now) == bob
    bob.refresh_from_db()
    assert bob.check_password(NEW)
    assert client.get("/zones/").status_code == 302
    for used in (link, other):
        with pytest.raises(LinkDead):
            set_by(used, now, "yet another pass phrase")
    acts = AuditEntry.objects.filter(action__startswith="person.password").order_by("pk")
    assert [(each.action, each.user) for each in acts] == [
        *[("person.password-link", alice)] * 2,
        ("person.password", bob),
    ]
    assert acts[2].details == {"by_link": True}


@pytest.mark.parametrize("change", ["day", "signed in", "closed", "opened again", "sessions", "password", "somebody's"])
def test_it_is_dead_when_the_account_is_another(
    alice: User, bob: User, now: datetime, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    link = make_password_link(user=bob, by=alice, now=now)
    match change:
        case "day":
            later = datetime.now() + timedelta(days=1, seconds=5)  # noqa: DTZ005  (as Django keeps it)
            monkeypatch.setattr(_Links, "_now", lambda self: later)
        case "signed in":
            Client().post("/sign-in/", {"login": "bob", "password": PASSWORD})
        case "closed" | "opened again":
            people.deactivate(user=bob, by=alice, now=now)
            if change == "opened again":
                people.reactivate(user=bob, by=alice, now=now)
        case "sessions":
            sessions.end_all_sessions(user=bob, by=alice, now=now)
        case "password":
            bob.set_password("changed meanwhile, too")
            bob.save()
        case _:
            link = f"{make_password_link(user=alice, by=alice, now=now).partition('-')[0]}-{link.partition('-')[2]}"
    with pytest.raises(LinkDead):
        set_by(link, now)
    assert not User.objects.get(pk=bob.pk).check_password(NEW)
    assert not User.objects.get(pk=alice.pk).check_password(NEW)


@pytest.mark.parametrize("link", ["", "-", "x", "1-", "zzzzzzzzzzzzz-x", "z" * 5000, "\0-\0", "é-é"], ids=range(8))
def test_what_is_no_link_sets_nothing(db: None, link: str) -> None:
    with pytest.raises(LinkDead):
        person_of_link(link)


def test_a_weak_password_leaves_the_link_good(bob: User, now: datetime) -> None:
    link = make_password_link(user=bob, by=None, now=now)
    for weak in ("short", "bob@people.test"):
        with pytest.raises(AccountRefused) as refusal:
            set_by(link, now, weak)
        assert list(refusal.value.fields) == ["password"]
    set_by(link, now)


@pytest.mark.django_db(transaction=True)
def test_of_two_who_use_it_at_once_one_is_refused() -> None:
    for turn in range(3):
        bob = make_person(f"bob{turn}", Role.EDITOR)
        link = make_password_link(user=bob, by=None, now=NOW)
        barrier = Barrier(2, timeout=10)

        def run(password: str, link: str = link, barrier: Barrier = barrier) -> bool:
            try:
                barrier.wait()
                set_by(link, NOW, password)
            except LinkDead:
                return False
            finally:
                connection.close()
            return True

        with ThreadPoolExecutor(2) as pool:
            assert sorted(pool.map(run, ("one long pass phrase", "other long pass phrase"))) == [False, True]


def test_a_token_makes_no_link_for_somebody_at_or_above_its_owner(alice: User, bob: User, now: Any) -> None:
    terms = TokenTerms("people", (Grant(frozenset({Right.READ}), everywhere=True),), frozenset({Permission.PEOPLE}))
    by = actor_of_token(create_token(owner=alice, terms=terms, by=alice, now=NOW).token)
    for person in (make_person("otto", Role.ADMINISTRATOR), alice):
        with pytest.raises(AboveYou):
            make_password_link(user=person, by=by, now=now)
    with pytest.raises(OpensMore):  # a lower role, but with rights that the token lacks
        make_password_link(user=bob, by=by, now=now)
    assert make_password_link(user=make_person("rita", Role.MEMBER), by=by, now=now)


def test_nobody_gets_a_password_for_a_service_account(alice: User, now: datetime) -> None:
    account = User.objects.create(username="deploy", email=None, is_service=True, role=Role.EDITOR, date_joined=NOW)
    with pytest.raises(PersonUnknown):
        make_password_link(user=account, by=alice, now=now)
