"""Tests of sign-in at a real SAML provider: a response works once, in its own browser, and forged ones never.

Tests `saml.answer`, `saml.question`, `account.saml` and `providers.sign_in`.
"""

from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client
from django.utils import timezone
from lxml import etree

from dnspanel.accounts.models import AuditEntry, Membership, ProviderLink, Role, SeenAssertion, Team, User
from dnspanel.accounts.providers.provider_identity import Rule
from dnspanel.accounts.providers.rows import switch_provider
from tests.dnspanel.accounts.providers.saml.provider import (
    AtSaml,
    Member,
    begun_saml,
    comes_by_saml,
    encoded_of,
    ends,
    posted,
    saml_added,
    xml_of,
)
from tests.people import NOW
from tests.second_factors import set_up

WEB, ADMINS = Rule("web", Role.READER), Rule("admins", Role.ADMINISTRATOR)
EVE = Member("e1", "eve@people.test", ["web"])
NAMES = {
    "p": "urn:oasis:names:tc:SAML:2.0:protocol",
    "a": "urn:oasis:names:tc:SAML:2.0:assertion",
    "s": "http://www.w3.org/2000/09/xmldsig#",
}


def is_signed_in(client: Client) -> bool:
    return client.get("/zones/").status_code == 200


def refusals() -> list[Any]:
    found = AuditEntry.objects.filter(action="saml.refused").order_by("pk")
    return list(found.values_list("details__reason", flat=True))


def test_the_first_sign_in_makes_an_account_with_the_roles_of_its_groups(saml_idp: AtSaml, client: Client) -> None:
    team = Team.objects.create(name="Web ops", created_at=NOW)
    rules = (WEB, Rule("web", Role.EDITOR, team.pk))
    saml_added(saml_idp, makes_people=True, rules=rules, mail_domains=("people.test",))
    saml_idp.users(eve=EVE)
    answer = comes_by_saml(client, saml_idp, "eve", next="/account/quotas/")
    assert answer["Location"] == "/account/quotas/"
    assert is_signed_in(client)
    eve = User.objects.get()
    assert (eve.username, eve.email, eve.role) == ("eve", "eve@people.test", Role.READER)
    assert (eve.first_name, eve.has_usable_password()) == ("Eve", False)
    assert Membership.objects.get(user=eve).role == Role.EDITOR
    assert ProviderLink.objects.get().subject == "e1"
    assert "session-ends" in client.session
    acts = set(AuditEntry.objects.values_list("action", flat=True))
    assert {"saml.create", "person.join", "saml.link", "person.role", "team.add", "saml.sign-in", "sign-in"} <= acts
    assert SeenAssertion.objects.get().said is None


@pytest.mark.parametrize(
    ("flaw", "reason"),
    [
        ("unsigned", "unsigned"),
        ("audience", "audience"),
        ("no-audience", "audience"),
        ("recipient", "confirmation"),
        ("no-recipient", "confirmation"),
        ("expired", "time"),
        ("unasked", "confirmation"),
        ("other-question", "confirmation"),
        ("issuer", "issuer"),
    ],
)
def test_a_flaw_of_the_assertion_is_refused(saml_idp: AtSaml, client: Client, flaw: str, reason: str) -> None:
    saml_added(saml_idp, makes_people=True, rules=(WEB,))
    saml_idp.users(eve=EVE)
    assert comes_by_saml(client, saml_idp, "eve", flaw).status_code == 403
    assert refusals() == [reason]
    assert not is_signed_in(client)
    assert not User.objects.exists()
    assert not SeenAssertion.objects.exists()


def forged(kind: str, encoded: str) -> str:
    """Return the response with an unsigned assertion about another person. `kind` tells where it is inserted."""
    response = etree.fromstring(xml_of(encoded).encode())
    signed = response.find("a:Assertion", NAMES)
    assert signed is not None
    evil = etree.fromstring(etree.tostring(signed))
    signature = evil.find("s:Signature", NAMES)
    assert signature is not None
    name_id = evil.find("a:Subject/a:NameID", NAMES)
    assert name_id is not None
    name_id.text = "a1"
    if kind == "changed":
        response.replace(signed, evil)
        return encoded_of(etree.tostring(response).decode())
    evil.remove(signature)
    if kind == "same-id-before":
        signed.addprevious(evil)
    elif kind == "other-id-before":
        evil.set("ID", "evil")
        signed.addprevious(evil)
    elif kind == "other-id-after":
        evil.set("ID", "evil")
        signed.addnext(evil)
    elif kind == "in-extensions":
        evil.set("ID", "evil")
        response.replace(signed, evil)
        extensions = etree.Element(f"{{{NAMES['p']}}}Extensions")
        extensions.append(signed)
        issuer = response.find("a:Issuer", NAMES)
        assert issuer is not None
        issuer.addnext(extensions)
    elif kind == "in-its-signature":
        evil.set("ID", "evil")
        response.replace(signed, evil)
        moved = signed.find("s:Signature", NAMES)
        assert moved is not None
        evil.insert(1, moved)
        wrapper = etree.SubElement(moved, f"{{{NAMES['s']}}}Object")
        wrapper.append(signed)
    elif kind == "around":
        evil.set("ID", "evil")
        response.replace(signed, evil)
        evil.append(signed)
    elif kind == "no-signature":
        response.replace(signed, evil)
    for each in response.findall("s:Signature", NAMES):
        response.remove(each)
    return encoded_of(etree.tostring(response).decode())


WRAPPED = ["same-id-before", "other-id-before", "other-id-after", "in-extensions", "in-its-signature", "around"]


@pytest.mark.parametrize("kind", [*WRAPPED, "changed", "no-signature"])
def test_a_wrapped_signature_signs_nobody_in(saml_idp: AtSaml, client: Client, alice: User, kind: str) -> None:
    provider = saml_added(saml_idp, makes_people=True, rules=(WEB,))
    ProviderLink.objects.create(provider=provider, user=alice, subject="a1", linked_at=NOW)
    saml_idp.users(eve=EVE)
    good = saml_idp.sign_in(begun_saml(client), "eve")
    answer = ends(client, forged(kind, good))
    assert answer.status_code == 403, answer.headers
    assert not is_signed_in(client)
    assert refusals()[0] in {"signature", "unsigned", "invalid"}
    assert ends(client, good).status_code == 302  # the original is valid
    assert client.get("/zones/").context["user"].username == "eve"


def test_a_comment_does_not_cut_a_name(saml_idp: AtSaml, client: Client, alice: User) -> None:
    provider = saml_added(saml_idp, makes_people=True, rules=(WEB,))
    ProviderLink.objects.create(provider=provider, user=alice, subject="a1", linked_at=NOW)
    saml_idp.users(eve=Member("a1.evil.test", "eve@people.test", ["web"]))
    good = saml_idp.sign_in(begun_saml(client), "eve")
    # Canonicalization removes comments, so the signature stays valid.
    ends(client, encoded_of(xml_of(good).replace("a1.evil.test", "a1<!---->.evil.test")))
    assert client.get("/zones/").context["user"].username == "eve"


def test_an_assertion_is_good_once_and_in_its_own_browser(saml_idp: AtSaml, client: Client) -> None:
    saml_added(saml_idp, makes_people=True, rules=(WEB,))
    saml_idp.users(eve=EVE)
    good = saml_idp.sign_in(begun_saml(client), "eve")
    led = posted(good)["Location"]
    assert posted(good).status_code == 403  # used twice
    assert Client().get(led).status_code == 403  # a victim who follows an attacker's link
    assert client.get(led).status_code == 403  # that attempt used it up
    again = posted(saml_idp.sign_in(begun_saml(client), "eve"))["Location"]
    assert client.get(again).status_code == 302
    client.post("/sign-out/")
    assert client.get(again).status_code == 403
    assert client.get("/sign-in/by/work/finish/?taken=forged").status_code == 403
    assert not is_signed_in(client)
    assert refusals() == ["replay", "state", "state", "state", "state"]


def test_an_assertion_for_one_provider_is_none_of_another(saml_idp: AtSaml, client: Client) -> None:
    saml_added(saml_idp, makes_people=True, rules=(WEB,))
    saml_added(saml_idp, "other", makes_people=True, rules=(WEB,))
    saml_idp.users(eve=EVE)
    good = saml_idp.sign_in(begun_saml(client), "eve")
    assert ends(client, good, "other").status_code == 403
    led = posted(good)["Location"]
    assert client.get(led.replace("/by/work/", "/by/other/")).status_code == 403
    assert not is_signed_in(client)


@pytest.mark.parametrize("links_by_mail", [False, True])
def test_an_unverified_or_foreign_mail_opens_and_makes_nothing(
    saml_idp: AtSaml, client: Client, alice: User, links_by_mail: bool
) -> None:
    provider = saml_added(
        saml_idp, makes_people=True, links_by_mail=links_by_mail, mail_domains=("people.test",), trusts_mail=False
    )
    saml_idp.users(eve=Member("e1", alice.email), eva=Member("e2", "eva@people.test"))
    for name in ("eve", "eva"):
        assert comes_by_saml(client, saml_idp, name).status_code == 403
    provider.trusts_mail = True
    provider.save()
    saml_idp.users(eve=Member("e1", "eve@people.test.evil.test"))
    assert comes_by_saml(client, saml_idp, "eve").status_code == 403
    assert refusals() == ["unverified-mail", "unverified-mail", "domain"]
    assert list(User.objects.all()) == [alice]


def test_a_group_removed_at_the_provider_takes_what_it_gave(saml_idp: AtSaml, client: Client, alice: User) -> None:
    web = Team.objects.create(name="Web ops", created_at=NOW)
    saml_added(saml_idp, makes_people=True, rules=(ADMINS, WEB, Rule("web", Role.EDITOR, web.pk)))
    saml_idp.users(eve=Member("e1", "eve@people.test", ["admins", "web"]))
    comes_by_saml(client, saml_idp, "eve")
    eve = User.objects.get(username="eve")
    assert (eve.role, Membership.objects.get(user=eve).role) == (Role.ADMINISTRATOR, Role.EDITOR)
    saml_idp.users(eve=Member("e1", "eve@people.test"))
    comes_by_saml(client, saml_idp, "eve")
    eve.refresh_from_db()
    assert eve.role == Role.MEMBER
    assert not Membership.objects.filter(user=eve).exists()


def test_a_second_factor_is_wanted_after_the_provider_too(saml_idp: AtSaml, client: Client, bob: User) -> None:
    now = timezone.now()
    app, _ = set_up(bob, now)
    saml_added(saml_idp, links_by_mail=True)
    saml_idp.users(bobby=Member("b1", bob.email))
    assert comes_by_saml(client, saml_idp, "bobby")["Location"] == "/sign-in/second-factor/"
    assert not is_signed_in(client)
    client.post("/sign-in/second-factor/", {"code": app.code(now)})
    assert client.get("/zones/").context["user"] == bob


def test_an_account_is_linked_from_its_own_session(saml_idp: AtSaml, client: Client, bob: User) -> None:
    provider = saml_added(saml_idp)
    saml_idp.users(bobby=Member("b1", "unknown@elsewhere.test"))
    client.force_login(bob, backend="django.contrib.auth.backends.ModelBackend")
    url = str(client.post(f"/account/providers/{provider.pk}/link/").context["url"])
    assert ends(client, saml_idp.sign_in(url, "bobby"))["Location"] == "/account/providers/"
    client.post("/sign-out/")
    comes_by_saml(client, saml_idp, "bobby")
    assert client.get("/zones/").context["user"] == bob


def test_a_provider_that_is_switched_off_ends_sessions_and_answers(saml_idp: AtSaml, client: Client) -> None:
    provider = saml_added(saml_idp, makes_people=True, rules=(WEB,))
    saml_idp.users(eve=EVE)
    comes_by_saml(client, saml_idp, "eve")
    good = saml_idp.sign_in(begun_saml(client), "eve")
    switch_provider(provider=provider, active=False, by=None, now=timezone.now())
    assert not is_signed_in(client)
    assert posted(good).status_code == 404
    assert client.get("/sign-in/by/work/metadata/").status_code == 404


@pytest.mark.parametrize(
    "sent",
    [
        "",
        "%%%",
        "PGE+",
        encoded_of('<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'),
        encoded_of("<a>" * 10_000),
        "A" * 1_048_577,
    ],
    ids=["nothing", "no-base64", "no-xml", "entities", "deep", "long"],
)
def test_what_is_no_answer_is_refused(saml_idp: AtSaml, sent: str) -> None:
    saml_added(saml_idp)
    assert posted(sent).status_code == 403
    assert refusals() == ["invalid"]


def test_nobody_posts_all_the_time(saml_idp: AtSaml, settings: Any) -> None:
    settings.ACCOUNT_RATE_LIMITS = settings.ACCOUNT_RATE_LIMITS | {"oidc": "2/m/ip"}
    saml_added(saml_idp)
    assert [posted("x").status_code for _ in range(3)] == [403, 403, 429]
    assert Client().get("/sign-in/by/work/finish/").status_code == 429
    assert len(refusals()) == 2


def test_the_question_names_the_panel_and_is_another_each_time(saml_idp: AtSaml, client: Client) -> None:
    saml_added(saml_idp)
    urls = [begun_saml(client), begun_saml(client)]
    assert all(url.startswith(f"{saml_idp.root}/sso?") for url in urls)
    first, second = (parse_qs(urlsplit(url).query)["SAMLRequest"] for url in urls)
    assert first != second
