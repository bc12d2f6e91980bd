"""Tests of token presets: a token can do its task and nothing else."""

from datetime import timedelta

import pytest

from dnspanel.accounts.actors.actors import RECORD_RIGHTS, Permission, Right
from dnspanel.accounts.tokens import presets
from dnspanel.accounts.tokens.token_terms import TokenTerms
from replication.dns import rdtypes
from replication.errors import BadName
from tests.people import NOW

ZONE = "example.test."


def lets(terms: TokenTerms, right: Right, name: str, type: int, zone_id: int = 7) -> bool:
    return any(
        right in grant.rights and grant.covers_zone(zone_id, (), None) and grant.covers_rrset(ZONE, name, type)
        for grant in terms.scope
    )


@pytest.mark.parametrize("name", ["www.example.test.", "*.www.example.test."])
def test_an_acme_token_proves_one_name_and_does_nothing_else(name: str) -> None:
    terms = presets.acme_terms(zone_id=7, name=name, now=NOW)
    challenge = "_acme-challenge.www.example.test."
    assert all(lets(terms, right, challenge, rdtypes.TXT) for right in RECORD_RIGHTS | {Right.READ})
    assert not lets(terms, Right.ADD, challenge, rdtypes.A)
    assert not lets(terms, Right.ADD, "_acme-challenge.example.test.", rdtypes.TXT)
    assert not lets(terms, Right.ADD, "www.example.test.", rdtypes.TXT)
    assert not lets(terms, Right.ADD, challenge, rdtypes.TXT, zone_id=8)
    assert not any(lets(terms, right, challenge, rdtypes.TXT) for right in (Right.DELETE_ZONE, Right.SETTINGS))
    assert terms.expires_at == NOW + timedelta(days=90)
    assert terms.unused_days == 90
    assert terms.permissions == frozenset()


def test_the_place_of_a_proof_must_fit_into_a_name() -> None:
    with pytest.raises(BadName):
        presets.acme_name(".".join(["x" * 60] * 4) + ".")


def test_a_dyndns_token_sets_the_addresses_of_one_host() -> None:
    terms = presets.dyndns_terms(zone_id=7, name="home.example.test.", now=NOW)
    assert lets(terms, Right.CHANGE, "home.example.test.", rdtypes.A)
    assert lets(terms, Right.ADD, "home.example.test.", rdtypes.AAAA)
    assert not lets(terms, Right.CHANGE, "home.example.test.", rdtypes.TXT)
    assert not lets(terms, Right.CHANGE, "www.home.example.test.", rdtypes.A)
    assert terms.unused_days == 90


def test_a_token_for_a_wildcard_host_is_not_one_for_every_host() -> None:
    terms = presets.dyndns_terms(zone_id=7, name="*.home.example.test.", now=NOW)
    assert lets(terms, Right.CHANGE, "*.home.example.test.", rdtypes.A)
    assert not lets(terms, Right.CHANGE, "www.home.example.test.", rdtypes.A)


def test_a_ci_token_edits_one_zone_and_cannot_delete_it() -> None:
    terms = presets.ci_terms(zone_id=7, zone_name=ZONE, now=NOW)
    assert lets(terms, Right.REMOVE, "any.example.test.", rdtypes.MX)
    assert not lets(terms, Right.REMOVE, "any.example.test.", rdtypes.MX, zone_id=8)
    assert not lets(terms, Right.DELETE_ZONE, ZONE, rdtypes.SOA)
    assert terms.unused_days is None


def test_a_monitoring_token_sees_zones_and_nodes_and_changes_nothing() -> None:
    terms = presets.monitoring_terms(now=NOW)
    assert lets(terms, Right.READ, "any.example.test.", rdtypes.MX)
    assert not any(lets(terms, right, "any.example.test.", rdtypes.MX) for right in RECORD_RIGHTS)
    assert terms.permissions == {Permission.FLEET}


def test_each_preset_has_a_purpose_that_fits_its_column_and_a_label() -> None:
    long = ".".join(["x" * 60] * 3) + "."
    assert len(presets.acme_terms(zone_id=7, name=long, now=NOW).purpose) <= 100
    assert all(preset.label for preset in presets.Preset)
