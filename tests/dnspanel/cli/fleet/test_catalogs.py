"""Tests of `dnspanel catalogs`."""

from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from dnspanel.accounts.actors.grants import EVERY_RIGHT, Grant
from dnspanel.accounts.actors.roles import Permission
from dnspanel.accounts.models import Role, User
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import create_token
from dnspanel.catalogs.models import Catalog, Listing, State
from dnspanel.catalogs.tasks import follow_producers
from dnspanel.zones.acting import Acting
from dnspanel.zones.models import Channel, Zone
from dnspanel.zones.publishing import edit
from tests.dnspanel.cli.conftest import Run
from tests.people import NOW, make_person

NAME = "catalog.partner.test"


@pytest.fixture
def as_alice(run: Run) -> Any:
    """Return a function that runs `dnspanel catalogs` with a token that can manage nodes."""
    alice = make_person("alice", Role.ADMINISTRATOR)
    permissions = frozenset({Permission.FLEET, Permission.NODES})
    terms = TokenTerms("catalogs", (Grant(EVERY_RIGHT, everywhere=True),), permissions=permissions)
    token = create_token(owner=alice, terms=terms, by=alice, now=timezone.now()).secret
    return lambda *args: run("catalogs", *args, token=token)


def test_one_is_followed_changed_given_rules_confirmed_and_followed_no_more(as_alice: Any, tmp_path: Path) -> None:
    secret = tmp_path / "key.txt"
    secret.write_text("c2l4dGVlbiBieXRlcyBub3c=\n")
    key = ("--key", "transfer.test", "--secret-file", str(secret))
    assert "No catalogs." in as_alice("list").err + as_alice("list").out
    made = as_alice("follow", NAME, "9.9.9.9", *key, "--tls", "--tls-name", "ns1.partner.test", "--within", "test")
    assert "awaited" in made.out
    catalog = Catalog.objects.select_related("zone__transferred").get()
    assert (catalog.within, catalog.zone.transferred.tls_names) == (["test."], ["ns1.partner.test"])
    assert as_alice("set", NAME, "--most-lost", "5", "--tag", "partner").code == 0
    catalog.refresh_from_db()
    assert (catalog.most_lost, catalog.tags, catalog.within) == (5, ["partner"], ["test."])
    assert "same as catalog" in as_alice("set-rule", NAME, "gold", "--tag", "gold").out
    assert "9.9.9.10" in as_alice("set-rule", NAME, "silver", "9.9.9.10").out
    assert "9.9.9.11" in as_alice("set-rule", NAME, "gold", "9.9.9.11").out
    assert [line.split()[0] for line in as_alice("rules", NAME).out.splitlines()[1:]] == ["gold", "silver"]
    assert "silver" not in as_alice("drop-rule", NAME, "silver").out
    assert as_alice("drop-rule", NAME, "silver").code == 1
    assert as_alice("confirm", NAME, "3").code == 1
    Catalog.objects.update(kept_since=NOW, kept_count=9, kept_revision=3)
    assert "kept" in as_alice("list").out
    assert "on its way" in as_alice("confirm", NAME, "3").out
    assert Catalog.objects.get().confirmed_revision == 3
    assert as_alice("show", NAME, "--output", "json").json["kept_revision"] == 3
    assert "Stopped following" in as_alice("unfollow", NAME).out
    assert not Catalog.objects.exists()


def test_the_zones_that_it_names_are_listed_with_what_became_of_each(as_alice: Any, run: Run) -> None:
    as_alice("follow", NAME, "9.9.9.9")
    catalog = Catalog.objects.get()
    for name, state, reason in (("a.test.", State.MEMBER, ""), ("b.test.", State.REFUSED, "It is here.")):
        Listing.objects.create(
            catalog=catalog, zone_name=name, label=name[0], groups=["gold"], state=state, reason=reason, since=NOW
        )
    lines = as_alice("zones", NAME).out.splitlines()
    assert [line.split()[0] for line in lines[1:]] == ["a.test.", "b.test."]
    assert "It is here." in lines[2]
    refused = as_alice("zones", NAME, "--state", "refused", "--output", "json").json
    assert [row["zone"] for row in refused] == ["b.test."]
    assert run("catalogs", "follow", "other.test", "9.9.9.9").code == 1, "Erin is an editor"
    assert "There is no catalog nowhere.test." in as_alice("show", "nowhere.test").err


def test_one_of_ours_is_made_filled_given_groups_and_emptied(as_alice: Any) -> None:
    alice = User.objects.get(username="alice")
    for name in ("one.test.", "two.test."):
        edit.create_zone(zone=edit.NewZone(name), acting=Acting(alice, Channel.API, NOW))
    Zone.objects.update(tags=["gold"])
    assert "No produced catalogs yet." in as_alice("ours").err + as_alice("ours").out
    assert "gold silver" in as_alice("make", "Ours.catalog", "--group", "gold", "--group", "silver").out
    assert (
        "No zones in the catalog yet."
        in as_alice("members", "ours.catalog").err + as_alice("members", "ours.catalog").out
    )
    assert as_alice("put-in", "ours.catalog", "one.test", "--output", "json").json == {"moved": 1}
    assert as_alice("put-in", "ours.catalog", "--tag", "gold", "--output", "json").json == {"moved": 1}
    assert "changing" in as_alice("ours").out
    follow_producers()
    assert "in step" in as_alice("ours").out
    assert [line.split()[:2] for line in as_alice("members", "ours.catalog").out.splitlines()[1:]] == [
        ["one.test.", "gold"],
        ["two.test.", "gold"],
    ]
    as_alice("make", "other.catalog")
    assert as_alice("put-in", "other.catalog", "one.test", "--output", "json").json == {"moved": 1}
    assert [line.split()[:3] for line in as_alice("ours").out.splitlines()] == [
        ["CATALOG", "MEMBERS", "LEAVING"],
        ["ours.catalog.", "1", "1"],
        ["other.catalog.", "1", "0"],
    ]
    assert as_alice("take-out", "ours.catalog", "two.test", "--output", "json").json == {"moved": 1}
    assert "two.test. is not in this catalog" in as_alice("take-out", "ours.catalog", "two.test").err
    assert "gold silver" in as_alice("groups", "ours.catalog").out
    assert "bronze" in as_alice("groups", "ours.catalog", "bronze").out
    assert as_alice("groups", "ours.catalog", "--none", "--output", "json").json["group_tags"] == []
    assert as_alice("groups", "ours.catalog", "gold", "--none").code == 2
    assert as_alice("members", "nowhere.catalog").code == 1
    assert "Deleted ours.catalog." in as_alice("delete", "ours.catalog", "--yes", "--confirm", "--reason", "Moved").out
    assert as_alice("members", "ours.catalog").code == 1
