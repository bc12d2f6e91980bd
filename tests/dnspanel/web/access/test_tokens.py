"""Pages of tokens and TSIG keys. Tests `frame.confirm` and `frame.one_time_page` too."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from dnspanel.accounts.actors.actors import Grant, Permission, Right
from dnspanel.accounts.models import AuditEntry, GrantRow, Role, Token, User
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import actor_by_secret, create_token, revoke_token
from dnspanel.web.access.tokens import state_of
from dnspanel.zones.models import Zone
from dnspanel.zones.rights import access
from tests.dnspanel.web.conftest import YES, Browser, MakeZone, forget_password
from tests.people import PASSWORD, make_person

EVERYWHERE = Grant(frozenset({Right.READ}), everywhere=True)
COMMON = {"kind": "api", "expires": "90"}


def make(owner: User, purpose: str = "watch", **terms: Any) -> Token:
    return create_token(
        owner=owner, terms=TokenTerms(purpose, (EVERYWHERE,), **terms), by=owner, now=timezone.now()
    ).token


def secret_in(page: bytes) -> str:
    found = re.search(r'id="token-secret"[^>]*>([^<]+)<', page.decode())
    assert found is not None
    return found.group(1)


@pytest.fixture
def zone(make_zone: MakeZone) -> Zone:
    return make_zone("www 300 A 192.0.2.1")


def test_a_token_for_acme_is_one_time_page_and_writes_one_name(browser: Browser, bob: User, zone: Zone) -> None:
    client = browser(bob)
    page = client.post("/tokens/new/acme/", {**COMMON, "name": "www.example.test", "unused_days": "90"}, follow=True)
    assert page.status_code == 200
    assert page["Cache-Control"] == "no-store"
    secret = secret_in(page.content)
    actor = actor_by_secret(secret=secret, address=None, now=timezone.now())
    [grant] = actor.scope or ()
    assert grant.covers_rrset(zone.name, "_acme-challenge.www.example.test.", 16)
    assert not grant.covers_rrset(zone.name, "www.example.test.", 16)
    assert page.content.decode().count(secret) > 1, "the snippets are filled"
    assert b"certbot" in page.content
    for path in ("/tokens/", f"/tokens/{actor.token.pk if actor.token else 0}/"):
        assert secret.encode() not in client.get(path).content


@pytest.mark.parametrize(
    ("preset", "data", "purpose"),
    [
        ("dyndns", {"name": "home.example.test"}, "dyndns for home.example.test"),
        ("ci", {"zone": "EXAMPLE.test"}, "CI for example.test"),
        ("monitoring", {}, "Monitoring"),
        ("monitoring", {"purpose": "Grafana"}, "Grafana"),
    ],
)
def test_each_preset_makes_its_token(
    browser: Browser, bob: User, zone: Zone, preset: str, data: dict[str, str], purpose: str
) -> None:
    assert browser(bob).post(f"/tokens/new/{preset}/", {**COMMON, **data}).status_code == 302
    token = Token.objects.get()
    assert (token.purpose, token.owner) == (purpose, bob)
    assert token.expires_at is not None
    assert token.expires_at - token.created_at == timedelta(days=90)


def test_a_custom_token_holds_what_was_chosen(browser: Browser, bob: User, zone: Zone) -> None:
    chosen = {
        "purpose": "mail team",
        "rights": ["read", "change"],
        "where": "some",
        "zones": "example.test",
        "tags": "Mail",
        "names": "mail *.mail",
        "types": "A aaaa",
        "networks": "192.0.2.0/24",
        "expires": "",
        "unused_days": "30",
        "needs_if_match": "on",
        "requests_per_minute": "60",
        "permissions": ["see nodes"],
        "kind": "api",
    }
    assert browser(bob).post("/tokens/new/custom/", chosen).status_code == 302
    token = Token.objects.get()
    assert Grant.from_json(token.scope[0]) == Grant(
        frozenset({Right.READ, Right.CHANGE}),
        zones=frozenset({zone.pk}),
        tags=frozenset({"mail"}),
        names=("mail", "*.mail"),
        types=frozenset({1, 28}),
    )
    assert (token.networks, token.expires_at, token.unused_days) == (["192.0.2.0/24"], None, 30)
    assert (token.needs_if_match, token.requests_per_minute, token.permissions) == (True, 60, ["see nodes"])
    page = browser(bob).get("/tokens/").content.decode()
    assert "see records, change records" in page
    assert "names: mail, *.mail; types: A, AAAA" in page


def test_nobody_gives_what_they_do_not_have(browser: Browser, charlie: User, zone: Zone) -> None:
    fields = {**COMMON, "purpose": "x", "rights": ["change"], "where": "all"}
    page = browser(charlie).post("/tokens/new/custom/", fields)
    assert page.status_code == 422
    assert "You can’t grant rights that you don’t have: change." in page.content.decode()
    assert b"Nothing was changed" in page.content
    assert not Token.objects.exists()


def test_only_zones_that_one_sees_can_be_chosen(browser: Browser, zone: Zone) -> None:
    member = make_person("mia", Role.MEMBER)
    for preset, data in (("ci", {"zone": "example.test"}), ("acme", {"name": "www.example.test"})):
        page = browser(member).post(f"/tokens/new/{preset}/", {**COMMON, **data})
        assert page.status_code == 422
    custom = {**COMMON, "purpose": "x", "rights": ["read"], "where": "some", "zones": "example.test"}
    page = browser(member).post("/tokens/new/custom/", custom)
    assert b"Zone not found: example.test." in page.content
    assert not Token.objects.exists()


def test_a_tsig_key_is_shown_with_a_key_file(browser: Browser, bob: User, zone: Zone) -> None:
    fields = {"kind": "tsig", "expires": "90", "zone": "example.test", "key_name": "Router.keys.test"}
    page = browser(bob).post("/tokens/new/ci/", {**fields, "algorithm": "hmac-sha512"}, follow=True)
    assert page.status_code == 200
    assert b"key &quot;router.keys.test.&quot; {" in page.content
    assert secret_in(page.content).encode() in page.content
    again = forget_password(browser(bob)).post("/tokens/new/ci/", fields)
    assert again.status_code == 422
    assert b"A TSIG key named router.keys.test. already exists." in again.content
    nameless = browser(bob).post("/tokens/new/ci/", {**fields, "key_name": ""})
    assert nameless.status_code == 422
    assert b'<details class="more" open>' in nameless.content


def test_f5_on_the_page_of_a_secret_makes_no_second_one(browser: Browser, bob: User) -> None:
    client = browser(bob)
    response = client.post("/tokens/new/monitoring/", COMMON, follow=True)
    secret, page = secret_in(response.content), response.redirect_chain[-1][0]
    assert response.request["REQUEST_METHOD"] == "GET"
    assert secret not in str(dict(client.session))
    again = client.get(page, follow=True)
    assert secret.encode() not in again.content
    assert b"has already been shown" in again.content
    assert again.redirect_chain[-1][0] == f"/tokens/{Token.objects.get().pk}/"
    assert browser(bob).get(page).status_code == 302  # another session
    assert Token.objects.count() == 1


def test_what_opens_much_wants_the_password_again(browser: Browser, alice: User, zone: Zone) -> None:
    client = browser(alice)
    everything = {**COMMON, "purpose": "all", "rights": [str(right) for right in Right], "where": "all"}
    key = {"kind": "tsig", "expires": "90", "zone": "example.test", "key_name": "k.test", "algorithm": "hmac-sha256"}
    people = {**COMMON, "purpose": "people", "where": "all", "permissions": [Permission.PEOPLE.value]}
    for preset, sent in (("custom", everything), ("ci", key), ("custom", people)):
        forget_password(client)
        question = client.post(f"/tokens/new/{preset}/", sent).content.decode()
        assert "Your password" in question
        for name, value in sent.items():
            for each in value if isinstance(value, list) else [value]:
                assert f'name="{name}" value="{each}"' in question
        assert b"Incorrect password" in client.post(f"/tokens/new/{preset}/", sent | YES | {"password": "x"}).content
        assert not Token.objects.exists()
        client.post(f"/tokens/new/{preset}/", sent | YES | {"password": PASSWORD})
        Token.objects.get().delete()
    forget_password(client)
    client.post("/tokens/new/monitoring/", COMMON)
    token = Token.objects.get()
    assert client.post(f"/tokens/{token.pk}/rotate/", {"overlap": "1"}).status_code == 302


def test_wrong_passwords_are_counted_and_written_down(browser: Browser, alice: User) -> None:
    client = browser(alice)
    forget_password(client)
    sent = {"role": "administrator", "password": "guess", **YES}
    pages = [client.post("/people/invite/", sent).content for _ in range(11)]
    assert b"Too many attempts" in pages[-1]
    assert AuditEntry.objects.filter(action="sign-in.failed", target="alice").count() == 10


def test_an_unknown_preset_is_not_there(browser: Browser, bob: User) -> None:
    assert browser(bob).get("/tokens/new/everything/").status_code == 404


def test_rotation_shows_the_new_secret_and_says_how_long_the_old_one_works(browser: Browser, bob: User) -> None:
    old = make(bob)
    page = browser(bob).post(f"/tokens/{old.pk}/rotate/", {"overlap": "7"}, follow=True)
    assert page.status_code == 200
    assert page["Cache-Control"] == "no-store"
    new = actor_by_secret(secret=secret_in(page.content), address=None, now=timezone.now()).token
    old.refresh_from_db()
    assert old.rotated_to == new
    assert b"works until" in page.content
    refused = browser(bob).post(f"/tokens/{old.pk}/rotate/", {"overlap": "1"}, follow=True)
    assert b"has already been rotated" in refused.content
    assert browser(bob).post(f"/tokens/{old.pk}/rotate/", {"overlap": "x"}).status_code == 404


def test_a_revoked_token_leaves_the_list_and_can_be_shown_again(browser: Browser, bob: User) -> None:
    token = make(bob, "gone soon")
    client = browser(bob)
    question = client.post(f"/tokens/{token.pk}/revoke/").content
    assert b"The token has never been used." in question
    token.refresh_from_db()
    assert token.revoked_at is None
    client.post(f"/tokens/{token.pk}/revoke/", YES)
    token.refresh_from_db()
    assert token.revoked_at is not None
    client.get("/tokens/")  # displays the message with the name
    assert b"gone soon" not in client.get("/tokens/").content
    assert b"gone soon" in client.get("/tokens/?dead=yes").content
    detail = client.get(f"/tokens/{token.pk}/").content
    assert b"revoked" in detail
    assert b"/revoke/" not in detail


def test_others_tokens_are_not_there_but_for_administrators(
    browser: Browser, alice: User, bob: User, charlie: User
) -> None:
    token = make(bob, "of bob")
    for method, path in (("get", ""), ("post", "rotate/"), ("post", "revoke/")):
        answer = getattr(browser(charlie), method)(f"/tokens/{token.pk}/{path}", {"overlap": "1"})
        assert answer.status_code == 404
    assert b"of bob" not in browser(charlie).get("/tokens/?whose=all").content
    assert b"of bob" not in browser(alice).get("/tokens/").content
    assert b"of bob" in browser(alice).get("/tokens/?whose=all").content
    assert browser(alice).get(f"/tokens/{token.pk}/").status_code == 200


def test_a_zone_that_its_owner_lost_is_not_named(browser: Browser, zone: Zone) -> None:
    member = make_person("mia", Role.MEMBER)
    grant = Grant(frozenset({Right.READ}), zones=frozenset({zone.pk}))
    row = GrantRow.objects.create(user=member, grant=grant.to_json(), created_at=timezone.now())
    create_token(owner=member, terms=TokenTerms("mine", (grant,)), by=member, now=timezone.now())
    assert b"example.test." in browser(member).get("/tokens/").content
    row.delete()
    page = browser(member).get("/tokens/").content
    assert b"example.test." not in page
    assert "1 zone that you can’t see".encode() in page


def test_the_page_of_a_token_tells_its_story(browser: Browser, bob: User) -> None:
    token = make(bob)
    revoke_token(token=token, by=bob, now=timezone.now())
    page = browser(bob).get(f"/tokens/{token.pk}/").content.decode()
    assert page.index("revoked the token") < page.index("created the token")


def test_the_state_says_why_a_token_is_dead(bob: User) -> None:
    now = timezone.now()
    token = make(bob, expires_at=now + timedelta(days=30), unused_days=20)
    assert state_of(token, now).word == "active"
    assert state_of(token, now + timedelta(days=19)).word == "expires soon"
    assert state_of(token, now + timedelta(days=21)).word == "unused"
    assert state_of(token, now + timedelta(days=31)).word == "expired"
    bob.is_active = False
    assert not state_of(token, now).is_alive


def test_a_form_without_a_csrf_token_makes_nothing(browser: Browser, bob: User, zone: Zone) -> None:
    client: Client = browser(bob, csrf=True)
    assert client.post("/tokens/new/monitoring/", COMMON).status_code == 403
    assert not AuditEntry.objects.filter(action="token.create").exists()
    assert access.zones_visible_to(bob).exists()
