"""Tests of TSIG keys by name."""

from dataclasses import replace
from datetime import timedelta

import pytest

from dnspanel.accounts.actors.actors import (
    EVERY_RIGHT,
    RECORD_RIGHTS,
    Actor,
    Grant,
    Permission,
    Right,
    actor_of,
    actor_of_token,
)
from dnspanel.accounts.errors import NotYours, TokenRefused, TokenUnknown, TsigNameTaken
from dnspanel.accounts.models import AuditEntry, Token, User
from dnspanel.accounts.tokens import tsig_keys
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import create_token, revoke_token, tsig_secret
from tests.people import NOW

SECRET = "c2l4dGVlbiBieXRlcyBub3c="
TERMS = TokenTerms(
    "updates",
    (Grant(EVERY_RIGHT, zones=frozenset({7, 8})),),
    networks=("192.0.2.0/24",),
    expires_at=NOW + timedelta(days=9),
    unused_days=30,
)


def acting(owner: User, terms: TokenTerms = TERMS) -> Actor:
    actor = actor_of_token(create_token(owner=owner, terms=terms, by=owner, now=NOW).token)
    assert actor is not None
    return actor


def make(by: Actor, name: str = "k.test.", secret: str = "", algorithm: str = "hmac-sha256") -> Token:
    made = tsig_keys.create_own_tsig_key(by=by, name=name, algorithm=algorithm, secret=secret, now=NOW)
    return made.token


def test_a_key_can_do_what_the_token_can_that_makes_it_and_for_no_longer(bob: User) -> None:
    key = make(acting(bob))
    assert key.scope == [grant.to_json() for grant in TERMS.scope]
    assert (key.networks, key.expires_at, key.unused_days) == (["192.0.2.0/24"], TERMS.expires_at, 30)
    assert (key.owner, key.permissions) == (bob, [])


def test_a_token_sees_only_keys_that_give_no_more_than_itself(bob: User) -> None:
    wide, narrow = acting(bob), acting(bob, replace(TERMS, scope=(Grant(EVERY_RIGHT, zones=frozenset({7})),)))
    make(wide, "wide.test.")
    make(narrow, "narrow.test.")
    assert [key.tsig_name for key in tsig_keys.tsig_keys_visible_to(wide)] == ["narrow.test.", "wide.test."]
    assert [key.tsig_name for key in tsig_keys.tsig_keys_visible_to(narrow)] == ["narrow.test."]
    with pytest.raises(TokenUnknown):
        tsig_keys.tsig_key_for(narrow, "wide.test.")


def test_who_may_change_no_settings_has_nothing_to_do_with_keys(bob: User) -> None:
    make(acting(bob, replace(TERMS, scope=(Grant(EVERY_RIGHT, everywhere=True),))))
    updating = acting(bob, replace(TERMS, scope=(Grant(RECORD_RIGHTS | {Right.READ}, everywhere=True),)))
    assert not tsig_keys.may_have_keys(updating)
    assert tsig_keys.tsig_keys_visible_to(updating) == []


def test_other_peoples_keys_are_for_who_manages_people(alice: User, bob: User, charlie: User) -> None:
    make(acting(bob))
    administrator, reader = actor_of(alice), actor_of(charlie)
    assert administrator is not None
    assert reader is not None
    assert len(tsig_keys.tsig_keys_visible_to(administrator)) == 1
    assert tsig_keys.tsig_keys_visible_to(reader) == []
    assert tsig_keys.tsig_keys_visible_to(acting(alice)) == []


def test_name_algorithm_and_secret_of_a_key_change(bob: User) -> None:
    actor = acting(bob)
    changed = tsig_keys.change_tsig_key(
        key=make(actor), by=actor, name="new.test.", algorithm="HMAC-SHA512.", secret=SECRET, now=NOW
    )
    stored = tsig_keys.tsig_key_for(actor, "new.test.")
    assert (stored.pk, stored.tsig_algorithm, tsig_secret(stored)) == (changed.pk, "hmac-sha512", b"sixteen bytes now")
    entry = AuditEntry.objects.get(action="token.change")
    assert entry.details["was"] == "k.test."
    assert SECRET not in str(entry.details)


def test_a_key_does_not_take_the_name_of_another(bob: User) -> None:
    actor = acting(bob)
    make(actor, "other.test.")
    with pytest.raises(TsigNameTaken):
        tsig_keys.change_tsig_key(
            key=make(actor), by=actor, name="other.test.", algorithm="hmac-sha1", secret=SECRET, now=NOW
        )


def test_a_revoked_key_is_gone_and_its_name_is_free(bob: User) -> None:
    actor = acting(bob)
    key = make(actor)
    revoke_token(token=key, by=actor, now=NOW)
    assert tsig_keys.tsig_keys_visible_to(actor) == []
    with pytest.raises(TokenUnknown):
        tsig_keys.change_tsig_key(key=key, by=actor, name="k.test.", algorithm="hmac-sha1", secret=SECRET, now=NOW)
    make(actor)


def test_a_secret_is_read_again_with_a_permission_of_its_own_and_never_anothers(alice: User, bob: User) -> None:
    """Regression test: every token with rights over a zone's settings could read all its owner's secrets. An
    administrator's token could read everyone's.
    """
    reading = acting(bob, replace(TERMS, permissions=frozenset({Permission.SECRETS})))
    key = make(reading, secret=SECRET)
    assert tsig_keys.read_secret(key=key, by=reading, now=NOW) == SECRET
    entry = AuditEntry.objects.get(action="token.secret")
    assert (entry.user, entry.token, entry.details) == (bob, reading.token, {"token": key.pk, "tsig": "k.test."})
    administrator = actor_of(alice)
    assert administrator is not None
    for other in (acting(bob), administrator):
        assert tsig_keys.read_secret(key=key, by=other, now=NOW) == ""
    assert AuditEntry.objects.filter(action="token.secret").count() == 1


def test_nobody_gives_the_key_of_another_person_a_secret(alice: User, bob: User) -> None:
    """A person who knows the secret can act as the other person."""
    key, administrator = make(acting(bob)), actor_of(alice)
    assert administrator is not None
    with pytest.raises(NotYours):
        tsig_keys.change_tsig_key(
            key=key, by=administrator, name="k.test.", algorithm="hmac-sha256", secret=SECRET, now=NOW
        )


def test_an_old_key_keeps_its_algorithm_and_no_other_one_gets_it(bob: User) -> None:
    actor = acting(bob)
    with pytest.raises(TokenRefused, match="only allowed for an existing key"):
        make(actor, algorithm="hmac-md5")
    old, new = make(actor, algorithm="hmac-md5", secret=SECRET), make(actor, "new.test.")
    changed = tsig_keys.change_tsig_key(
        key=old, by=actor, name="old.test.", algorithm="hmac-md5.sig-alg.reg.int.", secret=None, now=NOW
    )
    assert (changed.tsig_name, changed.tsig_algorithm, tsig_secret(changed)) == (
        "old.test.", "hmac-md5", b"sixteen bytes now",
    )  # fmt: skip
    with pytest.raises(TokenRefused, match="only allowed for an existing key"):
        tsig_keys.change_tsig_key(key=new, by=actor, name="new.test.", algorithm="hmac-md5", secret=None, now=NOW)
