"""The delegation of new zones, which is drafted in their parent zones."""

import pytest

from dnspanel.accounts.actors.actors import RECORD_RIGHTS, Grant, Right
from dnspanel.accounts.models import GrantRow, Role, User
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec.queries import keys_of
from dnspanel.zones.drafts import draft
from dnspanel.zones.models import Channel, Operation, Zone
from dnspanel.zones.publishing import delegation, revision
from dnspanel.zones.signing import sign
from dnspanel.zones.store.store_rrsets import rrsets_of_zones
from dnspanel.zones.values.reverse_names import classless_aliases
from tests.dnspanel.zones.conftest import ZONE, MakeZone, rr
from tests.people import NOW, make_person

SUB = f"sub.{ZONE}"


@pytest.fixture
def sub(zone: Zone, make_zone: MakeZone) -> Zone:
    """Create a child of the zone. One of its name servers is inside the child."""
    return make_zone("@ 600 NS ns | ns2.example.net.", "ns 300 A 192.0.2.5", "ns 300 AAAA 2001:db8::5", name=SUB)


def drafted(person: User) -> set[tuple[str, str]]:
    edits = [draft.edit_of(operation).change for operation in Operation.objects.filter(draft__author=person)]
    return {(change.name, " | ".join(change.after.rdata)) for change in edits if change.after}


def test_the_draft_delegates_with_glue(bob: User, zone: Zone, sub: Zone) -> None:
    assert delegation.draft_delegations(zone_names=[SUB], author=bob, now=NOW) == [zone]
    assert drafted(bob) == {
        (SUB, f"ns.{SUB} | ns2.example.net."),
        (f"ns.{SUB}", "192.0.2.5"),
        (f"ns.{SUB}", "2001:db8::5"),
    }
    (planned,) = revision.preview(author=bob)
    assert planned.violations == (), "a delegation is nothing that the zone below answers for"
    revision.publish(acting=Acting(bob, Channel.WEB, NOW))
    assert rrsets_of_zones([zone.pk])[zone.pk][SUB, 2].ttl == 600
    assert delegation.draft_delegations(zone_names=[SUB], author=bob, now=NOW) == [], "it is so already"
    assert drafted(bob) == set()


def test_what_is_disabled_is_not_delegated_to(zone: Zone) -> None:
    servers = rr("sub 300 NS ns.sub | ns2.example.net.", disabled=("ns2.example.net.",))
    off = rr("ns.sub 300 A 192.0.2.5", disabled=("192.0.2.5",))
    assert [r.rdata for r in delegation.delegation_rrsets(SUB, [servers, off])] == [(f"ns.{SUB}",)]
    assert delegation.delegation_rrsets(SUB, [off]) == []


@pytest.mark.parametrize(
    ("grant", "is_drafted"),
    [
        (Grant(RECORD_RIGHTS | {Right.READ}), True),
        (Grant(RECORD_RIGHTS | {Right.READ}, names=("www",)), False),
        (Grant(frozenset({Right.READ})), False),
        (None, False),
    ],
)
def test_only_who_may_change_the_zone_above_delegates(
    zone: Zone, sub: Zone, grant: Grant | None, is_drafted: bool
) -> None:
    nick = make_person("nick", Role.MEMBER)
    if grant is not None:
        GrantRow.objects.create(user=nick, grant=grant.to_json() | {"zones": [zone.pk]}, created_at=NOW)
    assert delegation.draft_delegations(zone_names=[SUB, ZONE], author=nick, now=NOW) == [zone] * is_drafted
    assert bool(drafted(nick)) is is_drafted


def test_a_classless_zone_gets_the_cnames_that_lead_into_it(bob: User, make_zone: MakeZone) -> None:
    above = make_zone("65 60 PTR kept.example.", name="2.0.192.in-addr.arpa.")
    make_zone(name="64/30.2.0.192.in-addr.arpa.")
    assert delegation.draft_delegations(zone_names=["64/30.2.0.192.in-addr.arpa."], author=bob, now=NOW) == [above]
    assert drafted(bob) == {
        ("64/30.2.0.192.in-addr.arpa.", "ns1.example.net. | ns2.example.net."),
        *((f"{n}.2.0.192.in-addr.arpa.", f"{n}.64/30.2.0.192.in-addr.arpa.") for n in (64, 66, 67)),
    }
    (planned,) = revision.preview(author=bob)
    assert planned.errors == ()
    revision.publish(acting=Acting(bob, Channel.WEB, NOW))
    parent, traces = delegation.traces_of(bob, "64/30.2.0.192.in-addr.arpa.") or (None, [])
    assert parent == above
    assert len(traces) == 4
    assert delegation.draft_removal(parent=above, rrsets=traces, author=bob, now=NOW) == 4


def test_a_signed_zone_gets_its_ds_and_what_delegates_it_is_found_again(alice: User, zone: Zone, sub: Zone) -> None:
    sign.sign(zones=[sub], acting=Acting(alice, "web", NOW))
    delegation.draft_delegations(zone_names=[SUB], author=alice, now=NOW)
    (key,) = [key for key in keys_of(sub) if key.ds]
    assert (SUB, key.ds[0]) in drafted(alice)
    (planned,) = revision.preview(author=alice)
    assert planned.violations == (), "the DS leads to the zone"
    revision.publish(acting=Acting(alice, Channel.WEB, NOW))
    draft.replace_rrset(author=alice, zone=zone, rrset=rr("other.sub 60 A 192.0.2.6"), now=NOW)
    revision.publish(acting=Acting(alice, Channel.WEB, NOW), consent=revision.Consent(accept_warnings=True))
    parent, traces = delegation.traces_of(alice, SUB) or (None, [])
    assert parent == zone
    assert sorted((rrset.name, rrset.type) for rrset in traces) == [
        (f"ns.{SUB}", 1),
        (f"ns.{SUB}", 28),
        (SUB, 2),
        (SUB, 43),
    ], "what is no glue stays"
    assert delegation.traces_of(alice, ZONE) is None


@pytest.mark.parametrize("name", ["64/24", "65/30", "x/30", "64", "64/33", "٦/32"])
def test_other_names_are_no_classless_zones(name: str) -> None:
    assert classless_aliases(f"{name}.2.0.192.in-addr.arpa.") == {}
    assert classless_aliases(f"{name}.example.") == {}
