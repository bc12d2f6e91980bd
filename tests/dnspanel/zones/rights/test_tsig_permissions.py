"""The rights of a TSIG key from PowerDNS's API before and after a zone names it, as the gateway applies them."""

from dataclasses import replace
from typing import Any

import dns.message
import dns.rcode
import dns.update
import pytest
from django.utils import timezone

from dnspanel.accounts.actors.actors import EVERY_RIGHT, Grant, actor_of
from dnspanel.accounts.models import Role, User
from dnspanel.accounts.tokens import tokens, tsig_keys
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.zones.models import TsigAct, TsigPermission, Zone
from dnspanel.zones.rights import tsig_permissions
from tests.dnspanel.api.v1.conftest import Caller
from tests.dnspanel.gateway.conftest import Key, replies
from tests.dnspanel.zones.conftest import MakeZone
from tests.people import NOW, make_person

pytestmark = pytest.mark.django_db

METADATA = "/zones/example.test./metadata/TSIG-ALLOW-DNSUPDATE"
SECRET = "c2VjcmV0IG9mIDE2IGJ5dGVz"


@pytest.fixture
def call(alice: User) -> Caller:
    terms = TokenTerms("v1", (Grant(EVERY_RIGHT, everywhere=True),))
    return Caller(tokens.create_token(owner=alice, terms=terms, by=alice, now=timezone.now()).secret)


def made(call: Caller, name: str = "key.test.") -> Key:
    body = {"name": name, "algorithm": "hmac-sha256", "key": SECRET}
    assert call("POST", "/tsigkeys", body).status_code == 201
    return Key(tokens.Token.objects.get(tsig_name=name), SECRET)


def updates(key: Key, zone_name: str = "example.test.", name: str = "www", now: Any = None) -> str:
    """Add a record by DNS UPDATE with this key. Return the rcode."""
    now = now or timezone.now()
    update = dns.update.UpdateMessage(zone_name)
    update.add(name, 300, "A", f"192.0.2.{TsigPermission.objects.count() + 7}")
    return dns.rcode.to_text(key.ask(update, at=now, now=now).rcode())


def transfers(key: Key) -> str:
    """Transfer the zone with this key. Return the rcode."""
    now = timezone.now()
    query = dns.message.make_query("example.test.", "AXFR")
    first, *_ = replies(key.sign(query, at=now), now=now, over_tcp=True)
    return dns.rcode.to_text(key.read(first, query, now=now).rcode())


@pytest.mark.django_db(transaction=True)
def test_a_key_may_nothing_until_a_zone_names_it_and_then_only_that(call: Caller, make_zone: MakeZone) -> None:
    """Previously such a key could at once update and transfer all zones of its creator."""
    make_zone("www 300 A 192.0.2.1", name="example.test.")
    make_zone("www 300 A 192.0.2.1", name="other.test.")
    key = made(call)
    assert (updates(key), transfers(key)) == ("NOTAUTH", "NOTAUTH")
    assert call("PUT", METADATA, {"metadata": ["Key.Test"]}).status_code == 200
    assert call.get(METADATA)["metadata"] == ["Key.Test"]
    assert (updates(key), transfers(key), updates(key, "other.test.")) == ("NOERROR", "NOTAUTH", "NOTAUTH")
    for ids, outcome in ((["key.test."], "NOERROR"), ([], "NOTAUTH")):
        assert call("PUT", "/zones/example.test.", {"master_tsig_key_ids": ids}).status_code == 204
        assert call.get("/zones/example.test.")["master_tsig_key_ids"] == ids
        assert transfers(key) == outcome
    assert call("DELETE", METADATA).status_code == 204
    assert updates(key) == "NOTAUTH"
    refused = call("PUT", "/zones/example.test.", {"master_tsig_key_ids": ["nobodys."]})
    assert (refused.status_code, b"does not exist" in refused.content) == (422, True)
    assert call("PUT", METADATA, {"metadata": ["a..b"]}).status_code == 422


def test_a_name_in_metadata_gives_no_more_than_the_keys_maker_has(make_zone: MakeZone, alice: User) -> None:
    """Otherwise the creator of a key could change a zone whose metadata still has that key name."""
    mine, other = make_zone(name="mine.test."), make_zone(name="other.test.")
    for zone in (mine, other):
        tsig_permissions.replace_key_names(zone=zone, act=TsigAct.UPDATE, key_names=["key.test."])
    scope = Grant(EVERY_RIGHT, zones=frozenset({mine.pk}), names=("www",))
    narrow = tokens.create_token(owner=alice, terms=TokenTerms("CI", (scope,)), by=alice, now=NOW)
    by = tokens.actor_by_secret(secret=narrow.secret, address=None, now=NOW)
    new = tsig_keys.create_own_tsig_key(by=by, name="key.test.", algorithm="hmac-sha256", secret=SECRET, now=NOW)
    key = Key(new.token, SECRET)
    assert updates(key, "mine.test.") == "NOERROR"
    assert updates(key, "mine.test.", "mail") == "REFUSED"
    assert updates(key, "other.test.") == "NOTAUTH"


def test_a_key_whose_scope_says_so_needs_no_metadata(zone: Zone, alice: User) -> None:
    new = tokens.create_tsig_key(
        owner=alice, name="scoped.", terms=TokenTerms("CI", (Grant(EVERY_RIGHT, everywhere=True),)), by=alice, now=NOW
    )
    assert updates(Key(new.token, new.secret), zone.name) == "NOERROR"


def test_what_is_not_a_key_is_left_as_it_is(zone: Zone) -> None:
    mia = make_person("mia", Role.MEMBER)
    actor = actor_of(mia)
    assert actor is not None
    assert tsig_permissions.actor_for(actor, zone.name, TsigAct.UPDATE) is actor
    scoped = replace(actor, scope=())
    assert tsig_permissions.actor_for(scoped, zone.name, TsigAct.UPDATE) is scoped


def test_the_names_are_exactly_those_that_were_given(zone: Zone) -> None:
    for given in (["b.", "a.", "b."], ["b."], []):
        tsig_permissions.replace_key_names(zone=zone, act=TsigAct.TRANSFER, key_names=given)
        assert tsig_permissions.key_names(zone, TsigAct.TRANSFER) == sorted(set(given))
        assert tsig_permissions.key_names(zone, TsigAct.UPDATE) == []
