"""The pages of DNSSEC policies and their runs.

Tests `dnssec.policy_forms`, `dnssec.policy_runs` and `dnssec.display_policy` too.
"""

import re
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client

from dnspanel.accounts.actors.actors import Grant, Right
from dnspanel.accounts.models import GrantRow, Role, Team, User
from dnspanel.accounts.rights.grant_edit import give_grant
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec import policy_queries, queries
from dnspanel.zones.dnssec.policy import Terms
from dnspanel.zones.models import DnssecPolicy, PolicyRun, Zone, ZoneKey
from dnspanel.zones.runs import policy_runs, run_turns
from dnspanel.zones.signing import policies, sign
from dnspanel.zones.signing.policies import Target
from replication.codec.dnssec import Nsec3
from tests.dnspanel.web.conftest import HTMX, Browser, MakeZone
from tests.dnspanel.zones.conftest import zone as zone
from tests.people import NOW, make_person

POLICIES, RUNS, ZONE_PAGE = "/dnssec/policies/", "/dnssec/runs/", "/zones/example.test./dnssec/"
FIELDS = {"policy_name": "Standard", "algorithm": "13", "denial": "nsec", "cds": "", "bits": ""}
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def policy(bob: User) -> DnssecPolicy:
    terms = Terms(nsec3=Nsec3(), cds="2", ksk_days=30)
    return policies.create_policy(name="Standard", terms=terms, is_default=True, by=bob, now=NOW)


def send(client: Client, path: str, **data: Any) -> Any:
    return client.post(path, {"form_id": uuid4(), **data}, follow=True)


def test_a_policy_is_made_and_changed_by_a_form(browser: Browser, bob: User) -> None:
    client = browser(bob)
    assert b"No policy yet" in client.get(POLICIES).content
    fields = FIELDS | {"denial": "nsec3", "opt_out": "on", "split": "on", "cds": "2,4", "zsk_days": "90"}
    page = send(client, POLICIES + "new/", **fields, is_default="on").content.decode()
    assert "Policy Standard created." in page
    policy = DnssecPolicy.objects.get()
    terms = policy_queries.terms_of(policy)
    assert terms == Terms(split=True, nsec3=Nsec3(opt_out=True), cds="2,4", zsk_days=90)
    assert policy.is_default
    page = client.get(POLICIES).content.decode()
    assert "ECDSAP256SHA256, KSK and ZSK, NSEC3 with opt-out" in page
    address = f"{POLICIES}{policy.pk}/"
    assert 'name="zsk_days" value="90"' in client.get(address).content.decode()
    send(client, address, **FIELDS | {"algorithm": "8", "bits": "3072", "first_ds": "on"})
    assert policy_queries.terms_of(DnssecPolicy.objects.get()) == Terms(algorithm=8, bits=3072, first_ds=True)
    assert "first DS automatic" in client.get(POLICIES).content.decode()
    assert re.search('name="first_ds"[^>]* checked', client.get(address).content.decode())


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"zsk_days": "9"}, "have a ZSK"),
        ({"policy_name": ""}, "This field is required"),
        ({"cds": "0"}, "not one of the available choices"),
        ({"denial": "nsec3", "salt": "a"}, "even number"),
    ],
)
def test_what_no_policy_can_say_stays_in_the_form(
    wrong: dict[str, str], message: str, browser: Browser, bob: User, policy: DnssecPolicy
) -> None:
    for path in (POLICIES + "new/", f"{POLICIES}{policy.pk}/"):
        response = send(browser(bob), path, **FIELDS | {"policy_name": "Other"} | wrong)
        assert response.status_code == 422
        assert message in response.content.decode()
    assert DnssecPolicy.objects.get().name == "Standard"


def test_tags_and_teams_are_attached_and_detached(browser: Browser, bob: User, policy: DnssecPolicy) -> None:
    client, address = browser(bob), f"{POLICIES}{policy.pk}/"
    team = Team.objects.create(name="Web ops", created_at=NOW)
    assert "assigned to tag shop" in send(client, address + "attach/", tag="Shop").content.decode()
    assert "team Web ops" in send(client, address + "attach/", team=team.pk).content.decode()
    page = client.get(address).content.decode()
    assert "#shop" in page
    assert "Web ops" in page
    for wrong in ({}, {"tag": "x", "team": team.pk}, {"tag": "two words"}):
        assert send(client, address + "attach/", **wrong).status_code == 422
    send(client, address + "detach/", team=team.pk)
    send(client, address + "detach/", tag="shop")
    assert "isn’t a valid tag" not in send(client, address + "detach/", tag="").content.decode()
    assert not policy.attachments.exists()


def test_a_policy_in_use_is_deleted_for_another_one(
    browser: Browser, bob: User, zone: Zone, policy: DnssecPolicy
) -> None:
    client, address = browser(bob), f"{POLICIES}{policy.pk}/delete/"
    policies.attach(policy=policy, to=Target(zone=zone), by=bob, now=NOW)
    assert b"1 zone uses the policy directly" in client.get(address).content
    refused = send(client, address)
    assert (refused.status_code, b"attached to 1 zone" in refused.content) == (422, True)
    heir = policies.create_policy(name="Heir", terms=Terms(), by=bob, now=NOW)
    assert "deleted. Zones haven’t changed" in send(client, address, replaced_by=heir.pk).content.decode()
    assert policy_queries.own_policy_of(zone) == heir
    assert client.get(address).status_code == 404


def test_readers_see_what_policies_say_and_no_more(browser: Browser, charlie: User, policy: DnssecPolicy) -> None:
    policies.attach(policy=policy, to=Target(tag="secret-customer"), by=None, now=NOW)
    client = browser(charlie)
    page = client.get(f"{POLICIES}{policy.pk}/").content.decode()
    assert "CSK 30 days" in page
    assert "secret-customer" not in page
    assert 'name="policy_name"' not in page
    assert "detach" not in page
    assert "Start run" not in page


def test_a_dry_run_is_looked_at_and_carried_out(
    browser: Browser, bob: User, make_zone: MakeZone, policy: DnssecPolicy
) -> None:
    client = browser(bob)
    for name in ("first", "second"):
        make_zone(name=f"{name}.test.")
    sign.add_key(zone=Zone.objects.get(name="second.test."), acting=Acting(bob, "web", NOW), active=False)
    page = client.get(f"{RUNS}?policy={policy.pk}").content.decode()
    assert f'<option value="{policy.pk}" selected' in page
    page = send(client, RUNS, policy=policy.pk, q="").content.decode()
    dry = PolicyRun.objects.get()
    assert "waiting for a worker" in page
    assert client.get(f"{RUNS}{dry.pk}/?seen=waiting-0", headers=HTMX).status_code == 204
    policy_runs.work_on_run(dry.pk)
    page = client.get(f"{RUNS}{dry.pk}/").content.decode()
    assert '<span class="strong">1</span> to be signed' in page
    assert "keys is used for signing" in page
    fragment = client.get(f"{RUNS}{dry.pk}/?seen=waiting-0", headers=HTMX).content.decode()
    assert "<html" not in fragment
    assert "Start run" in fragment
    form_id = uuid4()
    for _ in range(2):
        page = send(client, f"{RUNS}{dry.pk}/apply/", form_id=form_id).content.decode()
    run = PolicyRun.objects.latest("pk")
    assert (PolicyRun.objects.count(), run.dry_run_of) == (2, dry)
    policy_runs.work_on_run(run.pk)
    run.refresh_from_db()
    page = client.get(f"{RUNS}{run.pk}/").content.decode()
    assert '<span class="strong">1</span> now signed' in page
    assert f"/publications/{run.last_sequence}/" in page
    assert "applied" in client.get(RUNS).content.decode()
    policies.attach(policy=policy, to=Target(tag="x"), by=bob, now=NOW)
    assert "have changed since this dry run" in send(client, f"{RUNS}{dry.pk}/apply/").content.decode()
    assert "is invalid" in client.post(f"{RUNS}{dry.pk}/apply/", follow=True).content.decode()


def test_a_run_is_cancelled_on_its_page(browser: Browser, bob: User, policy: DnssecPolicy) -> None:
    client = browser(bob)
    send(client, RUNS, q="shop")
    run = PolicyRun.objects.get()
    assert "all zones matching “shop”" in client.get(RUNS).content.decode()
    assert "Run cancelled" in send(client, f"{RUNS}{run.pk}/cancel/").content.decode()
    assert "has already ended" in send(client, f"{RUNS}{run.pk}/cancel/").content.decode()
    for _ in range(run_turns.MOST_UNFINISHED):
        send(client, RUNS, q="shop")
    refused = send(client, RUNS, q="shop")
    assert (refused.status_code, b"unfinished runs" in refused.content) == (422, True)


def test_somebody_elses_run_is_not_there(browser: Browser, bob: User, zone: Zone, policy: DnssecPolicy) -> None:
    member = make_person("mia", Role.MEMBER)
    grant = Grant(frozenset({Right.READ, Right.DNSSEC}), zones=frozenset({zone.pk}))
    GrantRow.objects.create(user=member, grant=grant.to_json(), created_at=NOW)
    run = policy_runs.create_run(by=bob, now=NOW)
    assert browser(member).get(f"{RUNS}{run.pk}/").status_code == 404
    assert browser(member).get(RUNS).status_code == 200


def test_the_page_of_a_zone_says_its_policy_and_makes_it_so(
    browser: Browser, bob: User, zone: Zone, policy: DnssecPolicy
) -> None:
    client = browser(bob)
    page = client.get(ZONE_PAGE).content.decode()
    assert "the panel’s default" in page
    assert "ECDSAP256SHA256, one key (CSK), NSEC3" in page
    assert '<input type="radio" name="denial" value="nsec3"' in page
    assert "Other settings: algorithm" in page
    page = send(client, ZONE_PAGE + "follow/").content.decode()
    assert "The policy was applied to" in page
    assert "The zone matches its policy." in page
    state = queries.signing_of(zone)
    assert (state.nsec3, state.cds) == (Nsec3(), "2")
    assert "example.test. didn’t need any changes.<" in send(client, ZONE_PAGE + "follow/").content.decode()
    sign.set_denial(zone=zone, nsec3=None, acting=Acting(bob, "web", NOW))
    ZoneKey.objects.update(created_at=NOW - timedelta(days=3650))
    page = client.get(ZONE_PAGE).content.decode()
    assert "Change from NSEC to NSEC3." in page
    assert "has exceeded the lifetime set in the policy" in page
    assert "Apply policy" in page
    sign.add_key(zone=zone, acting=Acting(bob, "web", NOW), active=False)
    assert "aren’t used for signing" in send(client, ZONE_PAGE + "follow/").content.decode()


def test_a_zone_is_given_a_policy_of_its_own(browser: Browser, bob: User, zone: Zone, policy: DnssecPolicy) -> None:
    client = browser(bob)
    own = policies.create_policy(name="Own", terms=Terms(), by=bob, now=NOW)
    page = send(client, ZONE_PAGE + "policy/", policy=own.pk).content.decode()
    assert "set for this zone" in page
    assert f'<option value="{own.pk}" selected' in page
    assert b"example.test." in client.get(f"{POLICIES}{own.pk}/").content
    assert send(client, ZONE_PAGE + "policy/", policy=4711).status_code == 422
    assert "no longer has its own policy" in send(client, ZONE_PAGE + "policy/", policy="").content.decode()
    for each in (own, policy):
        policies.delete_policy(policy=each, by=bob, now=NOW)
    assert (
        "No policy applies to example.test. Nothing was changed" in send(client, ZONE_PAGE + "follow/").content.decode()
    )
    assert "applies to this zone" in client.get(ZONE_PAGE).content.decode()


def test_members_are_told_of_no_policy_of_others(browser: Browser, zone: Zone, policy: DnssecPolicy) -> None:
    """Previously the forms of runs and zones listed the names of all policies."""
    policies.create_policy(name="Of a customer", terms=Terms(), by=None, now=NOW)
    mia = make_person("mia", "member")
    grant = Grant(frozenset({Right.READ, Right.DNSSEC}), zones=frozenset({zone.pk}))
    give_grant(grant=grant, to=mia, by=None, now=NOW)
    client = browser(mia)
    for address in (POLICIES, RUNS, ZONE_PAGE):
        page = client.get(address)
        assert page.status_code == 200, address
        assert b"Standard" in page.content, address
        assert b"Of a customer" not in page.content, address
    hidden = DnssecPolicy.objects.get(name="Of a customer")
    assert client.get(f"{POLICIES}{hidden.pk}/").status_code == 404
    assert client.get(f"{POLICIES}{policy.pk}/").status_code == 200
    send(client, f"{ZONE_PAGE}policy/", policy=hidden.pk)
    assert policy_queries.own_policy_of(zone) is None
