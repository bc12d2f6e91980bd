"""Tests of operations on secondaries and of access to them (`secondaries.access`, `secondaries.errors`)."""

import hashlib
from typing import Any
from uuid import uuid4

import pytest

from dnspanel.accounts.actors.actors import Actor, Grant, Permission, Right, actor_of_token
from dnspanel.accounts.models import AuditEntry, Team, User
from dnspanel.accounts.secrets.vault import decrypt_secret
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import create_token
from dnspanel.secondaries import access, set_up_secondaries
from dnspanel.secondaries.errors import SecondaryRefused, SecondaryUnknown, SeesTooLittle
from dnspanel.secondaries.models import Member, Secondary
from dnspanel.secondaries.set_up_secondaries import Terms
from dnspanel.zones.errors import Forbidden
from tests.dnspanel.secondaries.conftest import ADDRESS, MakeSecondary
from tests.dnspanel.zones.conftest import MakeZone
from tests.own_certificates import own_certificate
from tests.people import NOW

pytestmark = pytest.mark.django_db


def refused(alice: User, **terms: Any) -> dict[str, list[str]]:
    with pytest.raises(SecondaryRefused) as caught:
        set_up_secondaries.create_secondary(
            terms=Terms(**{"name": "partner", "addresses": [ADDRESS], **terms}), by=alice, now=NOW
        )
    return caught.value.fields


def token_of(alice: User, *scope: Grant) -> Actor:
    terms = TokenTerms("fleet", scope, permissions=frozenset({Permission.NODES, Permission.FLEET}))
    actor = actor_of_token(create_token(owner=alice, terms=terms, by=alice, now=NOW).token)
    assert actor is not None
    return actor


def test_its_secret_is_shown_once_and_stored_encrypted(alice: User) -> None:
    made = set_up_secondaries.create_secondary(terms=Terms(" Partner ", [" 9.9.9.9:53"]), by=alice, now=NOW)
    stored = Secondary.objects.get()
    assert made.secret.encode() not in bytes(stored.tsig_secret)
    assert decrypt_secret(stored.tsig_secret).decode() == made.secret
    assert (stored.name, stored.addresses) == ("partner", [ADDRESS])
    assert stored.tsig_name.startswith("partner-")
    assert stored.tsig_name.endswith(".secondaries.dnspanel.")
    entry = AuditEntry.objects.get(action="secondary.create")
    assert (entry.user, entry.target) == (alice, "partner")
    assert made.secret not in str(entry.details)


def test_a_form_sent_twice_makes_one_with_one_secret(alice: User) -> None:
    form_id = uuid4()
    first, second = (
        set_up_secondaries.create_secondary(terms=Terms("partner", [ADDRESS]), by=alice, now=NOW, form_id=form_id)
        for _ in range(2)
    )
    assert (first.secondary, first.secret) == (second.secondary, second.secret)


def test_what_is_wrong_stands_at_its_field(alice: User, make_secondary: MakeSecondary, settings: Any) -> None:
    assert refused(alice, name="a b").keys() == {"name"}
    assert refused(alice, addresses=[]).keys() == {"addresses"}
    assert "PANEL_SECONDARY_NETWORKS" in refused(alice, addresses=["127.0.0.1"])["addresses"][0]
    assert refused(alice, addresses=["ns.example.net"], networks=["x"], lag_bound=1, kind="djb").keys() == {
        "addresses",
        "networks",
        "lag_bound",
        "kind",
    }
    assert refused(alice, choice="tag", tag="not a tag!").keys() == {"tag"}
    assert refused(alice, choice="team", team=4711).keys() == {"team"}
    assert refused(alice, choice="list", zones=["nowhere.test."])["zones"] == ["Zone not found: nowhere.test."]
    make_secondary()
    assert refused(alice).keys() == {"name"}
    settings.SECONDARY_NETWORKS = ["127.0.0.0/8"]
    make_secondary("loopback", addresses=["127.0.0.1:5300"])


def test_what_is_wrong_with_tls_stands_at_its_field(alice: User, make_secondary: MakeSecondary, settings: Any) -> None:
    settings.UPDATE_TLS_PORT = 0
    assert "PANEL_UPDATE_TLS_PORT" in refused(alice, transport="tls")["transport"][0]
    settings.UPDATE_TLS_PORT = 853
    assert refused(alice, transport="smoke").keys() == {"transport"}
    assert refused(alice, transport="tls", kind="powerdns").keys() == {"transport"}
    assert refused(alice, transport="certificate").keys() == {"certificate"}
    assert refused(alice, transport="tls", certificate="mine", tls_port=0).keys() == {"certificate", "tls_port"}
    own = own_certificate()
    secondary = make_secondary(transport="certificate", certificate=f"{own.certificate}\n", tls_port=853)
    assert set_up_secondaries.terms_of(secondary).certificate == own.certificate
    details = AuditEntry.objects.get(action="secondary.create").details
    assert details["certificate"] == [hashlib.sha256(own.der).hexdigest()], "its fingerprint, which one can compare"


def test_only_who_may_change_nodes_and_sees_all_of_every_zone_sets_one_up(
    alice: User, bob: User, charlie: User, secondary: Secondary
) -> None:
    everything = Grant(frozenset({Right.READ}), everywhere=True)
    for person, error in [
        (bob, Forbidden),
        (charlie, Forbidden),
        (token_of(alice, Grant(frozenset({Right.READ}), tags=frozenset({"shop"}))), SeesTooLittle),
        (token_of(alice, Grant(frozenset({Right.READ}), everywhere=True, names=("www",))), SeesTooLittle),
    ]:
        with pytest.raises(error):
            set_up_secondaries.create_secondary(terms=Terms("other", [ADDRESS]), by=person, now=NOW)
        with pytest.raises(error):
            set_up_secondaries.change_secondary(
                secondary=secondary, terms=Terms("other", [ADDRESS]), by=person, now=NOW
            )
        for act in (set_up_secondaries.rotate_key, set_up_secondaries.delete_secondary, set_up_secondaries.notify_now):
            with pytest.raises(error):
                act(secondary=secondary, by=person, now=NOW)
    assert not access.may_set_up(bob)
    set_up_secondaries.create_secondary(terms=Terms("other", [ADDRESS]), by=token_of(alice, everything), now=NOW)


def test_a_change_says_what_was_and_moves_its_zones(
    alice: User, make_zone: MakeZone, make_secondary: MakeSecondary
) -> None:
    zone = make_zone()
    team = Team.objects.create(name="Shop", created_at=NOW)
    secondary = make_secondary(choice="team", team=team.pk)
    assert not Member.objects.exists()
    terms = Terms("renamed", [ADDRESS], choice="list", zones=["EXAMPLE.test"], networks=["192.0.2.0/24"])
    changed = set_up_secondaries.change_secondary(secondary=secondary, terms=terms, by=alice, now=NOW)
    assert (changed.name, changed.team_id, changed.tsig_name) == ("renamed", None, secondary.tsig_name)
    assert list(Member.objects.values_list("zone", flat=True)) == [zone.pk]
    entry = AuditEntry.objects.get(action="secondary.change")
    assert entry.details["before"]["name"] == "partner"
    assert entry.details["after"]["zones"] == ["example.test."]
    set_up_secondaries.change_secondary(
        secondary=secondary, terms=set_up_secondaries.terms_of(changed), by=alice, now=NOW
    )
    assert AuditEntry.objects.filter(action="secondary.change").count() == 1, "nothing was changed"


def test_one_that_is_gone_is_unknown(alice: User, secondary: Secondary) -> None:
    for _ in range(2):
        set_up_secondaries.delete_secondary(secondary=secondary, by=alice, now=NOW)
    assert AuditEntry.objects.filter(action="secondary.delete").count() == 1
    with pytest.raises(SecondaryUnknown):
        access.secondary_for(alice, secondary.pk)
    with pytest.raises(SecondaryUnknown):
        set_up_secondaries.rotate_key(secondary=secondary, by=alice, now=NOW)


def test_a_zone_is_shown_to_whom_the_zone_is(
    alice: User, charlie: User, make_zone: MakeZone, make_secondary: MakeSecondary
) -> None:
    make_zone()
    make_zone(name="other.test.")
    secondary = make_secondary()
    assert access.members_visible_to(charlie, secondary).count() == 2
    assert access.members_of_zone(charlie, make_zone(name="new.test.")).count() == 0
    limited = token_of(alice, Grant(frozenset({Right.READ}), zones=frozenset({Member.objects.all()[0].zone_id or 0})))
    assert access.members_visible_to(limited, secondary).count() == 1
