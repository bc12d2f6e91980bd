"""Pages of service accounts, and the handover of an account's tokens and other objects."""

from dnspanel.accounts.actors.actors import EVERY_RIGHT, Grant
from dnspanel.accounts.models import Token, User
from dnspanel.accounts.tokens import tokens
from dnspanel.accounts.tokens.token_terms import TokenTerms
from tests.dnspanel.web.access.test_tokens import COMMON
from tests.dnspanel.web.conftest import Browser, forget_password
from tests.people import NOW, PASSWORD


def test_a_service_account_gets_a_token_by_the_password_of_who_makes_it(browser: Browser, alice: User) -> None:
    client = browser(alice)
    page = client.post(
        "/people/service-accounts/", {"username": "terraform", "service_role": "editor"}, follow=True
    ).content.decode()
    account = User.objects.get(username="terraform")
    assert "service account" in page
    new = f"/tokens/new/custom/?owner={account.pk}"
    assert new in page
    page = client.get(new).content.decode()
    assert "New token for terraform" in page
    forget_password(client)
    fields = {**COMMON, "purpose": "apply", "rights": sorted(EVERY_RIGHT), "where": "all"}
    question = client.post(new, fields).content.decode()
    assert f'action="{new}"' in question
    assert not Token.objects.exists()
    client.post(new, {**fields, "confirmed": "yes", "password": PASSWORD})
    assert Token.objects.get().owner == account
    assert browser(alice).get("/tokens/new/custom/?owner=999999").status_code == 404


def test_a_name_that_is_taken_is_told(browser: Browser, alice: User, bob: User) -> None:
    page = browser(alice).post("/people/service-accounts/", {"username": "Bob", "service_role": "reader"}, follow=True)
    assert "already exists" in page.content.decode()


def test_what_is_ticked_is_handed_over(browser: Browser, alice: User, bob: User, charlie: User) -> None:
    client = browser(alice)
    terms = TokenTerms("deploy", (Grant(EVERY_RIGHT, everywhere=True),))
    kept, given = (tokens.create_token(owner=bob, terms=terms, by=bob, now=NOW).token for _ in range(2))
    page = client.get(f"/people/{bob.pk}/").content.decode()
    assert f'name="token" value="{given.pk}"' in page
    hand_over = f"/people/{bob.pk}/hand-over/"
    page = client.post(hand_over, {"token": given.pk, "to": charlie.pk}, follow=True).content.decode()
    assert "Transferred to charlie: 1 item" in page
    assert set(Token.objects.values_list("pk", "owner")) == {(kept.pk, bob.pk), (given.pk, charlie.pk)}
    assert "Choose a new owner." in client.post(hand_over, {"token": kept.pk}, follow=True).content.decode()
    assert "Nothing was transferred." in client.post(hand_over, {"to": bob.pk}, follow=True).content.decode()
