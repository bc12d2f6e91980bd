"""Tests of app codes and recovery codes: each works once, and the count of wrong codes is kept safely."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier

import pytest
from allauth.mfa.models import Authenticator
from django.contrib.sessions.backends.signed_cookies import SessionStore
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.db import connection

from dnspanel.accounts.actors.actors import Grant, Permission, Right, actor_of_token
from dnspanel.accounts.errors import (
    AboveYou,
    CodeUsed,
    CodeWrong,
    OpensMore,
    SecondFactorMissing,
    SecondFactorRefused,
    SecondFactorSetUp,
    TooManyCodes,
)
from dnspanel.accounts.models import AuditEntry, Role, User
from dnspanel.accounts.sign_in import second_factor
from dnspanel.accounts.sign_in.second_factor import second_factors_of, use_code
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import create_token
from tests.people import NOW, make_person
from tests.second_factors import STEP, App, set_up

PLACE = "192.0.2.7"


def acts(action: str = "second-factor.") -> list[str]:
    found = AuditEntry.objects.filter(action__startswith=action).order_by("pk")
    return [name.removeprefix("second-factor.") for name in found.values_list("action", flat=True)]


def use(user: User, code: str, at: float = 0, address: str = PLACE) -> str:
    """Use the code `at` seconds after NOW. Return the type of factor that it matched."""
    return str(use_code(user=user, code=code, address=address, now=NOW + timedelta(seconds=at)).type)


def test_setting_up_needs_a_code_of_the_secret_and_gives_recovery_codes(bob: User) -> None:
    session = SessionStore()
    app = App(second_factor.begin_set_up(session))
    assert app.secret not in str(dict(session.items()))
    with pytest.raises(CodeWrong):
        second_factor.set_up_app(user=bob, session=session, code=app.wrong_code(NOW), now=NOW)
    assert not second_factors_of(bob)
    codes = second_factor.set_up_app(user=bob, session=session, code=app.code(NOW), now=NOW)
    assert len(set(codes)) == 10
    assert second_factors_of(bob)
    assert second_factors_of(bob).codes_left == 10
    assert not session.keys()
    with pytest.raises(CodeWrong):
        second_factor.set_up_app(user=bob, session=session, code=app.code(NOW), now=NOW)
    second_factor.begin_set_up(session)
    again = App(second_factor.secret_being_set_up(session))
    with pytest.raises(SecondFactorSetUp):
        second_factor.set_up_app(user=bob, session=session, code=again.code(NOW), now=NOW)
    assert acts() == ["set-up"]


def test_whoever_has_only_the_database_has_no_secret(bob: User) -> None:
    app, codes = set_up(bob, NOW)
    with connection.cursor() as cursor:
        cursor.execute("SELECT data::text FROM mfa_authenticator")
        stored = " ".join(row[0] for row in cursor.fetchall())
    assert app.secret not in stored
    assert not any(code in stored for code in codes)


def test_a_code_is_taken_once_whatever_became_of_the_cache(bob: User) -> None:
    app, _ = set_up(bob, NOW)
    assert use(bob, app.code(NOW)) == "totp"
    cache.clear()
    with pytest.raises(CodeUsed):
        use(bob, app.code(NOW))
    with pytest.raises(CodeUsed):
        use(bob, app.code(NOW, -1))  # watched by someone, and kept for later
    assert use(bob, app.code(NOW, 1), at=STEP) == "totp"
    assert acts() == ["set-up", "replayed", "replayed"]


def test_the_code_that_set_the_app_up_signs_nobody_in(bob: User) -> None:
    session = SessionStore()
    app = App(second_factor.begin_set_up(session))
    second_factor.set_up_app(user=bob, session=session, code=app.code(NOW), now=NOW)
    with pytest.raises(CodeUsed):
        use(bob, app.code(NOW))


@pytest.mark.parametrize(("steps", "is_right"), [(-2, False), (-1, True), (0, True), (1, True), (2, False)])
def test_clocks_may_differ_by_one_step(bob: User, steps: int, is_right: bool) -> None:
    app, _ = set_up(bob, NOW)
    if is_right:
        assert use(bob, app.code(NOW, steps)) == "totp"
    else:
        with pytest.raises(CodeWrong):
            use(bob, app.code(NOW, steps))


@pytest.mark.parametrize(
    "code", ["", "123", "\0", "\u0661" * 6, "x" * 5000], ids=["none", "short", "null", "arabic", "long"]
)
def test_what_is_no_code_opens_nothing(bob: User, code: str) -> None:
    set_up(bob, NOW)
    with pytest.raises(CodeWrong):
        use(bob, code)


def test_a_recovery_code_works_once_and_is_written_down(bob: User) -> None:
    _, codes = set_up(bob, NOW)
    assert use(bob, f" {codes[3][:4]}-{codes[3][4:]} ") == "recovery_codes"
    with pytest.raises(CodeWrong):
        use(bob, codes[3])
    assert use(bob, codes[4]) == "recovery_codes"
    left = AuditEntry.objects.filter(action="second-factor.recovery").order_by("pk").values_list("details", flat=True)
    assert [details["left"] for details in left] == [9, 8]


def test_new_recovery_codes_end_the_old_ones(bob: User) -> None:
    with pytest.raises(SecondFactorMissing):
        second_factor.make_recovery_codes(user=bob, now=NOW)
    _, old = set_up(bob, NOW)
    new = second_factor.make_recovery_codes(user=bob, now=NOW)
    assert not {*old} & {*new}
    with pytest.raises(CodeWrong):
        use(bob, old[0])
    assert use(bob, new[0]) == "recovery_codes"
    assert acts() == ["set-up", "codes", "failed", "recovery"]


def test_the_codes_of_one_person_are_nothing_to_another(alice: User, bob: User) -> None:
    app, codes = set_up(alice, NOW)
    set_up(bob, NOW)
    for code in (app.code(NOW), codes[0]):
        with pytest.raises(CodeWrong):
            use(bob, code)
    assert use(alice, codes[0]) == "recovery_codes"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("kind", ["totp", "recovery_codes"])
def test_of_two_sign_ins_with_one_code_at_once_one_is_refused(kind: str) -> None:
    for turn in range(5):
        bob = make_person(f"bob{turn}", Role.EDITOR)
        app, codes = set_up(bob, NOW)
        code = app.code(NOW) if kind == "totp" else codes[0]
        barrier = Barrier(2, timeout=10)

        def run(number: int, bob: User = bob, code: str = code, barrier: Barrier = barrier) -> bool:
            try:
                barrier.wait()
                use(bob, code, address=f"192.0.2.{number}")
            except SecondFactorRefused:
                return False
            finally:
                connection.close()
            return True

        with ThreadPoolExecutor(2) as pool:
            assert sorted(pool.map(run, range(2))) == [False, True]


def test_after_too_many_wrong_codes_not_even_a_right_one_is_taken(bob: User) -> None:
    """Neither an empty cache, nor a new sign-in, nor an earlier right code allows more attempts."""
    app, codes = set_up(bob, NOW)
    assert use(bob, app.code(NOW)) == "totp"
    for _ in range(5):
        cache.clear()
        with pytest.raises(CodeWrong):
            use(bob, app.wrong_code(NOW))
    later = STEP * 2
    for code in (app.code(NOW, 2), codes[0]):
        with pytest.raises(TooManyCodes):
            use(bob, code, at=later, address="203.0.113.9")
    assert acts() == ["set-up", *["failed"] * 5, "locked", "locked"]
    assert use(bob, app.code(NOW, 10), at=STEP * 10) == "totp"
    for turn in range(1, 4):  # five more attempts after five minutes, and so on, but not all day
        for number in range(5):
            with pytest.raises(CodeWrong):
                use(bob, app.wrong_code(NOW), at=400 * turn, address=f"203.0.113.{number}")
    with pytest.raises(TooManyCodes):
        use(bob, app.code(NOW, 100), at=STEP * 100)
    assert use(bob, app.code(NOW, 2900), at=STEP * 2900) == "totp"


def test_wrong_codes_from_elsewhere_do_not_keep_the_owner_out(bob: User) -> None:
    AuditEntry.objects.create(at=NOW - timedelta(days=1), user=bob, address=PLACE, action="sign-in", target="bob")
    app, _ = set_up(bob, NOW)
    for number in range(5):
        with pytest.raises(CodeWrong):
            use(bob, app.wrong_code(NOW), address=f"203.0.113.{number}")
    with pytest.raises(TooManyCodes):
        use(bob, app.code(NOW), address="203.0.113.9")
    assert use(bob, app.code(NOW)) == "totp"


def test_turning_the_app_off_ends_the_recovery_codes_too(bob: User) -> None:
    app, codes = set_up(bob, NOW)
    for _ in range(2):
        second_factor.remove_app(user=bob, now=NOW)
    assert not Authenticator.objects.exists()
    for code in (app.code(NOW), codes[0]):
        with pytest.raises(CodeWrong):
            use(bob, code)
    assert acts() == ["set-up", "remove"]


def test_a_reset_ends_second_factors_and_sessions_and_is_written_down(alice: User, bob: User) -> None:
    set_up(bob, NOW)
    hashed = bob.get_session_auth_hash()
    for _ in range(2):
        second_factor.reset_second_factor(user=bob, by=alice, now=NOW)
    bob.refresh_from_db()
    assert not second_factors_of(bob)
    assert bob.get_session_auth_hash() != hashed
    entry = AuditEntry.objects.get(action="second-factor.reset")
    assert (entry.user, entry.target, entry.details) == (alice, "bob", {"kinds": ["recovery_codes", "totp"]})


def test_a_token_resets_nobody_at_or_above_its_owner(alice: User, bob: User) -> None:
    other = make_person("otto", Role.ADMINISTRATOR)
    terms = TokenTerms("people", (Grant(frozenset({Right.READ}), everywhere=True),), frozenset({Permission.PEOPLE}))
    token = create_token(owner=alice, terms=terms, by=alice, now=NOW).token
    for person in (other, alice, bob):
        set_up(person, NOW)
    by = actor_of_token(token)
    for person in (other, alice):
        with pytest.raises(AboveYou):
            second_factor.reset_second_factor(user=person, by=by, now=NOW)
        assert second_factors_of(person)
    with pytest.raises(OpensMore):  # a lower role, but with rights that the token lacks
        second_factor.reset_second_factor(user=bob, by=by, now=NOW)
    assert second_factors_of(bob)


def test_the_console_resets_it_for_who_has_nobody_to_ask(alice: User, capsys: pytest.CaptureFixture[str]) -> None:
    set_up(alice, NOW)
    call_command("reset_second_factor", "ALICE")
    assert "alice now signs in with only the password" in capsys.readouterr().out
    assert not second_factors_of(alice)
    with pytest.raises(CommandError, match="no account nobody"):
        call_command("reset_second_factor", "nobody")
