"""Sign-in, invitations and passwords, and the health of the panel."""

import pytest
from django.test import Client
from django.utils import timezone

from dnspanel.accounts.models import Role, User
from dnspanel.accounts.people.invite import LIFETIME, make_invitation
from tests.dnspanel.web.conftest import HTMX, Browser
from tests.people import PASSWORD

SIGN_IN = "/sign-in/"
FORM = {"username": "erin", "email": "erin@people.test", "password": "a long enough pass phrase"}


def invitation(role: str = Role.EDITOR, age: float = 0) -> str:
    return f"/welcome/{make_invitation(role=role, by=None, now=timezone.now() - age * LIFETIME)}/"


def test_name_or_mail_address_and_password_let_one_in(alice: User) -> None:
    for login in (alice.username, alice.email):
        response = Client().post(SIGN_IN, {"login": login, "password": PASSWORD, "next": "/nodes/"})
        assert response["Location"] == "/nodes/"


def test_one_text_for_a_wrong_name_and_a_wrong_password(alice: User) -> None:
    pages = [
        Client().post(SIGN_IN, {"login": login, "password": "wrong"}, headers={"X-Forwarded-For": "192.0.2.1"})
        for login in ("alice", "nobody")
    ]
    texts = [page.content.decode().split('role="alert"')[1].split("</div>")[0] for page in pages]
    assert texts[0] == texts[1]
    assert "not correct" in texts[0]


def test_nobody_is_sent_to_another_site_after_signing_in(alice: User) -> None:
    form = {"login": "alice", "password": PASSWORD, "next": "https://evil.test/"}
    assert Client().post(SIGN_IN, form)["Location"] == "/"


def test_there_is_no_sign_up() -> None:
    assert Client().get("/signup/").status_code == 404
    assert Client().get("/accounts/signup/").status_code == 404


def test_the_dialog_on_top_of_a_page_signs_in_without_leaving_it(alice: User) -> None:
    client = Client()
    headers = {"X-Requested-With": "XMLHttpRequest", "Accept": "application/json"}
    wrong = client.post(SIGN_IN, {"login": "alice", "password": "wrong"}, headers=headers)
    assert wrong.status_code == 400
    assert wrong.json()["form"]["errors"]
    assert client.post(SIGN_IN, {"login": "alice", "password": PASSWORD}, headers=headers).status_code == 200
    assert client.get("/zones/", headers=HTMX).status_code == 200


def test_signing_out_ends_the_session(browser: Browser, alice: User) -> None:
    client = browser(alice)
    client.post("/sign-out/")
    assert client.get("/zones/").status_code == 302


def test_an_invitation_makes_an_account_and_signs_in(db: None) -> None:
    client, link = Client(), invitation(Role.ADMINISTRATOR)
    page = client.get(link)
    assert page["Cache-Control"] == "no-store"
    assert b'will have the role <span class="strong">Administrator</span>.' in page.content
    assert client.post(link, FORM)["Location"] == "/"
    assert User.objects.get().role == Role.ADMINISTRATOR
    assert client.get("/people/").status_code == 200


def test_an_invitation_works_once(db: None) -> None:
    link = invitation()
    Client().post(link, FORM)
    for response in (Client().get(link), Client().post(link, {**FORM, "username": "eve", "email": "eve@people.test"})):
        assert response.status_code == 410
        assert b"has already been used" in response.content
    assert User.objects.count() == 1


@pytest.mark.parametrize(("link", "reason"), [("/welcome/nonsense/", "link isn’t valid"), ("", "expired on")])
def test_a_link_that_cannot_be_used_says_why(db: None, link: str, reason: str) -> None:
    response = Client().get(link or invitation(age=2))
    assert response.status_code == 410
    assert reason in response.content.decode()


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"username": "alice"}, "already exists"),
        ({"email": "alice@people.test"}, "already exists"),
        ({"email": "x"}, "valid email"),
        ({"password": "short"}, "too short"),
        ({"username": "a b"}, "valid username"),
    ],
)
def test_a_refused_account_leaves_the_invitation_good(alice: User, change: dict[str, str], complaint: str) -> None:
    link = invitation()
    refused = Client().post(link, {**FORM, **change})
    assert refused.status_code == 422
    assert complaint in refused.content.decode()
    assert "a long enough pass phrase" not in refused.content.decode()
    assert Client().post(link, FORM).status_code == 302


def test_a_password_changes_only_with_the_present_one(browser: Browser, alice: User) -> None:
    new = "another long pass phrase"
    client = browser(alice)
    wrong = client.post("/account/password/", {"oldpassword": "wrong", "password1": new, "password2": new})
    assert wrong.status_code == 200
    assert b"aria-invalid" in wrong.content
    client.post("/account/password/", {"oldpassword": PASSWORD, "password1": new, "password2": new})
    alice.refresh_from_db()
    assert alice.check_password(new)
