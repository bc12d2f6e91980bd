"""The language of pages follows the reader; APIs always answer in English."""

import pytest
from django.test import Client

from dnspanel.accounts.models import User
from tests.dnspanel.web.conftest import Browser

pytestmark = pytest.mark.django_db


def language(page: str) -> str:
    return page.partition('<html lang="')[2].partition('"')[0]


def test_before_sign_in_the_browser_decides_until_somebody_chooses() -> None:
    client = Client(headers={"Accept-Language": "fr-CA,fr;q=0.9,de;q=0.5"})
    answer = client.get("/sign-in/")
    assert (language(answer.content.decode()), answer["Content-Language"]) == ("fr", "fr")
    assert "Accept-Language" in answer["Vary"]
    assert all(name in answer.content.decode() for name in ("English", "Deutsch", "Français", "Español", "日本語"))
    assert client.post("/language/", {"language": "ja", "next": "/sign-in/?next=/zones/"})["Location"] == (
        "/sign-in/?next=/zones/"
    )
    assert language(client.get("/sign-in/").content.decode()) == "ja"
    assert client.cookies["django_language"]["httponly"]
    client.post("/language/", {"language": "", "next": "/sign-in/"})
    assert language(client.get("/sign-in/").content.decode()) == "fr"


def test_a_language_that_pages_do_not_have_is_english() -> None:
    assert language(Client(headers={"Accept-Language": "sv"}).get("/sign-in/").content.decode()) == "en"


def test_what_a_person_chooses_goes_with_them(browser: Browser, alice: User, bob: User) -> None:
    client = browser(bob)
    client.post("/language/", {"language": "de", "next": "/account/time-zone/"})
    assert User.objects.get(pk=bob.pk).language == "de"
    other = browser(bob)
    assert language(other.get("/account/time-zone/").content.decode()) == "de"
    # Another person in the same thread gets pages in their language.
    assert language(browser(alice).get("/account/time-zone/").content.decode()) == "en"
    other.post("/language/", {"language": "", "next": "/account/time-zone/"})
    assert language(other.get("/account/time-zone/").content.decode()) == "en"


@pytest.mark.parametrize("code", ["xx", "de-AT", "../de", "d" * 9])
def test_what_is_no_language_changes_nothing(browser: Browser, bob: User, code: str) -> None:
    client = browser(bob)
    assert client.post("/language/", {"language": code, "next": "/zones/"})["Location"] == "/zones/"
    assert User.objects.get(pk=bob.pk).language == ""
    assert "django_language" not in client.cookies


@pytest.mark.parametrize("back", ["https://elsewhere.test/", "//elsewhere.test/", "javascript:alert(1)", ""])
def test_the_way_back_leads_to_no_other_site(back: str) -> None:
    assert Client().post("/language/", {"language": "de", "next": back})["Location"] == "/"


def test_apis_speak_english(browser: Browser, bob: User) -> None:
    browser(bob).post("/language/", {"language": "de", "next": "/"})
    answer = Client(headers={"Accept-Language": "de"}).get("/api/v2/zones")
    assert answer.status_code == 401
    assert "Content-Language" not in answer.headers
