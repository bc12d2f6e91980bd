"""Pages where administrators add SCIM directories. A secret is displayed only once. Also tests `access.group_rules`."""

import re

from django.test import Client

from dnspanel.accounts.models import Role, ScimDirectory, ScimGroup, Team, Token, User
from dnspanel.accounts.scim.scim_people import PersonTerms, create_person
from tests.dnspanel.api.callers import Api
from tests.dnspanel.web.conftest import YES, Browser, forget_password
from tests.people import NOW, PASSWORD

NEW = "/people/directories/new/"
FORM = {"name": "Okta", "rules": "dns = editor\nweb = reader in web OPS", "team_role": "reader"}


def secret_in(client: Client, response: object) -> str:
    """Follow a sent form's redirect, and return the secret on that page. Check that it appears only once."""
    page = client.get(response["Location"]).content.decode()  # type: ignore[index]
    found = re.search(r"dnsp_[\w-]{43}", page)
    assert found, page
    assert "/scim/v2" in page
    assert found[0] not in client.get(response["Location"], follow=True).content.decode()  # type: ignore[index]
    return found[0]


def test_a_directory_is_added_with_a_secret_that_opens_scim(browser: Browser, alice: User) -> None:
    team = Team.objects.create(name="Web ops", created_at=NOW)
    client = browser(alice)
    secret = secret_in(client, client.post(NEW, FORM))
    directory = ScimDirectory.objects.get()
    assert directory.rules == [
        {"group": "dns", "role": Role.EDITOR, "team": None, "own_role": None},
        {"group": "web", "role": Role.READER, "team": team.pk, "own_role": None},
    ]
    assert (directory.team_role, directory.takes_over) == ("reader", False)
    assert Api(secret).get("/scim/v2/Users").json()["totalResults"] == 0
    page = client.get(f"/people/directories/{directory.pk}/").content.decode()
    assert "web = reader in Web ops" in page
    assert secret not in page
    # A new secret replaces it.
    renewed = client.post(f"/people/directories/{directory.pk}/secret/", YES)
    assert secret_in(client, renewed) != secret
    assert Api(secret).get("/scim/v2/Users").status_code == 401


def test_trust_in_a_directory_wants_the_password(browser: Browser, alice: User) -> None:
    client = browser(alice)
    forget_password(client)
    assert "Trust directory" in client.post(NEW, FORM | {"rules": ""}).content.decode()
    assert not ScimDirectory.objects.exists()
    client.post(NEW, FORM | {"rules": "", **YES, "password": PASSWORD})
    assert ScimDirectory.objects.count() == 1


def test_what_cannot_be_is_said_at_its_field(browser: Browser, alice: User) -> None:
    client = browser(alice)
    bad = client.post(NEW, {"name": "x", "rules": "dns = emperor\nweb = reader in nowhere"})
    assert bad.status_code == 422
    assert "team not found" in bad.content.decode()
    client.post(NEW, {"name": "Okta"})
    taken = forget_password(client).post(NEW, {"name": "okta"})
    assert (taken.status_code, "directory with this name already" in taken.content.decode()) == (422, True)


def test_who_left_is_listed_with_the_page_that_hands_over(browser: Browser, alice: User) -> None:
    client = browser(alice)
    client.post(NEW, {"name": "Okta"})
    directory = ScimDirectory.objects.get()
    terms = PersonTerms("leaver", "leaver@people.test", active=False)
    leaver = create_person(directory=directory, terms=terms, by=None, now=NOW)
    page = client.get(f"/people/directories/{directory.pk}/").content.decode()
    assert f'<a href="/people/{leaver.pk}/">leaver</a>' in page
    client.post(f"/people/directories/{directory.pk}/", {"name": "Entra", "takes_over": "on"})
    directory.refresh_from_db()
    assert (directory.name, directory.takes_over) == ("Entra", True)
    Token.objects.update(revoked_at=NOW)
    assert "secret revoked" in client.get(f"/people/directories/{directory.pk}/").content.decode()
    client.post(f"/people/directories/{directory.pk}/delete/", YES)
    assert client.get(f"/people/directories/{directory.pk}/").status_code == 404
    assert User.objects.filter(username="leaver").exists()


def test_an_administrator_selects_the_teams_that_groups_may_be(browser: Browser, alice: User) -> None:
    client = browser(alice)
    terms = FORM | {"rules": ""}
    secret_in(client, client.post(NEW, terms))
    directory = ScimDirectory.objects.get()
    address = f"/people/directories/{directory.pk}/"
    assert "Existing teams" not in client.get(address).content.decode()  # there is no team
    web, ops = (Team.objects.create(name=name, created_at=NOW) for name in ("web", "ops"))
    ScimGroup.objects.create(directory=directory, name="WEB", created_at=NOW, changed_at=NOW)
    assert "aren’t selected: web." in client.get(address).content.decode()
    client.post(address, terms | {"teams": [str(web.pk), str(ops.pk)]})
    directory.refresh_from_db()
    assert directory.teams == [web.pk, ops.pk]
    page = client.get(address).content.decode()
    assert "aren’t selected" not in page
    assert page.count("checked") >= 2
