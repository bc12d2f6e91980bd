"""Tests of sign-in at a real provider: `oidc.oidc_adapter`, `providers.admit`, `providers.links`, `account.oidc`."""

import time
from typing import Any
from urllib.parse import parse_qs, urlsplit, urlunsplit

import pytest
from django.test import Client
from django.utils import timezone

from dnspanel.accounts.models import AuditEntry, Membership, OwnRole, ProviderLink, Role, Team, User
from dnspanel.accounts.people.people import deactivate, reactivate
from dnspanel.accounts.providers.links import unlink
from dnspanel.accounts.providers.oidc import oidc_discovery
from dnspanel.accounts.providers.provider_identity import Rule
from dnspanel.accounts.providers.rows import delete_provider, switch_provider
from dnspanel.accounts.secrets.vault import encrypt_secret
from tests.dnspanel.accounts.providers.conftest import answer_url
from tests.dnspanel.accounts.providers.oidc.provider import (
    AtProvider,
    Somebody,
    added,
    back,
    begun,
    comes,
    is_signed_in,
)
from tests.people import NOW, make_person
from tests.second_factors import set_up

ADMINS, WEB = Rule("admins", Role.ADMINISTRATOR), Rule("web", Role.READER)
EVE = Somebody("eve", "eve@people.test", Groups=["web"])


def refusals() -> list[Any]:
    return list(
        AuditEntry.objects.filter(action="oidc.refused").order_by("pk").values_list("details__reason", flat=True)
    )


def changed(url: str, **query: str) -> str:
    parts = urlsplit(url)
    named = {name: values[0] for name, values in parse_qs(parts.query).items()} | query
    return urlunsplit(parts._replace(query="&".join(f"{name}={value}" for name, value in named.items())))


def test_the_first_sign_in_makes_an_account_with_the_roles_of_its_groups(idp: AtProvider, client: Client) -> None:
    team = Team.objects.create(name="Web ops", created_at=NOW)
    added(idp, makes_people=True, rules=(WEB, Rule("web", Role.EDITOR, team.pk)), mail_domains=("people.test",))
    idp.users(e1=EVE)
    answer = comes(client, idp, "eve", next="/account/quotas/")
    assert answer["Location"] == "/account/quotas/"
    assert is_signed_in(client)
    eve = User.objects.get(username="eve")
    assert (eve.email, eve.role, eve.has_usable_password()) == ("eve@people.test", Role.READER, False)
    assert Membership.objects.get(user=eve).role == Role.EDITOR
    acts = set(AuditEntry.objects.values_list("action", flat=True))
    assert {"person.join", "oidc.link", "person.role", "team.add", "oidc.sign-in", "sign-in"} <= acts


def test_the_question_has_state_nonce_and_a_challenge(idp: AtProvider, client: Client) -> None:
    added(idp)
    query = parse_qs(urlsplit(begun(client)).query)
    assert query["code_challenge_method"] == ["S256"]
    assert query["redirect_uri"] == [answer_url("one")]
    again = parse_qs(urlsplit(begun(client)).query)
    assert all(query[name] != again[name] for name in ("state", "nonce", "code_challenge"))


def test_whom_nobody_linked_stays_out(idp: AtProvider, client: Client) -> None:
    added(idp)
    idp.users(e1=EVE)
    refused = comes(client, idp, "eve")
    assert refused.status_code == 403
    assert f"Request ID: <code>{refused['X-Request-ID']}</code>" in refused.content.decode()
    assert not is_signed_in(client)
    assert not User.objects.exists()
    assert refusals() == ["unknown"]


@pytest.mark.parametrize("links_by_mail", [False, True])
def test_an_unverified_mail_opens_and_makes_nothing(
    idp: AtProvider, client: Client, alice: User, links_by_mail: bool
) -> None:
    added(idp, makes_people=True, links_by_mail=links_by_mail, mail_domains=("people.test",))
    idp.users(
        e1=Somebody("eve", alice.email, EmailVerified=False), e2=Somebody("eva", "eva@people.test", EmailVerified=False)
    )
    for name in ("eve", "eva"):
        assert comes(client, idp, name).status_code == 403
    assert not is_signed_in(client)
    assert list(User.objects.all()) == [alice]
    assert refusals() == ["unverified-mail", "unverified-mail"]


def test_a_verified_mail_opens_its_account_only_where_the_provider_may(
    idp: AtProvider, client: Client, alice: User
) -> None:
    provider = added(idp, makes_people=True, mail_domains=("people.test",))
    idp.users(a1=Somebody("al", alice.email.upper()))
    assert comes(client, idp, "al").status_code == 403
    assert refusals() == ["mail-taken"]
    provider.links_by_mail = True
    provider.save()
    comes(client, idp, "al")
    assert client.get("/zones/").context["user"] == alice
    # From then on, only the subject counts: a later owner of the address is a different person.
    idp.users(a2=Somebody("al", alice.email))
    assert comes(Client(), idp, "al").status_code == 403


@pytest.mark.parametrize("mail", ["al\u0131ce@people.test", "alice@people.te\u017ft", "alice@\u212apeople.test"])
def test_a_letter_that_postgresql_folds_opens_no_account(idp: AtProvider, client: Client, mail: str) -> None:
    """As in CVE-2019-19844, an address with a dotless i would match the administrator's address."""
    make_person("alice", Role.ADMINISTRATOR)
    added(idp, links_by_mail=True)
    idp.users(a1=Somebody("al", mail))
    assert comes(client, idp, "al").status_code == 403
    assert not is_signed_in(client)
    assert not ProviderLink.objects.exists()


def test_an_account_whose_spelling_another_has_is_not_opened_by_mail(idp: AtProvider, client: Client) -> None:
    alice = make_person("alice", Role.ADMINISTRATOR)
    User.objects.filter(pk=alice.pk).update(email="Alice@people.test", mail_key=None)
    added(idp, links_by_mail=True, makes_people=True, mail_domains=("people.test",))
    idp.users(a1=Somebody("al", "alice@people.test"), a2=Somebody("al2", "Alice@people.test"))
    for name in ("al", "al2"):
        assert comes(client, idp, name).status_code == 403
    assert list(User.objects.all()) == [alice]
    assert refusals() == ["mail-taken", "mail-taken"]


def test_another_domain_is_not_let_in(idp: AtProvider, client: Client) -> None:
    added(idp, makes_people=True, mail_domains=("people.test",))
    idp.users(e1=Somebody("eve", "eve@people.test.evil.test"))
    assert comes(client, idp, "eve").status_code == 403
    assert refusals() == ["domain"]


def test_who_is_in_none_of_the_groups_gets_no_account(idp: AtProvider, client: Client) -> None:
    added(idp, makes_people=True, rules=(WEB,))
    idp.users(e1=Somebody("eve", "eve@people.test", Groups=["other"]))
    assert comes(client, idp, "eve").status_code == 403
    assert refusals() == ["no-group"]


def test_a_group_removed_at_the_provider_takes_what_it_gave(idp: AtProvider, client: Client, alice: User) -> None:
    web, mail = (Team.objects.create(name=name, created_at=NOW) for name in ("Web ops", "Mail"))
    rules = (ADMINS, WEB, Rule("web", Role.EDITOR, web.pk), Rule("web", Role.EDITOR, mail.pk))
    provider = added(idp, makes_people=True, rules=rules)
    idp.users(e1=Somebody("eve", "eve@people.test", Groups=["admins", "web"]))
    comes(client, idp, "eve")
    eve = User.objects.get(username="eve")
    assert eve.role == Role.ADMINISTRATOR
    # The provider doesn't report changes during a session, so the session ends after the provider's hours.
    idp.users(e1=Somebody("eve", "eve@people.test"))
    session = client.session
    assert 0 < session["session-ends"] - time.time() <= provider.session_hours * 3600
    assert is_signed_in(client)
    session["session-ends"] = int(time.time())
    session.save()
    before = AuditEntry.objects.latest("pk").pk
    assert not is_signed_in(client)
    comes(client, idp, "eve")
    eve.refresh_from_db()
    assert eve.role == Role.MEMBER
    assert not Membership.objects.filter(user=eve).exists()
    taken = AuditEntry.objects.filter(pk__gt=before).order_by("pk").values_list("action", "target", "details__before")
    assert taken[0] == ("sign-out", "eve", None)
    of_teams = {("team.remove", name, None) for name in ("Web ops", "Mail")}
    assert {("person.role", "eve", "administrator"), *of_teams} <= {*taken}


def test_a_role_given_by_hand_does_not_outlive_a_sign_in(idp: AtProvider, client: Client, alice: User) -> None:
    added(idp, makes_people=True, rules=(WEB,))
    idp.users(e1=EVE)
    comes(client, idp, "eve")
    User.objects.filter(username="eve").update(role=Role.ADMINISTRATOR)
    comes(client, idp, "eve")
    assert User.objects.get(username="eve").role == Role.READER


def test_an_own_role_comes_and_goes_with_its_group(idp: AtProvider, client: Client, alice: User) -> None:
    auditor, other = (OwnRole.objects.create(name=name, created_at=NOW) for name in ("Auditor", "Other"))
    added(idp, makes_people=True, rules=(Rule("audit", Role.MEMBER, own_role=auditor.pk), WEB))
    idp.users(e1=Somebody("eve", "eve@people.test", Groups=["audit"]))
    comes(client, idp, "eve")
    eve = User.objects.get(username="eve")
    assert (eve.role, eve.own_role) == (Role.MEMBER, auditor)
    User.objects.filter(pk=eve.pk).update(own_role=other)  # set by hand, until the next sign-in
    comes(client, idp, "eve")
    eve.refresh_from_db()
    assert eve.own_role == auditor
    idp.users(e1=EVE)
    comes(client, idp, "eve")
    eve.refresh_from_db()
    assert (eve.role, eve.own_role) == (Role.READER, None)


def test_what_somebody_was_in_a_team_before_comes_back(idp: AtProvider, client: Client) -> None:
    web = Team.objects.create(name="Web ops", created_at=NOW)
    provider = added(idp, links_by_mail=True, rules=(Rule("web", Role.EDITOR, web.pk),))
    eve = make_person("eve", Role.READER)
    Membership.objects.create(team=web, user=eve, role=Role.READER)
    idp.users(e1=EVE)
    comes(client, idp, "eve")
    assert Membership.objects.get(user=eve).role == Role.EDITOR
    unlink(link=ProviderLink.objects.get(), by=None, now=NOW)
    assert Membership.objects.get(user=eve).role == Role.READER
    assert not is_signed_in(client)
    comes(client, idp, "eve")
    delete_provider(provider=provider, by=None, now=NOW)
    assert Membership.objects.get(user=eve).role == Role.READER
    eve.refresh_from_db()
    assert eve.role == Role.READER


def test_the_last_administrator_stays_one(idp: AtProvider, client: Client, alice: User) -> None:
    added(idp, links_by_mail=True, rules=(ADMINS,))
    idp.users(a1=Somebody("al", alice.email))
    comes(client, idp, "al")
    alice.refresh_from_db()
    assert alice.role == Role.ADMINISTRATOR
    assert AuditEntry.objects.get(action="oidc.kept").target == "alice"
    make_person("zoe", Role.ADMINISTRATOR)
    comes(client, idp, "al")
    alice.refresh_from_db()
    assert alice.role == Role.MEMBER


def test_an_answer_is_good_once_and_in_its_own_browser(idp: AtProvider, client: Client) -> None:
    added(idp, makes_people=True, rules=(WEB,))
    idp.users(e1=EVE)
    url = idp.sign_in(begun(client), "eve")
    assert back(Client(), url).status_code == 403  # a victim who follows an attacker's link
    assert back(client, changed(url, state="forged")).status_code == 403
    assert back(client, url).status_code == 302
    client.post("/sign-out/")
    assert back(client, url).status_code == 403
    assert not is_signed_in(client)
    assert refusals() == ["state"] * 3


def test_a_code_of_somebody_elses_question_is_refused(idp: AtProvider, client: Client) -> None:
    added(idp, makes_people=True, rules=(WEB,))
    idp.users(e1=EVE)
    mine, stolen = begun(client), idp.sign_in(begun(Client()), "eve")
    code, state = (parse_qs(urlsplit(url).query) for url in (stolen, mine))
    assert back(client, changed(stolen, code=code["code"][0], state=state["state"][0])).status_code == 403
    assert refusals() == ["code"]  # the provider compares it with the challenge


def test_a_token_that_answers_another_question_is_refused(idp: AtProvider, client: Client) -> None:
    added(idp, makes_people=True, rules=(WEB,))
    idp.users(e1=EVE)
    url = idp.sign_in(changed(begun(client), nonce="another"), "eve")
    assert back(client, url).status_code == 403
    assert refusals() == ["nonce"]


def test_an_answer_that_names_another_issuer_is_refused(idp: AtProvider, client: Client) -> None:
    added(idp, makes_people=True, rules=(WEB,))
    idp.users(e1=EVE)
    url = idp.sign_in(begun(client), "eve")
    assert back(client, f"{url}&iss=https%3A%2F%2Fevil.test").status_code == 403
    assert refusals() == ["issuer"]


def test_a_wrong_secret_signs_nobody_in(idp: AtProvider, client: Client) -> None:
    provider = added(idp, makes_people=True, rules=(WEB,))
    provider.client_secret = encrypt_secret(b"wrong")
    provider.save()
    idp.users(e1=EVE)
    assert comes(client, idp, "eve").status_code == 403
    assert refusals() == ["code"]


def test_one_subject_at_two_providers_is_two_people(
    idp: AtProvider, second_running_provider: AtProvider, client: Client
) -> None:
    added(idp, "one", makes_people=True, rules=(WEB,))
    added(second_running_provider, "two", makes_people=True, rules=(WEB,))
    idp.users(same=EVE)
    second_running_provider.users(same=Somebody("eve", "eve@others.test", Groups=["web"]))
    comes(client, idp, "eve", "one")
    comes(client, second_running_provider, "eve", "two")
    assert client.get("/zones/").context["user"].username == "eve-2"
    # An answer of one provider doesn't count for the other, although one session waits for both.
    url = idp.sign_in(begun(client, "one"), "eve")
    begun(client, "two")
    assert back(client, url.replace("/by/one/", "/by/two/")).status_code == 403


def test_a_deactivated_person_stays_out(idp: AtProvider, client: Client, alice: User) -> None:
    added(idp, makes_people=True, links_by_mail=True, rules=(WEB,))
    idp.users(e1=EVE)
    comes(client, idp, "eve")
    eve = User.objects.get(username="eve")
    deactivate(user=eve, by=alice, now=NOW)
    assert not is_signed_in(client)
    assert comes(client, idp, "eve").status_code == 403
    idp.users(e2=EVE)  # nor by a new subject with the old address
    assert comes(client, idp, "eve").status_code == 403
    assert refusals() == ["closed", "closed"]
    idp.users(e1=EVE)
    reactivate(user=eve, by=alice, now=NOW)
    answer = comes(client, idp, "eve")
    assert answer.status_code == 302, refusals()


def test_a_second_factor_is_wanted_after_the_provider_too(idp: AtProvider, client: Client, bob: User) -> None:
    now = timezone.now()
    app, _ = set_up(bob, now)
    added(idp, links_by_mail=True)
    idp.users(b1=Somebody("bobby", bob.email))
    assert comes(client, idp, "bobby")["Location"] == "/sign-in/second-factor/"
    assert not is_signed_in(client)
    client.post("/sign-in/second-factor/", {"code": app.code(now)})
    assert client.get("/zones/").context["user"] == bob
    assert "session-ends" in client.session


def test_a_provider_that_is_switched_off_ends_sessions_and_answers(idp: AtProvider, client: Client) -> None:
    provider = added(idp, makes_people=True, rules=(WEB,))
    idp.users(e1=EVE)
    comes(client, idp, "eve")
    url = idp.sign_in(begun(client), "eve")
    switch_provider(provider=provider, active=False, by=None, now=timezone.now())
    assert not is_signed_in(client)
    assert back(client, url).status_code == 404
    assert client.post("/sign-in/by/one/").status_code == 404
    assert b"Sign in with" not in client.get("/sign-in/").content


def test_who_says_no_there_is_not_signed_in(idp: AtProvider, client: Client) -> None:
    added(idp)
    state = parse_qs(urlsplit(begun(client)).query)["state"][0]
    answer = client.get(f"/sign-in/by/one/answer/?error=access_denied&state={state}")
    assert answer.status_code == 403
    assert refusals() == ["cancelled"]


def test_a_provider_that_is_away_is_told_about(idp: AtProvider, client: Client, settings: Any) -> None:
    added(idp)
    oidc_discovery.forget()
    settings.OIDC_NETWORKS = []
    page = client.post("/sign-in/by/one/")
    assert page.status_code == 502
    assert b"is not a public address" in page.content
    assert refusals() == ["away"]


def test_an_account_is_linked_from_its_own_session_alone(
    idp: AtProvider, client: Client, alice: User, bob: User
) -> None:
    provider = added(idp, rules=(ADMINS,))
    idp.users(b1=Somebody("bobby", "unknown@elsewhere.test", EmailVerified=False))
    client.force_login(bob, backend="django.contrib.auth.backends.ModelBackend")
    link = f"/account/providers/{provider.pk}/link/"
    url = idp.sign_in(str(client.post(link).context["url"]), "bobby")
    # Alice signs in with the same browser before the answer comes. The answer isn't about her account.
    cookies = dict(client.session.items())
    client.force_login(alice, backend="django.contrib.auth.backends.ModelBackend")
    session = client.session
    session["socialaccount_states"] = cookies["socialaccount_states"]
    session.save()
    assert back(client, url).status_code == 403
    assert refusals() == ["other-session"]
    client.force_login(bob, backend="django.contrib.auth.backends.ModelBackend")
    assert (
        back(client, idp.sign_in(str(client.post(link).context["url"]), "bobby"))["Location"] == "/account/providers/"
    )
    client.post("/sign-out/")
    comes(client, idp, "bobby")
    assert client.get("/zones/").context["user"] == bob
    bob.refresh_from_db()
    assert bob.role == Role.MEMBER  # the rules apply, and give him nothing
    client.force_login(alice, backend="django.contrib.auth.backends.ModelBackend")
    assert back(client, idp.sign_in(str(client.post(link).context["url"]), "bobby")).status_code == 403
    assert refusals()[-1] == "linked-to-another"


def test_nobody_goes_and_comes_all_the_time(idp: AtProvider, client: Client, settings: Any) -> None:
    settings.ACCOUNT_RATE_LIMITS = settings.ACCOUNT_RATE_LIMITS | {"oidc": "4/m/ip"}
    added(idp)
    assert [client.post("/sign-in/by/one/").status_code for _ in range(2)] == [200, 200]
    assert [client.get("/sign-in/by/one/answer/").status_code for _ in range(4)] == [403, 403, 429, 429]
    assert client.post("/sign-in/by/one/").status_code == 429
    assert refusals() == ["state", "state"]  # one entry per attempt


def test_nobody_is_led_to_another_site_afterwards(idp: AtProvider, client: Client) -> None:
    added(idp, makes_people=True, rules=(WEB,))
    idp.users(e1=EVE)
    assert comes(client, idp, "eve", next="https://evil.test/")["Location"] == "/"
