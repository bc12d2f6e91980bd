"""Tests of API tokens and TSIG keys, from creation to revocation."""

import hashlib
from dataclasses import replace
from datetime import timedelta

import pytest

from dnspanel.accounts import errors
from dnspanel.accounts.actors.actors import EVERY_RIGHT, Grant, Permission, Right, actor_of
from dnspanel.accounts.models import AuditEntry, Role, Token, User
from dnspanel.accounts.people import people
from dnspanel.accounts.tokens import tokens
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import NewToken
from tests.people import NOW, make_person

EVERYWHERE = Grant(EVERY_RIGHT, everywhere=True)
CI = TokenTerms("CI", (Grant(EVERY_RIGHT, zones=frozenset({5})),), expires_at=NOW + tokens.LIFETIME)


def make(owner: User, **terms: object) -> NewToken:
    return tokens.create_token(owner=owner, terms=replace(CI, **terms), by=owner, now=NOW)  # type: ignore[arg-type]


def faults(owner: User, **terms: object) -> set[str]:
    with pytest.raises(errors.TokenRefused) as caught:
        make(owner, **terms)
    return set(caught.value.fields)


def test_the_secret_has_256_bits_and_is_not_stored(alice: User) -> None:
    new = make(alice)
    assert len(new.secret.removeprefix("dnsp_")) == 43  # 32 bytes in Base64
    assert new.secret.startswith(new.token.prefix)
    stored = Token.objects.filter(pk=new.token.pk).values().get()
    assert bytes(stored["secret_sha256"]) == hashlib.sha256(new.secret.encode()).digest()
    assert new.secret not in str(stored)
    assert new.secret not in str(list(AuditEntry.objects.values()))


def test_a_token_acts_for_its_owner_and_notes_its_use(alice: User) -> None:
    new = make(alice)
    later = NOW + timedelta(hours=1)
    actor = tokens.actor_by_secret(secret=new.secret, address="192.0.2.7", now=later)
    assert (actor.user, actor.token) == (alice, new.token)
    new.token.refresh_from_db()
    assert (new.token.last_used_at, new.token.last_address) == (later, "192.0.2.7")


def test_a_busy_token_is_written_down_once_a_minute(alice: User, django_assert_num_queries: object) -> None:
    new = make(alice)
    tokens.actor_by_secret(secret=new.secret, address="192.0.2.7", now=NOW)
    with django_assert_num_queries(1):  # type: ignore[operator]
        tokens.actor_by_secret(secret=new.secret, address="192.0.2.7", now=NOW + timedelta(seconds=30))
    with django_assert_num_queries(2):  # type: ignore[operator]
        tokens.actor_by_secret(secret=new.secret, address="192.0.2.8", now=NOW + timedelta(seconds=31))
    with django_assert_num_queries(2):  # type: ignore[operator]
        tokens.actor_by_secret(secret=new.secret, address="192.0.2.8", now=NOW + timedelta(seconds=120))


@pytest.mark.parametrize("secret", ["", "dnsp_", "dnsp_" + "x" * 43, "nonsense", "dnsp_\x00", "dnsp_é"])
def test_no_other_secret_opens(alice: User, secret: str) -> None:
    make(alice)
    with pytest.raises(errors.TokenUnknown):
        tokens.actor_by_secret(secret=secret, address="192.0.2.7", now=NOW)


def test_a_token_ends_by_time_disuse_revocation_and_with_its_owner(alice: User, bob: User) -> None:
    aged, unused, revoked, owned = make(bob), make(bob, unused_days=30), make(bob), make(bob)
    tokens.revoke_token(token=revoked.token, by=alice, now=NOW)

    def opens(new: NewToken, after: timedelta) -> bool:
        try:
            tokens.actor_by_secret(secret=new.secret, address="192.0.2.7", now=NOW + after)
        except errors.TokenDead:
            return False
        return True

    assert opens(aged, timedelta(days=89))
    assert not opens(aged, timedelta(days=90))
    assert opens(unused, timedelta(days=29))
    assert opens(unused, timedelta(days=58))
    assert not opens(unused, timedelta(days=88))
    assert not opens(revoked, timedelta())
    assert opens(owned, timedelta())
    people.deactivate(user=bob, by=None, now=NOW)
    assert not opens(owned, timedelta())


def test_a_token_opens_only_from_its_networks(alice: User) -> None:
    new = make(alice, networks=("192.0.2.0/24", "2001:db8::1"))
    for address in ("192.0.2.200", "2001:db8::1"):
        tokens.actor_by_secret(secret=new.secret, address=address, now=NOW)
    for outside in ("198.51.100.1", "2001:db8::2", None):
        with pytest.raises(errors.TokenElsewhere):
            tokens.actor_by_secret(secret=new.secret, address=outside, now=NOW)


def test_terms_that_make_no_sense_are_refused_at_the_field(alice: User) -> None:
    assert faults(alice, purpose="  ") == {"purpose"}
    assert faults(alice, purpose="x" * 101) == {"purpose"}
    assert faults(alice, networks=("192.0.2.1/24",)) == {"networks"}
    assert faults(alice, expires_at=NOW) == {"expires_at"}
    assert faults(alice, unused_days=0) == {"unused_days"}
    assert faults(alice, requests_per_minute=0) == {"requests_per_minute"}
    assert faults(alice, scope=()) == {"scope"}


def test_a_scope_is_held_to_the_rules_of_grants(alice: User) -> None:
    """Regression test: only the web form checked scopes. An API token with `*a*a…` stopped the gateway."""

    def scope(*names: str) -> Grant:
        return Grant(EVERY_RIGHT, zones=frozenset({5}), names=names)

    assert faults(alice, scope=(scope("*a" * 20),)) == {"scope"}
    assert faults(alice, scope=(scope("www", "a b"),)) == {"scope"}
    assert faults(alice, scope=(Grant(EVERY_RIGHT),)) == {"scope"}
    assert faults(alice, scope=(EVERYWHERE,) * 101) == {"scope"}
    fifty_one = scope(*(f"*{n}" for n in range(51)))
    with pytest.raises(errors.TokenRefused, match="Use at most 100 patterns with an asterisk across all grants"):
        make(alice, scope=(fifty_one, fifty_one))
    with pytest.raises(errors.TokenRefused, match="grant 2, names: A pattern can have at most 8 asterisks"):
        make(alice, scope=(EVERYWHERE, scope("*a" * 20)))
    make(alice, scope=(scope(*(f"host-{n}" for n in range(1000))),))


def test_nobody_gives_what_they_do_not_have(charlie: User) -> None:
    assert faults(charlie) == {"scope"}
    assert faults(charlie, scope=(), permissions=frozenset({Permission.NODES})) == {"scope"}
    make(charlie, scope=(Grant(frozenset({Right.READ}), everywhere=True),))


def test_a_token_makes_only_tokens_that_are_narrower(alice: User) -> None:
    limited = Grant(EVERY_RIGHT, zones=frozenset({5}), names=("_acme*",), types=frozenset({16}))
    parent = tokens.actor_by_secret(secret=make(alice, scope=(limited,)).secret, address=None, now=NOW)

    def child(grant: Grant) -> None:
        tokens.create_token(owner=alice, terms=replace(CI, scope=(grant,)), by=parent, now=NOW)

    child(limited)
    child(replace(limited, rights=frozenset({Right.READ})))
    for wider in (
        EVERYWHERE,
        replace(limited, zones=frozenset({5, 6})),
        replace(limited, names=()),
        replace(limited, types=frozenset({16, 1})),
        replace(limited, tags=frozenset({"x"})),
    ):
        with pytest.raises(errors.TokenRefused):
            child(wider)


def test_rotation_leaves_an_overlap_and_keeps_the_terms(alice: User) -> None:
    old = make(alice, networks=("192.0.2.0/24",), unused_days=30)
    at = NOW + timedelta(days=20)
    old.token.last_used_at = at
    old.token.save()
    new = tokens.rotate_token(token=old.token, by=alice, now=at, overlap=timedelta(hours=2))
    assert (new.token.scope, new.token.networks, new.token.unused_days) == (old.token.scope, ["192.0.2.0/24"], 30)
    assert new.token.expires_at == NOW + tokens.LIFETIME
    for new_or_old in (old, new):
        tokens.actor_by_secret(secret=new_or_old.secret, address="192.0.2.1", now=at + timedelta(hours=1))
    with pytest.raises(errors.TokenDead):
        tokens.actor_by_secret(secret=old.secret, address="192.0.2.1", now=at + timedelta(hours=2))
    with pytest.raises(errors.TokenDead, match="already been rotated"):
        tokens.rotate_token(token=old.token, by=alice, now=at)


def test_rotation_never_lengthens_the_old_ones_life(alice: User) -> None:
    old = make(alice, expires_at=NOW + timedelta(minutes=5))
    tokens.rotate_token(token=old.token, by=alice, now=NOW, overlap=timedelta(days=1))
    old.token.refresh_from_db()
    assert old.token.expires_at == NOW + timedelta(minutes=5)


def test_people_see_their_own_tokens_and_administrators_all(alice: User, bob: User, charlie: User) -> None:
    mine, hers = make(bob), make(alice)
    narrow = tokens.actor_by_secret(secret=mine.secret, address=None, now=NOW)
    seen = {}
    for name, actor in {"bob": actor_of(bob), "alice": actor_of(alice), "charlie": actor_of(charlie)}.items():
        assert actor is not None
        seen[name] = set(tokens.tokens_visible_to(actor))
    assert seen == {"bob": {mine.token}, "alice": {mine.token, hers.token}, "charlie": set()}
    make(bob)
    assert set(tokens.tokens_visible_to(narrow)) == {mine.token}
    with pytest.raises(errors.TokenUnknown):
        tokens.token_for(narrow, hers.token.pk)


def test_a_tsig_key_keeps_its_key_encrypted_and_its_name_to_itself(alice: User) -> None:
    new = tokens.create_tsig_key(owner=alice, name="Router", terms=CI, by=alice, now=NOW)
    assert new.token.tsig_name == "router."
    assert len(tokens.tsig_secret(new.token)) == 32
    assert new.secret.encode() not in bytes(new.token.tsig_secret or b"")
    with pytest.raises(errors.TsigNameTaken):
        tokens.create_tsig_key(owner=alice, name="router.", terms=CI, by=alice, now=NOW)
    tokens.revoke_token(token=new.token, by=alice, now=NOW)
    tokens.revoke_token(token=new.token, by=alice, now=NOW)
    tokens.create_tsig_key(owner=alice, name="router.", terms=CI, by=alice, now=NOW)
    assert AuditEntry.objects.filter(action="token.revoke").count() == 1


@pytest.mark.parametrize(
    ("field", "bad"), [("name", "a..b"), ("algorithm", "hmac-sha0"), ("secret", "not base64!"), ("secret", "====")]
)
def test_a_bad_tsig_key_is_refused_at_the_field(alice: User, field: str, bad: str) -> None:
    facts = {"name": "router.", field: bad}
    with pytest.raises(errors.TokenRefused) as caught:
        tokens.create_tsig_key(owner=alice, terms=CI, by=alice, now=NOW, **facts)  # type: ignore[arg-type]
    assert set(caught.value.fields) == {"key" if field == "secret" else field}


def test_a_member_owns_tokens_as_far_as_the_grants_go(db: None) -> None:
    assert faults(make_person("mia", Role.MEMBER)) == {"scope"}


def test_revoking_a_token_revokes_what_was_made_with_it(alice: User) -> None:
    parent = make(alice)
    actor = tokens.actor_by_secret(secret=parent.secret, address=None, now=NOW)
    child = tokens.create_token(owner=alice, terms=CI, by=actor, now=NOW)
    by_child = tokens.actor_by_secret(secret=child.secret, address=None, now=NOW)
    key = tokens.create_tsig_key(owner=alice, name="router.", terms=CI, by=by_child, now=NOW)
    rotated = tokens.rotate_token(token=parent.token, by=alice, now=NOW)
    other = make(alice)
    tokens.revoke_token(token=parent.token, by=alice, now=NOW)
    assert set(Token.objects.filter(revoked_at=None)) == {other.token}
    for ended in (child, key, rotated):
        ended.token.refresh_from_db()
        assert ended.token.revoked_at == NOW


def test_revoking_what_a_token_became_ends_what_its_earlier_forms_made(alice: User) -> None:
    """Regression test: a token made with a stolen token survived rotation and revocation of the stolen one."""
    first = make(alice)
    by_first = tokens.actor_by_secret(secret=first.secret, address=None, now=NOW)
    theirs = tokens.create_token(owner=alice, terms=CI, by=by_first, now=NOW)
    theirs_rotated = tokens.rotate_token(token=theirs.token, by=alice, now=NOW)
    second = tokens.rotate_token(token=first.token, by=alice, now=NOW)
    third = tokens.rotate_token(token=second.token, by=alice, now=NOW)
    tokens.revoke_token(token=third.token, by=alice, now=NOW)
    assert set(Token.objects.filter(revoked_at=None)) == {first.token, second.token}  # these end with their overlap
    assert AuditEntry.objects.filter(action="token.revoke").count() == 3
    assert tokens.actor_by_secret(secret=first.secret, address=None, now=NOW)
    with pytest.raises(errors.TokenDead):
        tokens.actor_by_secret(secret=theirs_rotated.secret, address=None, now=NOW)


def test_a_rotated_token_keeps_every_term_of_the_first(alice: User) -> None:
    terms = {
        "networks": ("192.0.2.0/24",), "unused_days": 30, "needs_if_match": True, "requests_per_minute": 5,
        "permissions": frozenset({Permission.FLEET}),
    }  # fmt: skip
    first = make(alice, **terms)
    by_first = tokens.actor_by_secret(secret=first.secret, address="192.0.2.1", now=NOW)
    second = tokens.rotate_token(token=first.token, by=by_first, now=NOW)
    by_second = tokens.actor_by_secret(secret=second.secret, address="192.0.2.1", now=NOW)
    third = tokens.rotate_token(token=second.token, by=by_second, now=NOW + timedelta(days=1)).token
    other = {"id", "prefix", "secret_sha256", "created_at", "last_used_at", "last_address", "rotated_to_id"}
    other |= {"allowance_of_id", "allowance"}
    before, after = (Token.objects.values().get(pk=pk) for pk in (first.token.pk, third.pk))
    before["expires_at"] = NOW + tokens.LIFETIME  # the overlap has shortened it
    assert {k: v for k, v in before.items() if k not in other} == {k: v for k, v in after.items() if k not in other}
    assert (after["allowance_of_id"], after["allowance"]) == (first.token.pk, 5)


def test_children_inherit_limits_and_draw_on_the_first_limited_one(alice: User) -> None:
    limited = make(alice, unused_days=30, needs_if_match=True, requests_per_minute=50)
    by_limited = tokens.actor_by_secret(secret=limited.secret, address=None, now=NOW)

    def child(by: object, **terms: object) -> Token:
        made = replace(CI, **terms)  # type: ignore[arg-type]
        return tokens.create_token(owner=alice, terms=made, by=by, now=NOW).token  # type: ignore[arg-type]

    same, less = child(by_limited), child(by_limited, unused_days=3, requests_per_minute=5)
    assert [(t.unused_days, t.needs_if_match, t.requests_per_minute) for t in (same, less)] == [
        (30, True, 50), (3, True, 5),
    ]  # fmt: skip
    assert {(t.allowance_of_id, t.allowance) for t in (same, less)} == {(limited.token.pk, 50)}
    for wider in ({"unused_days": 31}, {"requests_per_minute": 51}):
        with pytest.raises(errors.TokenRefused) as refused:
            child(by_limited, **wider)
        assert set(refused.value.fields) == set(wider)
    with pytest.raises(errors.TokenRefused, match="DNS UPDATE"):
        tokens.create_tsig_key(owner=alice, name="k.", terms=CI, by=by_limited, now=NOW)
    free = make(alice)
    by_free = tokens.actor_by_secret(secret=free.secret, address=None, now=NOW)
    assert child(by_free).allowance_of_id is None
    with pytest.raises(errors.TokenRefused, match="that has more rights than your own"):
        tokens.rotate_token(token=free.token, by=by_limited, now=NOW)


def test_a_token_that_is_revoked_meanwhile_makes_nothing_more(alice: User) -> None:
    """The request was accepted before the revocation. A token that it created would outlive the revocation."""
    parent = make(alice)
    late = tokens.actor_by_secret(secret=parent.secret, address=None, now=NOW)
    tokens.revoke_token(token=parent.token, by=alice, now=NOW)
    for act in (
        lambda: tokens.create_token(owner=alice, terms=CI, by=late, now=NOW),
        lambda: tokens.create_tsig_key(owner=alice, name="k.", terms=CI, by=late, now=NOW),
        lambda: tokens.rotate_token(token=parent.token, by=late, now=NOW),
    ):
        with pytest.raises(errors.TokenDead):
            act()
    assert Token.objects.count() == 1


def test_nobody_rotates_the_token_of_another_person(alice: User, bob: User) -> None:
    hers = make(bob)
    with pytest.raises(errors.NotYours):
        tokens.rotate_token(token=hers.token, by=alice, now=NOW)
    hers.token.refresh_from_db()
    assert hers.token.rotated_to is None
