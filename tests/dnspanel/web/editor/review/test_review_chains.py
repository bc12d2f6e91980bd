"""The chains of trust in the review of a draft that changes DS records or the keys of other signers."""

import re

import pytest
from django.test import Client
from pytest_django.fixtures import DjangoAssertNumQueries

from dnspanel.accounts.actors.actors import EVERY_RIGHT, Grant
from dnspanel.accounts.models import GrantRow, Role, User
from dnspanel.web.editor.review.review_chains import MOST_CHAINS
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec import key_material, queries
from dnspanel.zones.drafts import draft
from dnspanel.zones.models import Zone
from dnspanel.zones.signing import sign
from tests.dnspanel.web.conftest import HTMX, Browser, MakeZone
from tests.dnspanel.zones.conftest import rr
from tests.people import NOW, make_person

REVIEW = "/zones/example.test./review/"
BY = Acting(None, "web", NOW)
UNKNOWN_DS = f"4711 13 2 {'ab' * 32}"


@pytest.fixture
def parent(make_zone: MakeZone) -> Zone:
    return make_zone("sub 300 NS ns1.example.net.")


@pytest.fixture
def child(parent: Zone, make_zone: MakeZone) -> Zone:
    found = make_zone(name="sub.example.test.")
    sign.sign(zones=[found], acting=BY)
    return found


def put(author: User, zone: Zone, line: str) -> None:
    draft.replace_rrset(author=author, zone=zone, rrset=rr(line, origin=zone.name), now=NOW)


def chains_of(client: Client, **headers: str) -> list[str]:
    page = client.get(REVIEW, headers=headers).content.decode()
    texts = [part.partition("</ol>")[0] for part in page.split('class="chain"')[1:]]
    return [" ".join(re.sub(r"<[^>]*>", " ", text.partition(">")[2]).split()) for text in texts]


def test_a_draft_shows_the_chain_that_its_ds_makes(parent: Zone, child: Zone, browser: Browser, bob: User) -> None:
    [key] = queries.keys_of(child)
    put(bob, parent, "www 300 A 192.0.2.1")
    assert chains_of(browser(bob)) == []
    put(bob, parent, f"sub 300 DS {key.ds[0]} | {UNKNOWN_DS}")
    expected = (
        "Root not checked yet example.test. valid: has the DS DS 4711 error: matches no key No key 4711 error: "
        f"DS {key.tag} valid: matches the key CSK {key.tag} signs keys and records Answers nodes not checked yet"
    )
    assert chains_of(browser(bob)) == [expected]
    assert chains_of(browser(bob), **HTMX, **{"HX-Target": "drawer-body"}) == [expected]


def test_keys_that_the_reviewer_may_not_see_are_not_checked(
    parent: Zone, child: Zone, browser: Browser, alice: User
) -> None:
    member = make_person("mia", Role.MEMBER)
    grant = Grant(EVERY_RIGHT, zones=frozenset({parent.pk}))
    GrantRow.objects.create(user=member, grant=grant.to_json(), created_at=NOW)
    [key] = queries.keys_of(child)
    put(member, parent, f"sub 300 DS {key.ds[0]}")
    [chain] = chains_of(browser(member))
    assert f"DS {key.tag} Key {key.tag} not checked yet" in chain
    put(alice, parent, f"elsewhere 300 DS {UNKNOWN_DS}")
    assert "DS 4711 Key 4711 not checked yet" in chains_of(browser(alice))[0]


def test_a_key_of_another_signer_joins_the_chain(parent: Zone, browser: Browser, bob: User) -> None:
    sign.sign(zones=[parent], acting=BY)
    public = key_material.generate(13).public
    put(bob, parent, f"@ 3600 DNSKEY {key_material.dnskey_text(257, 13, public)}")
    [chain] = chains_of(browser(bob))
    assert f"Key {key_material.key_tag(257, 13, public)} outside this panel" in chain


def test_many_ds_cost_as_much_as_a_few(
    parent: Zone, browser: Browser, bob: User, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(20):
        put(bob, parent, f"z{number} 300 DS {UNKNOWN_DS}")
    client = browser(bob)
    client.get(REVIEW)
    with django_assert_max_num_queries(60):
        found = chains_of(client)
    assert len(found) == MOST_CHAINS
