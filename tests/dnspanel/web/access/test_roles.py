"""Pages of roles."""

from dnspanel.accounts.models import OwnRole, Role, User
from tests.dnspanel.web.conftest import Browser

NEW = {"name": "Auditor", "rights": "read", "permissions": "read the audit log"}


def test_a_role_is_made_given_changed_and_deleted(browser: Browser, alice: User, charlie: User) -> None:
    client = browser(alice)
    page = client.post("/people/roles/new/", NEW, follow=True).content.decode()
    role = OwnRole.objects.get()
    assert f'<a href="/people/roles/{role.pk}/">Auditor</a>' in page
    give = {"role": f"own:{role.pk}"}
    question = client.post(f"/people/{charlie.pk}/role/", give).content.decode()
    assert "New rights: read the audit log; see records." in question
    assert "Removed rights: see zones; see nodes." in question
    client.post(f"/people/{charlie.pk}/role/", {**give, "confirmed": "yes"})
    assert (User.objects.get(pk=charlie.pk).own_role, User.objects.get(pk=charlie.pk).role) == (role, Role.MEMBER)
    assert f'<option value="own:{role.pk}" selected>Auditor</option>' in client.get("/people/").content.decode()
    assert browser(charlie).get("/access/audit/").status_code == browser(alice).get("/access/audit/").status_code
    page = client.post(f"/people/roles/{role.pk}/", {**NEW, "rights": ["read", "change"]}, follow=True)
    assert page.status_code == 200
    assert OwnRole.objects.get().rights == ["change", "read"]
    page = client.post(f"/people/roles/{role.pk}/delete/", {"confirmed": "yes"}, follow=True).content.decode()
    assert "1 account has this role. Assign another role to these people first." in page
    client.post(f"/people/{charlie.pk}/role/", {"role": "reader", "confirmed": "yes"})
    client.post(f"/people/roles/{role.pk}/delete/", {"confirmed": "yes"})
    assert not OwnRole.objects.exists()


def test_what_is_wrong_stands_at_its_field(browser: Browser, alice: User) -> None:
    client = browser(alice)
    page = client.post("/people/roles/new/", {"name": "Editor"})
    assert page.status_code == 422
    assert 'id="id_name_error"' in page.content.decode()
    page = client.post("/people/roles/new/", {**NEW, "permissions": "invite people and change roles"})
    assert page.status_code == 422
    assert not OwnRole.objects.exists()
