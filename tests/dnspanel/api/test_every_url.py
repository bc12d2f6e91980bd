"""Tests of every API URL and method with every kind of caller, against the reviewed table in `endpoints`.

A URL or method without a row in the table fails: a change that adds one must say who can use it.
"""

from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from datetime import timedelta
from functools import cache
from typing import Any
from uuid import uuid4

import pytest
from django.conf import settings
from django.db import transaction
from django.test import override_settings
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from django.utils import timezone
from pytest_django import DjangoDbBlocker

from dnspanel.accounts.actors.actors import Grant, Right
from dnspanel.accounts.models import ProviderKind, Role, SignInProvider, Team, User
from dnspanel.accounts.people import teams
from dnspanel.accounts.rights import grant_edit
from dnspanel.accounts.scim.directories import DirectoryTerms, create_directory
from dnspanel.accounts.secrets.vault import encrypt_secret
from dnspanel.accounts.tokens import tokens
from dnspanel.accounts.tokens.presets import ci_terms
from dnspanel.audit.forward.models import Destination
from dnspanel.catalogs import producer
from dnspanel.catalogs import set_up_catalogs as catalogs
from dnspanel.fleet.dnssec import node_answers
from dnspanel.fleet.models import Node
from dnspanel.primaries import set_up_primaries as primaries
from dnspanel.primaries.models import TransferredZone
from dnspanel.secondaries import set_up_secondaries
from dnspanel.transfer.exports import export_jobs
from dnspanel.transfer.exports.exported_zones import EVERYTHING
from dnspanel.transfer.imports import import_jobs
from dnspanel.transfer.models import ExportJob, SourceKind
from dnspanel.transfer.zone_templates import runs as template_runs
from dnspanel.transfer.zone_templates.edit_template import Head, Text, create_template
from dnspanel.webhooks import place_publish_hooks
from dnspanel.webhooks.models import Delivery, Event, EventKind, Webhook
from dnspanel.webhooks.place_publish_hooks import HookTerms
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec.policy import Terms
from dnspanel.zones.dnssec.rollover_stages import Kind
from dnspanel.zones.drafts import draft, named_drafts
from dnspanel.zones.governance import publish_rules
from dnspanel.zones.governance.publish_rules import ApprovalTerms, FreezeTimes, Scope
from dnspanel.zones.models import (
    Channel,
    KeptAddresses,
    Operation,
    Publication,
    RunState,
    TemplateKind,
    Zone,
    ZoneAct,
    ZoneTemplate,
)
from dnspanel.zones.publishing import revision
from dnspanel.zones.requests import publish_requests, request_status
from dnspanel.zones.rights import locks
from dnspanel.zones.rights.locks import NO_MANAGER
from dnspanel.zones.runs import change_runs, policy_runs
from dnspanel.zones.runs.change_runs import Alike
from dnspanel.zones.settings.server_sets import Host, Servers
from dnspanel.zones.signing import policies, rollovers, sign
from tests import database
from tests.dnspanel.api.callers import STRANGERS, ZONE, Api, Caller, MakeApi, api_of
from tests.dnspanel.api.endpoints import (
    AT_REQUEST,
    COLUMNS,
    ENDPOINTS,
    KEPT_BACK,
    LIKE,
    OPEN,
    OTHERWISE,
    Endpoint,
    State,
)
from tests.dnspanel.fleet.conftest import create_active_node, create_front
from tests.dnspanel.transfer.zone_templates.test_server_set_text import make_set
from tests.dnspanel.zones.conftest import rr, zone_maker
from tests.full import Sample
from tests.people import NOW, make_person
from tests.walks import walk

DYNDNS_STATUSES = {b"good": 200, b"nochg": 200, b"nohost": 404, b"!yours": 403}
METHODS = {"GET", "POST", "PUT", "PATCH", "DELETE"}
Call = Callable[..., int]
ALONE = nullcontext()


def api_urls(resolver: URLResolver, *, inside: bool = False) -> Iterator[str]:
    """Yield the URLs of the APIs.

    The SCIM URLs have other callers and a table of their own in `scim/test_every_url.py`.
    """
    for pattern in resolver.url_patterns:
        if isinstance(pattern, URLResolver) and pattern.namespace == "scim":
            continue
        if isinstance(pattern, URLResolver):
            yield from api_urls(pattern, inside=inside or pattern.namespace == "api")
        elif inside and isinstance(pattern, URLPattern):
            yield str(pattern.name)


@pytest.fixture(scope="module")
def api() -> MakeApi:
    """Return a function like the usual fixture `api`. Its clients keep their tokens for the whole module."""
    return cache(lambda caller: api_of(caller, zone_id=Zone.objects.get(name=ZONE).pk))


@pytest.fixture(scope="module")
def things(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker, api: MakeApi, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Any]]:
    """Yield an object for each argument of the endpoints, by argument name. All tests of the module share them."""
    folder = tmp_path_factory.mktemp("transfer")
    with (
        override_settings(TRANSFER_DIR=folder, OUTBOUND_NETWORKS=["192.0.2.0/24"], SOURCE_NETWORKS=["192.0.2.0/24"]),
        database.lasting_rows(django_db_blocker),
    ):
        alice, charlie = make_person("alice", Role.ADMINISTRATOR), make_person("charlie", Role.READER)
        found = things_of(alice, charlie, api)
        for caller in Caller:
            api(caller)
        found["other_team"] = Team.objects.get(name="Other").pk  # created by that caller
        yield found


def things_of(alice: User, charlie: User, api: MakeApi) -> dict[str, Any]:
    """Create the objects, all owned by Alice."""
    make_zone = zone_maker(alice)
    zone = make_zone("www 300 A 192.0.2.1", "mail 300 A 192.0.2.2", '_acme-challenge.www 60 TXT "old"')
    draft.replace_rrset(author=alice, zone=zone, rrset=rr("mail 300 A 192.0.2.5"), now=NOW)
    aside = named_drafts.put_aside(author=alice, name="Aside already", now=NOW)
    draft.replace_rrset(author=alice, zone=zone, rrset=rr("asked 300 A 192.0.2.6"), now=NOW)
    made = publish_requests.ask(author=alice, name="Asked", now=NOW)
    for address, publish in (("192.0.2.3", True), ("192.0.2.4", False)):
        draft.replace_rrset(
            author=alice, zone=zone, rrset=rr(f"www 300 A {address}"), now=NOW, base_revision=zone.revision
        )
        if publish:
            revision.publish(acting=Acting(alice, Channel.WEB, NOW), zones=[zone])
            zone.refresh_from_db()
    gone = make_zone("www 300 A 192.0.2.1", name="gone.test.")
    Zone.objects.filter(pk=gone.pk).update(deleted_at=gone.created_at)
    make_zone(name="www.below.test.")
    inside = [make_zone(name=f"{label}.example.test.") for label in ("inside", "gone")]
    Zone.objects.filter(pk__in=[one.pk for one in inside]).update(tags=["other"])
    Zone.objects.filter(pk=inside[1].pk).update(deleted_at=gone.created_at)
    governed = Scope(zone=make_zone(name="governed.test."))
    rule = publish_rules.add_approval_rule(
        scope=governed, terms=ApprovalTerms(), reason="Four eyes", author=alice, now=NOW
    )
    times = FreezeTimes(NOW, NOW + timedelta(hours=1))
    freeze = publish_rules.add_freeze(scope=governed, times=times, reason="A move", author=alice, now=NOW)
    checking = place_publish_hooks.add_hook(
        scope=governed, terms=HookTerms("https://9.9.9.9/"), reason="Checks", author=alice, now=NOW
    ).hook
    create_active_node("ns1")
    create_front("front1")
    Node.objects.update(dns_address="127.0.0.1", dns_port=1)  # no server listens there
    team = teams.create_team(name="Ours", by=alice, now=NOW)
    grant = grant_edit.give_grant(grant=Grant(frozenset({Right.READ}), everywhere=True), to=team, by=alice, now=NOW)
    terms = ci_terms(zone_id=zone.pk, zone_name=zone.name, now=NOW)
    token = tokens.create_token(owner=alice, terms=terms, by=alice, now=NOW).token
    key = tokens.create_tsig_key(owner=alice, name="key.test.", terms=terms, by=alice, now=NOW).token
    job = import_jobs.create_job(source=SourceKind.FILES, title="zones", author=alice, now=NOW)
    admin = tokens.actor_by_secret(secret=api(Caller.ADMINISTRATOR).secret, address="192.0.2.10", now=timezone.now())
    exported = export_jobs.create_export(selection=EVERYTHING, export_format="bind", author=admin, now=NOW)
    written = export_jobs.create_export(selection=EVERYTHING, export_format="bind", author=admin, now=NOW)
    ExportJob.objects.filter(pk=written.pk).update(state=RunState.DONE, size=4)
    export_jobs.exports_directory().mkdir()
    export_jobs.export_path(written).write_bytes(b"gzip")
    hook = Webhook.objects.create(
        owner=alice,
        url="https://hooks.example.test/",
        events=["publication.saved"],
        created_at=NOW,
        secret=encrypt_secret(b"whsec_x"),
    )
    partner = set_up_secondaries.create_secondary(
        terms=set_up_secondaries.Terms("partner", ["9.9.9.9"]), by=alice, now=NOW
    ).secondary
    primaries.create_transferred_zone(
        name="elsewhere.test.", terms=primaries.Terms(["9.9.9.9"]), acting=Acting(alice, Channel.API, NOW)
    )
    TransferredZone.objects.update(serial=1)
    catalog = catalogs.follow_catalog(
        name="followed.catalog.",
        primaries_terms=primaries.Terms(["9.9.9.9"]),
        terms=catalogs.CatalogTerms(),
        acting=Acting(alice, Channel.API, NOW),
    )
    ours = producer.create_catalog(name="ours.catalog.", acting=Acting(alice, Channel.API, NOW))
    producer.take_in(catalog=ours, zone_ids=[zone.pk], author=alice, now=NOW)
    event = Event.objects.create(uid=uuid4(), kind=EventKind.PING, subject="ping:x", at=NOW)
    delivery = Delivery.objects.create(webhook=hook, event=event, number=1, created_at=NOW)
    acting = Acting(None, Channel.API, NOW)
    dnssec_key = sign.add_key(zone=zone, acting=acting, active=False)
    signed = [make_zone(name=f"{label}.test.") for label in ("rolled", "signed")]
    sign.sign(zones=signed, acting=acting)
    rollover = rollovers.begin(zone=signed[0], kind=Kind.CSK, acting=acting)
    policy = policies.create_policy(name="Standard", terms=Terms(), by=alice, now=NOW)
    run = policy_runs.create_run(by=alice, now=NOW)
    head, content = Head("Web"), Text("www A 192.0.2.9")
    template = create_template(head=head, kind=TemplateKind.ZONE, content=content, by=alice, now=NOW)
    template_run = template_runs.create_run(template=template, by=admin, now=NOW)
    change_run = change_runs.create_run(alike=Alike(ZoneAct.ADD_TAGS, ("shop",)), by=admin, now=NOW)
    published = Publication.objects.get(revisions__zone=zone, revisions__number=2)
    return {
        "zone_id": gone.pk,
        "inside_id": inside[1].pk,
        "sequence": published.sequence,
        "operation_id": Operation.objects.get(draft__author=alice).pk,
        "key": aside.key,
        "request_key": made.key,
        "digest": request_status.status_of(made, alice).digest,
        "rule_id": rule.pk,
        "freeze_id": freeze.pk,
        "hook_id": checking.pk,
        "team_id": team.pk,
        "team": team.pk,
        "user_id": charlie.pk,
        "grant_id": grant.pk,
        "token_id": token.pk,
        "key_id": key.pk,
        "dnssec_key": dnssec_key.pk,
        "rollover_id": rollover.pk,
        "import_id": job.pk,
        "policy_id": policy.pk,
        "run_id": run.pk,
        "template_id": template.pk,
        "template_run_id": template_run.pk,
        "set_id": _kept_set(zone).pk,
        "change_run_id": change_run.pk,
        "export_id": exported.pk,
        "tomorrow": (timezone.now() + timedelta(days=1)).isoformat(),
        "written": written.pk,
        "webhook_id": hook.pk,
        "provider_id": SignInProvider.objects.create(
            slug="work",
            name="Work",
            issuer="https://127.0.0.1:1",
            client_id="x",
            session_hours=12,
            client_secret=encrypt_secret(b"x"),
            scopes="openid",
            group_claim="groups",
            created_at=NOW,
        ).pk,
        "saml_id": SignInProvider.objects.create(
            kind=ProviderKind.SAML,
            slug="saml",
            name="Saml",
            issuer="https://127.0.0.1:1",
            client_id="x",
            session_hours=12,
            group_claim="groups",
            created_at=NOW,
        ).pk,
        "directory_id": create_directory(terms=DirectoryTerms("Okta"), by=alice, now=NOW)[0].pk,
        "destination_id": Destination.objects.create(
            name="SIEM", kind="syslog", address="127.0.0.1:6514", created_at=NOW
        ).pk,
        "ldap_id": SignInProvider.objects.create(
            kind=ProviderKind.LDAP,
            slug="ldap",
            name="Ldap",
            issuer="ldaps://127.0.0.1:1",
            session_hours=12,
            group_claim="member",
            created_at=NOW,
        ).pk,
        "delivery_id": delivery.pk,
        "secondary_id": partner.pk,
        "catalog_id": catalog.pk,
    }


def _kept_set(zone: Zone) -> ZoneTemplate:
    """Return a set of name servers with a name in the zone and the address of a node."""
    made = make_set("House", Servers((Host(f"ns1.{zone.name}", nodes=("ns1",)),)), is_default=False)
    KeptAddresses.objects.create(template=made, zone=zone, set_at=NOW)
    return made


@pytest.fixture
def call(things: dict[str, Any], api: MakeApi, db: None, monkeypatch: pytest.MonkeyPatch) -> Call:
    """Return a function that calls an endpoint as a caller, rolls back all changes, and returns the status."""
    monkeypatch.setattr(node_answers, "SECONDS", 0.05)
    monkeypatch.setattr(settings, "DNS_RESOLVERS", ["127.0.0.1:1"])  # no server listens there

    def known(values: Any) -> Any:
        return {
            name: things[name if value == "?" else value[1:]] if str(value)[:1] == "?" else value
            for name, value in values.items()
        }

    def call(endpoint: Endpoint, caller: Caller, *states: State, around: AbstractContextManager[object] = ALONE) -> int:
        nothing = {"v1-nothing": "/api/v1/nothing", "v2-nothing": "/api/v2/nothing"}
        url = nothing.get(endpoint.name) or reverse(f"api:{endpoint.name}", kwargs=known(endpoint.args))
        body = known(endpoint.body) if isinstance(endpoint.body, dict) else endpoint.body
        client: Api = api(caller)
        kind = "application/octet-stream" if isinstance(body, bytes) else "application/json"
        headers = {"Authorization": f"Basic {_basic(client.secret)}"} if endpoint.name.startswith("dyndns") else {}
        if endpoint.name.startswith("v1"):
            headers = {"X-API-Key": client.secret, "Authorization": "", "Accept": "application/json"}
        # Marked like the test's own block, so that functions which must be outermost accept it.
        block = transaction.atomic()
        block._from_testcase = True  # type: ignore[attr-defined]
        with block:
            for state in states:
                _bring_into(state)
            with around:
                response = client.send(endpoint.method, url, body, content_type=kind, headers=headers, **endpoint.query)
            transaction.set_rollback(True)
        if endpoint.name.startswith("dyndns") and response.status_code == 200:
            return DYNDNS_STATUSES[response.content.split()[0]]
        status: int = response.status_code
        return status

    return call


def _bring_into(state: State) -> None:
    """Bring the zone of the endpoints into the state, until the transaction is rolled back."""
    alice, zone, now = User.objects.get(username="alice"), Zone.objects.get(name=ZONE), timezone.now()
    terms: dict[str, Any] = {"reason": "As it is", "author": alice, "now": now}
    if state is State.LOCKED:
        locks.add_lock(zone=zone, name="", type=None, manager=NO_MANAGER, **terms)
    elif state is State.FROZEN:
        times = FreezeTimes(now - timedelta(hours=1), now + timedelta(hours=1))
        publish_rules.add_freeze(scope=Scope(), times=times, **terms)
    else:
        publish_rules.add_approval_rule(scope=Scope(zone=zone), terms=ApprovalTerms(), **terms)


def _basic(secret: str) -> str:
    return b64encode(f"host:{secret}".encode()).decode()


def letter(status: int) -> str:
    """Return the letter for this status in the table."""
    if status < 400:
        return "+"
    return {403: "-", 404: "0"}.get(status, "!")


def test_every_url_stands_in_the_table() -> None:
    assert set(api_urls(get_resolver())) == {endpoint.name for endpoint in ENDPOINTS}


def turn(sample: Sample, endpoints: Iterable[Endpoint]) -> list[Endpoint]:
    """Return today's sample of the endpoints."""
    return sample.turn([*endpoints], 40, reason="operations of the APIs, each by all callers")


def test_who_gets_how_far(call: Call, sample: Sample) -> None:
    with walk() as step:
        for endpoint in turn(sample, ENDPOINTS):
            with step(endpoint):
                assert verdict(endpoint, call) == endpoint.verdict
                assert of_others(endpoint, call) == expected_of_others(endpoint)


def test_what_is_kept_back_and_nothing_else(call: Call) -> None:
    """Locks, freezes and approval rules stop an administrator with all rights at these endpoints, and at no others."""
    found: dict[State, dict[str, str]] = {state: {} for state in State}
    for endpoint in ENDPOINTS:
        if endpoint.method == "GET" or endpoint.verdict[-1:] != "+":
            continue
        # An operation that works with both rules is stopped by neither. With a lock, it may skip records.
        rules = (State.FROZEN, State.GOVERNED)
        by_rules = rules if call(endpoint, Caller.ADMINISTRATOR, *rules) >= 400 else ()
        for state in (State.LOCKED, *by_rules):
            if (how_far := letter(call(endpoint, Caller.ADMINISTRATOR, state))) != "+":
                found[state][str(endpoint)] = how_far
    assert found == KEPT_BACK


def test_who_asked_approves_nothing_and_an_approver_takes_nothing_back(call: Call) -> None:
    endpoints = {endpoint.note: endpoint for endpoint in ENDPOINTS if endpoint.name == "v2-request-act"}
    endpoints["approve"] = replace(endpoints["approve"], body={"digest": "?"})
    found = {
        note: "".join(
            letter(call(endpoint, caller, State.GOVERNED)) for caller in (Caller.ADMINISTRATOR, Caller.APPROVER)
        )
        for note, endpoint in endpoints.items()
    }
    assert found == AT_REQUEST


def test_a_method_that_is_not_in_the_table_is_not_answered(call: Call, sample: Sample) -> None:
    endpoints: dict[str, dict[str, Endpoint]] = {}
    for endpoint in ENDPOINTS:
        if not endpoint.name.endswith("nothing"):
            endpoints.setdefault(endpoint.name, {})[endpoint.method] = endpoint
    with walk() as step:
        for known in sample.turn([*endpoints.values()], 40, reason="operations of the APIs, each by all callers"):
            some = next(iter(known.values()))
            for method in sorted(METHODS - known.keys()):
                with step(method, some.name):
                    assert call(replace(some, method=method), Caller.ADMINISTRATOR) in {404, 405}


def test_a_parameter_that_is_not_in_the_document_is_refused(call: Call, sample: Sample) -> None:
    """Otherwise a write with a misspelled `dry_run` or `wait` would be executed."""
    with walk() as step:
        for endpoint in turn(
            sample, (endpoint for endpoint in ENDPOINTS if endpoint.name.startswith("v2-") and endpoint.verdict != OPEN)
        ):
            with step(endpoint):
                if letter(call(endpoint, Caller.ADMINISTRATOR)) == "+":
                    assert (
                        call(replace(endpoint, query={**endpoint.query, "dry-run": "true"}), Caller.ADMINISTRATOR)
                        == 422
                    )


def of_others(endpoint: Endpoint, call: Call) -> dict[Caller, str]:
    """Return the letters of the callers in LIKE, which have no column in the table."""
    return {} if endpoint.verdict == OPEN else {caller: letter(call(endpoint, caller)) for caller in LIKE}


def expected_of_others(endpoint: Endpoint) -> dict[Caller, str]:
    """Return the expected letters of the callers in LIKE: those of the similar caller, unless OTHERWISE has others."""
    if endpoint.verdict == OPEN:
        return {}
    usual = {caller: endpoint.verdict[COLUMNS.index(like)] for caller, like in LIKE.items()}
    return usual | OTHERWISE.get(str(endpoint), {})


def verdict(endpoint: Endpoint, call: Call) -> str:
    """Return the letters of every caller in COLUMNS, or OPEN if strangers succeed too."""
    strangers = {caller: call(endpoint, caller) for caller in STRANGERS}
    statuses = [call(endpoint, caller) for caller in COLUMNS]
    if {*strangers.values(), *statuses} == {200}:
        return OPEN
    assert set(strangers.values()) == {401}, strangers
    assert not {401, 405} & set(statuses), statuses
    return "".join(map(letter, statuses))
