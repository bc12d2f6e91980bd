"""No way leads to a LUA record without the permission: `zones.rights.access.may_publish_lua`."""

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from dnspanel.accounts.actors.actors import EVERY_RIGHT, RECORD_RIGHTS, Grant, Permission, Right
from dnspanel.accounts.models import Role, User
from dnspanel.accounts.rights import own_roles
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import create_token
from dnspanel.transfer.models import ImportFault
from dnspanel.zones.errors import RuleViolations
from dnspanel.zones.models import RRset, Zone
from replication.dns import rdtypes
from tests.dnspanel.transfer.conftest import MakeImport, import_all, zone_text
from tests.dnspanel.transfer.conftest import make_import as make_import
from tests.dnspanel.web.conftest import Browser
from tests.dnspanel.web.conftest import browser as browser
from tests.dnspanel.zones.conftest import MakeZone, rr
from tests.people import NOW, make_person
from tests.publishing import change_rrsets

pytestmark = pytest.mark.django_db
LINE = 'www 300 LUA A "pickrandom({})"'
LUA = rr(LINE)
BUILDERS = "/zones/example.test./builders/"


@pytest.fixture(autouse=True)
def lua_is_on(settings: Any) -> None:
    settings.ALLOW_LUA_RECORDS = True


def publish(zone: Zone, author: User | None, rrset: Any = LUA) -> None:
    zone.refresh_from_db()
    change_rrsets(zone=zone, changes={(LUA.name, LUA.type): rrset}, author=author, channel="web", now=NOW)


def test_editors_publish_no_lua_record_but_can_delete_it(make_zone: MakeZone, alice: User, bob: User) -> None:
    zone = make_zone()
    with pytest.raises(RuleViolations, match="permission"):
        publish(zone, bob)
    publish(zone, alice)
    with pytest.raises(RuleViolations, match="permission"):
        publish(zone, bob, rr(LINE.replace("300", "60")))
    publish(zone, bob, None)
    coder, rights = make_person("cora", Role.MEMBER), RECORD_RIGHTS | {Right.READ}
    coder.own_role = own_roles.create_role(
        name="Coders", permissions=[Permission.LUA], rights=rights, by=alice, now=NOW
    )
    coder.save()
    publish(zone, coder)


@pytest.mark.parametrize("name", ["alice", "bob"])
def test_imports_bring_lua_only_with_the_permission(make_import: MakeImport, bob: User, name: str) -> None:
    job = make_import({"a": zone_text("a.test.", LINE)})
    type(job).objects.filter(pk=job.pk).update(author=User.objects.get(username=name))
    job.refresh_from_db()
    import_all(job)
    assert RRset.objects.filter(zone__name="a.test.", type=rdtypes.LUA).exists() == (name == "alice")
    assert ImportFault.objects.filter(job=job, code="lua-left-out").exists() == (name == "bob")


def test_templates_for_lua_are_offered_only_with_the_permission(
    browser: Browser, make_zone: MakeZone, alice: User, bob: User, settings: Any
) -> None:
    make_zone()
    administrator, editor = browser(alice), browser(bob)

    def offers(client: Client) -> tuple[bool, int]:
        return "builders/lua/" in client.get(BUILDERS).content.decode(), client.get(f"{BUILDERS}lua/").status_code

    assert offers(administrator) == (True, 200)
    assert offers(editor) == (False, 404)
    fields = {"b-template": "random", "b-type": "A", "b-addresses": "192.0.2.1", "name": "www"}
    page = administrator.post(f"{BUILDERS}lua/", fields).content.decode()
    assert "pickrandom({&#x27;192.0.2.1&#x27;})" in page
    settings.ALLOW_LUA_RECORDS = False
    assert offers(administrator) == (False, 404)


@pytest.mark.parametrize("has_permission", [True, False])
def test_a_token_of_an_administrator_needs_the_permission_too(
    make_zone: MakeZone, alice: User, has_permission: bool
) -> None:
    make_zone()
    scope = Grant(EVERY_RIGHT, everywhere=True)
    terms = TokenTerms("CI", (scope,), frozenset({Permission.LUA} if has_permission else ()))
    made = create_token(owner=alice, terms=terms, by=alice, now=timezone.now())
    rrset = {"name": LUA.name, "type": "LUA", "ttl": 300, "records": [{"content": 'A "pickrandom({})"'}]}
    body = {"rrsets": [rrset | {"changetype": "REPLACE"}]}
    url, headers = "/api/v1/servers/localhost/zones/example.test.", {"X-API-Key": made.secret}
    answer: Any = Client().patch(url, body, "application/json", headers=headers)
    assert answer.status_code == (204 if has_permission else 422), answer.content
    assert RRset.objects.filter(type=rdtypes.LUA).exists() == has_permission
