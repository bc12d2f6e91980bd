"""Tests of grants: the zones and RRsets that they cover, and their storage."""

from dnspanel.accounts.actors.actors import EVERY_RIGHT, Grant, Right

ZONE = "example.test."


def test_a_grant_covers_zones_by_id_tag_team_or_all() -> None:
    rights = frozenset({Right.READ})
    by_id, by_tag = Grant(rights, zones=frozenset({7})), Grant(rights, tags=frozenset({"shop"}))
    by_team, all_of_them = Grant(rights, teams=frozenset({3})), Grant(rights, everywhere=True)
    facts = {7: (("blog",), None), 8: (("shop", "blog"), None), 9: ((), 3), 10: ((), None)}
    covered = {
        name: {id for id, (tags, team) in facts.items() if grant.covers_zone(id, tags, team)}
        for name, grant in {"id": by_id, "tag": by_tag, "team": by_team, "all": all_of_them}.items()
    }
    assert covered == {"id": {7}, "tag": {8}, "team": {9}, "all": {7, 8, 9, 10}}
    assert not Grant(rights).covers_zone(7, ["shop"], 3)


def test_names_and_types_limit_together() -> None:
    grant = Grant(EVERY_RIGHT, everywhere=True, names=("_acme-challenge*",), types=frozenset({16}))
    assert grant.is_limited
    assert grant.covers_rrset(ZONE, "_acme-challenge.example.test.", 16)
    assert not grant.covers_rrset(ZONE, "_acme-challenge.example.test.", 1)
    assert not grant.covers_rrset(ZONE, "www.example.test.", 16)
    assert Grant(EVERY_RIGHT, everywhere=True).covers_rrset(ZONE, "www.example.test.", 16)


def test_what_is_stored_reads_back_equal() -> None:
    grant = Grant(
        frozenset({Right.ADD, Right.READ}),
        False,
        frozenset({3, 1}),
        frozenset({"b", "a"}),
        frozenset({9}),
        ("x*",),
        frozenset({16, 1}),
    )
    assert Grant.from_json(grant.to_json()) == grant
