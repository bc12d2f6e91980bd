"""Every URL as every role, against one reviewed table.

A URL or a method that is not in the table fails the test: whoever adds one
says here who may use it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.contrib.auth.models import AnonymousUser
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from django.utils import timezone
from pytest_django import DjangoDbBlocker

from dnspanel.accounts.actors import can
from dnspanel.accounts.grants import EVERY_RIGHT, Grant, Right
from dnspanel.accounts.models import GrantRow, Membership, Role, Team, User
from dnspanel.accounts.roles import Permission
from dnspanel.accounts.tokens import TokenTerms, create_token
from dnspanel.accounts.vault import encrypt_secret
from dnspanel.alerts.models import Route
from dnspanel.fleet.dnssec import node_answers
from dnspanel.fleet.models import Node, NodeGroup
from dnspanel.transfer.imports import jobs
from dnspanel.transfer.models import CutoverCheck, CutoverZone, ImportZone, RunState, SourceKind
from dnspanel.transfer.zone_templates import runs as template_runs
from dnspanel.webhooks.models import Delivery, Event, Webhook
from dnspanel.zones import draft, named_drafts
from dnspanel.zones.dnssec.policies import Target, attach, create_policy
from dnspanel.zones.dnssec.policy import Terms
from dnspanel.zones.dnssec.policy_runs import create_run, work_on_run
from dnspanel.zones.models import Publication, Zone
from replication.codec.dnssec import Nsec3
from tests import database
from tests.dnspanel.fleet.conftest import create_active_node, create_waiting_node
from tests.dnspanel.transfer.zone_templates.conftest import template_maker
from tests.dnspanel.web.conftest import HTMX, Browser, MakeZone
from tests.dnspanel.zones.conftest import zone_maker
from tests.people import NOW, make_person

READ, FLEET, EDIT = Permission.READ, Permission.FLEET, Permission.EDIT
NODES, PEOPLE = Permission.NODES, Permission.PEOPLE
EVERYBODY = None
SIGNED_IN = "signed in"
ZONE = {"zone_name": "example.test."}
REVISION = {**ZONE, "number": 1}
KEY = {**ZONE, "key_id": 1}
RRSET = {"name": "www.example.test.", "type": "A"}
IMPORT = {"job_id": 0}
TOKEN = {"token_id": 0}
WEBHOOK = {"webhook_id": 0}
TEAM = {"team_id": 0}
ROUTE = {"route_id": 0}
POLICY = {"policy_id": 0}
RUN = {"run_id": 0}
TEMPLATE = {"template_id": 0}
TEMPLATE_RUN = {"template_run_id": 0}
DRAFT = {"draft_key": UUID(int=0)}
NODE = {"name": "ns1"}
ENROLLING = {"name": "ns2"}


@dataclass(frozen=True)
class Door:
    """One URL with one method: which permission opens it, and with what it is tried.

    `SIGNED_IN` opens it to everybody with an account: what they see inside is theirs.
    """

    name: str
    method: str
    permission: Permission | str | None
    args: dict[str, Any] = field(default_factory=dict)
    data: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.method} {self.name}"


DOORS = [
    Door("account_login", "GET", EVERYBODY),
    Door("account_login", "POST", EVERYBODY),
    Door("account_inactive", "GET", EVERYBODY),
    Door("welcome", "GET", EVERYBODY, {"secret": "nonsense"}),
    Door("welcome", "POST", EVERYBODY, {"secret": "nonsense"}),
    Door("enroll-agent", "POST", EVERYBODY),
    Door("healthz", "GET", EVERYBODY),
    Door("home", "GET", SIGNED_IN),
    Door("one-time-page", "GET", SIGNED_IN, {"key": "nonsense"}),
    Door("account_logout", "GET", SIGNED_IN),
    Door("account_logout", "POST", SIGNED_IN),
    Door("account_change_password", "GET", SIGNED_IN),
    Door("account_change_password", "POST", SIGNED_IN),
    Door("account-quotas", "GET", SIGNED_IN),
    Door("list-look", "POST", SIGNED_IN, {"of": "zones"}, {"column": "serial"}),
    Door("draft-pill", "GET", SIGNED_IN),
    Door("fleet-pill", "GET", FLEET),
    # Delivery
    Door("node-delivery", "GET", FLEET),
    Door("node-delivery-act", "POST", NODES, {"act": "stop"}, {"reason": "test"}),
    Door("node-group-new", "POST", NODES, data={"name": "canary", "verify_seconds": "0"}),
    Door("node-group-act", "POST", NODES, {"group_id": 0, "act": "delete"}),
    # The hold
    Door("node-hold", "GET", FLEET),
    Door("node-hold-zone", "GET", NODES, {"pk": 0}),
    Door("node-hold-again", "POST", NODES),
    Door("node-hold-decide", "POST", NODES),
    # Zones
    Door("zone-list", "GET", SIGNED_IN),
    Door("search-suggestions", "GET", SIGNED_IN, data={"q": "type:m"}),
    Door("palette", "GET", SIGNED_IN, data={"q": "www"}),
    Door("search", "GET", SIGNED_IN, data={"q": "www"}),
    Door("zone-trash", "GET", SIGNED_IN),
    Door("zone-new", "GET", EDIT),
    Door("zone-new", "POST", EDIT),
    Door("zone-many-zones", "GET", EDIT),
    Door("zone-many-zones", "POST", EDIT, data={"q": "example", "all": "1", "act": "add", "tags": "shop"}),
    Door("zone-delete", "GET", EDIT, ZONE),
    Door("zone-delete", "POST", EDIT, ZONE),
    Door("zone-restore", "POST", EDIT, {"zone_id": 0}),
    Door("zone-trashed", "GET", SIGNED_IN, {"zone_id": 0}),
    Door("zone-gone", "POST", EDIT, {"zone_id": 0}),
    Door("zone-clone", "GET", EDIT, ZONE),
    Door("zone-clone", "POST", EDIT, ZONE),
    Door("zone-settings", "GET", EDIT, ZONE),
    Door("zone-settings", "POST", EDIT, ZONE),
    Door("zone-locks", "GET", EDIT, ZONE),
    Door("zone-locks", "POST", EDIT, ZONE),
    Door("zone-lock-lift", "POST", EDIT, {**ZONE, "lock_id": 1}),
    Door("zone-statistics", "GET", READ, ZONE),
    Door("changes-queries", "GET", EDIT),
    Door("zone-access", "GET", READ, ZONE, {"who": "charlie", "name": "www", "type": "A"}),
    # Settings
    Door("settings", "GET", NODES),
    Door("settings-zones", "GET", NODES),
    Door("settings-zones", "POST", NODES),
    # Exports
    Door("zone-export", "GET", READ, ZONE),
    Door("zone-export-file", "GET", READ, {**ZONE, "format": "bind"}),
    Door("zone-exports", "GET", READ),
    Door("zone-exports", "POST", READ),
    Door("zone-export-job", "GET", READ, {"export_id": 1}),
    Door("zone-export-cancel", "POST", READ, {"export_id": 1}),
    Door("zone-export-download", "GET", READ, {"export_id": 1}),
    # The editor
    Door("zone-detail", "GET", READ, ZONE),
    Door("zone-news", "GET", READ, ZONE, {"revision": "1"}),
    Door("zone-sync", "GET", READ, ZONE),
    Door("zone-quick", "GET", EDIT, ZONE),
    Door("zone-quick", "POST", EDIT, ZONE),
    Door("zone-paste", "GET", EDIT, ZONE),
    Door("zone-paste", "POST", EDIT, ZONE),
    Door("zone-text", "GET", EDIT, ZONE),
    Door("zone-text", "POST", EDIT, ZONE, {"act": "check"}),
    Door("zone-copy", "POST", READ, ZONE),
    Door("zone-many", "POST", EDIT, ZONE),
    Door("zone-ptr", "GET", READ, ZONE),
    Door("zone-ptr", "POST", EDIT, ZONE, {"pair": "www.example.test. 192.0.2.1"}),
    Door("zone-rrset", "GET", EDIT, ZONE, RRSET),
    Door("zone-rrset", "POST", EDIT, ZONE, RRSET),
    Door("zone-typed", "GET", EDIT, ZONE, {"type": "HTTPS"}),
    Door("zone-typed", "POST", EDIT, ZONE, RRSET),
    Door("zone-builders", "GET", EDIT, ZONE),
    Door("zone-templates", "GET", EDIT, ZONE),
    Door("zone-template", "GET", EDIT, {**ZONE, **TEMPLATE}),
    Door("zone-template", "POST", EDIT, {**ZONE, **TEMPLATE}, {"act": "preview", "v-ip": "192.0.2.1"}),
    Door("zone-template-unlink", "POST", EDIT, {**ZONE, **TEMPLATE}),
    Door("template-list", "GET", READ),
    Door("template-new", "GET", EDIT),
    Door("template-new", "POST", EDIT),
    Door("template-detail", "GET", READ, TEMPLATE),
    Door("template-edit", "GET", EDIT, TEMPLATE),
    Door("template-edit", "POST", EDIT, TEMPLATE),
    Door("template-head", "GET", EDIT, TEMPLATE),
    Door("template-head", "POST", EDIT, TEMPLATE),
    Door("template-version", "GET", READ, {**TEMPLATE, "number": 1}),
    Door("template-zones", "GET", READ, TEMPLATE),
    Door("template-runs", "GET", EDIT, TEMPLATE),
    Door("template-runs", "POST", EDIT, TEMPLATE),
    Door("template-run", "GET", EDIT, TEMPLATE_RUN),
    Door("template-run-apply", "POST", EDIT, TEMPLATE_RUN),
    Door("template-run-cancel", "POST", EDIT, TEMPLATE_RUN),
    Door("template-delete", "GET", EDIT, TEMPLATE),
    Door("template-delete", "POST", EDIT, TEMPLATE),
    Door("zone-builder", "GET", EDIT, {**ZONE, "key": "spf"}),
    Door("zone-builder", "POST", EDIT, {**ZONE, "key": "no-mail"}, {"name": "@"}),
    Door("zone-expiry", "GET", EDIT, ZONE, RRSET),
    Door("zone-expiry", "POST", EDIT, ZONE, RRSET),
    Door("zone-rrset-row", "GET", READ, ZONE, RRSET),
    Door("zone-rrset-delete", "POST", EDIT, ZONE, RRSET),
    Door("zone-rrset-undo", "POST", EDIT, ZONE, RRSET),
    Door("zone-discard", "POST", EDIT, ZONE),
    # Review and publication
    Door("zone-review", "GET", EDIT, ZONE),
    Door("zone-review", "POST", EDIT, ZONE),
    Door("zone-targets", "GET", EDIT, ZONE),
    Door("zone-targets", "POST", EDIT, ZONE),
    Door("publication-list", "GET", READ),
    Door("zone-pin", "POST", READ, ZONE),
    Door("changes", "GET", EDIT),
    Door("changes", "POST", EDIT),
    Door("changes-many", "GET", EDIT),
    Door("changes-many", "POST", EDIT, data={"q": "type:a", "all": "1", "act": "ttl", "ttl": "60"}),
    Door("changes-discard", "POST", EDIT),
    Door("changes-resolve", "POST", EDIT, {"operation_id": 1}, {"zone": "example.test.", "choice": "mine"}),
    Door("draft-list", "GET", READ),
    Door("draft-aside", "POST", EDIT, data={"name": "Aside"}),
    Door("draft-detail", "GET", READ, DRAFT),
    Door("draft-detail", "POST", EDIT, DRAFT),
    *(
        Door("draft-act", "POST", EDIT, {**DRAFT, "act": act}, {"name": "New", "with": "bob", "open": "yes"})
        for act in ("take-up", "put-back", "rename", "share", "unshare", "link", "discard")
    ),
    Door("publication", "GET", READ, {"sequence": 0}),
    Door("publication-undo", "POST", EDIT, {"sequence": 0}),
    Door("publication-again", "POST", EDIT, {"sequence": 0}),
    # History
    Door("zone-history", "GET", READ, ZONE),
    Door("zone-compare", "GET", READ, ZONE),
    Door("zone-record-history", "GET", READ, ZONE, RRSET),
    Door("zone-revision", "GET", READ, REVISION),
    Door("zone-revision-file", "GET", READ, REVISION),
    Door("zone-revision-undo", "POST", EDIT, REVISION),
    Door("zone-return", "POST", EDIT, REVISION),
    # DNSSEC
    Door("zone-dnssec", "GET", READ, ZONE),
    Door("zone-dnssec-nodes", "GET", READ, ZONE),
    Door("zone-dnssec-answers", "GET", READ, ZONE),
    Door("zone-dnssec-parent", "GET", READ, ZONE),
    Door("zone-dnssec-parent", "POST", EDIT, ZONE),
    Door("zone-dnssec-sign", "POST", EDIT, ZONE),
    Door("zone-dnssec-unsign", "GET", EDIT, ZONE),
    Door("zone-dnssec-unsign", "POST", EDIT, ZONE),
    Door("zone-dnssec-denial", "POST", EDIT, ZONE),
    Door("zone-dnssec-cds", "POST", EDIT, ZONE),
    Door("zone-dnssec-key-add", "POST", EDIT, ZONE),
    Door("zone-dnssec-key", "POST", EDIT, KEY, {"active": "false"}),
    Door("zone-dnssec-key-delete", "POST", EDIT, KEY),
    Door("zone-dnssec-drop", "POST", EDIT, ZONE),
    Door("zone-dnssec-signalling", "POST", EDIT, ZONE),
    Door("zone-dnssec-other-key-add", "POST", EDIT, ZONE),
    Door("zone-dnssec-other-key-remove", "POST", EDIT, {**ZONE, "tag": "1"}),
    Door("zone-dnssec-rollover", "GET", READ, ZONE),
    Door("zone-dnssec-rollover-begin", "POST", EDIT, ZONE),
    Door("zone-dnssec-rollover-cancel", "POST", EDIT, ZONE),
    Door("zone-dnssec-emergency", "GET", EDIT, ZONE),
    Door("zone-dnssec-emergency", "POST", EDIT, ZONE),
    Door("zone-dnssec-policy", "POST", EDIT, ZONE),
    Door("zone-dnssec-follow", "POST", EDIT, ZONE),
    Door("zone-rollovers", "GET", READ),
    Door("zone-policies", "GET", READ),
    Door("zone-policy-new", "GET", EDIT),
    Door("zone-policy-new", "POST", EDIT),
    Door("zone-policy", "GET", READ, POLICY),
    Door("zone-policy", "POST", EDIT, POLICY),
    Door("zone-policy-attach", "POST", EDIT, POLICY),
    Door("zone-policy-detach", "POST", EDIT, POLICY, {"tag": "shop"}),
    Door("zone-policy-delete", "GET", EDIT, POLICY),
    Door("zone-policy-delete", "POST", EDIT, POLICY),
    Door("zone-policy-runs", "GET", EDIT),
    Door("zone-policy-runs", "POST", EDIT),
    Door("zone-policy-run", "GET", EDIT, RUN),
    Door("zone-policy-run-apply", "POST", EDIT, RUN),
    Door("zone-policy-run-cancel", "POST", EDIT, RUN),
    # Who may read private keys may do everything: only administrators, and whom a grant allows it.
    Door("zone-dnssec-key-export", "POST", PEOPLE, KEY),
    # Imports
    Door("import-list", "GET", EDIT),
    Door("import-new", "GET", EDIT),
    Door("import-new", "POST", EDIT),
    Door("import-source", "GET", EDIT, {"source": "axfr"}),
    Door("import-source", "POST", EDIT, {"source": "axfr"}),
    Door("import-detail", "GET", EDIT, IMPORT),
    Door("import-upload", "GET", EDIT, IMPORT),
    Door("import-upload", "POST", EDIT, IMPORT),
    Door("import-uploaded", "POST", EDIT, IMPORT),
    Door("import-columns", "GET", EDIT, IMPORT),
    Door("import-columns", "POST", EDIT, IMPORT),
    Door("import-options", "POST", EDIT, IMPORT),
    Door("import-choose", "POST", EDIT, IMPORT),
    Door("import-zones", "GET", EDIT, IMPORT),
    Door("import-zone", "GET", EDIT, {**IMPORT, "row_id": 0}),
    Door("import-plan", "POST", EDIT, IMPORT),
    Door("import-apply", "POST", EDIT, IMPORT),
    Door("import-replan", "POST", EDIT, IMPORT),
    Door("import-faults", "GET", EDIT, IMPORT),
    Door("import-faults-csv", "GET", EDIT, IMPORT),
    Door("import-fix", "GET", EDIT, IMPORT),
    Door("import-fix", "POST", EDIT, IMPORT),
    Door("import-undo", "GET", EDIT, IMPORT),
    Door("import-undo", "POST", EDIT, IMPORT),
    Door("import-delete", "GET", EDIT, IMPORT),
    Door("import-delete", "POST", EDIT, IMPORT),
    Door("import-act", "POST", EDIT, {**IMPORT, "act": "cancel"}),
    # Comparisons with an old server
    Door("import-cutovers", "GET", EDIT),
    Door("import-cutovers", "POST", EDIT),
    Door("import-cutover", "GET", EDIT, {"check_id": 1}),
    Door("import-cutover-cancel", "POST", EDIT, {"check_id": 1}),
    Door("import-cutover-csv", "GET", EDIT, {"check_id": 1}),
    Door("import-cutover-zone", "GET", EDIT, {"check_id": 1, **ZONE}),
    # Nodes
    Door("node-list", "GET", FLEET),
    Door("node-new", "GET", NODES),
    Door("node-new", "POST", NODES),
    Door("node-detail", "GET", FLEET, NODE),
    Door("node-points", "GET", FLEET, NODE),
    Door("node-rows", "GET", FLEET),
    Door("node-acts", "POST", NODES, data={"act": "check"}),
    Door("node-matrix", "GET", FLEET),
    Door("node-keys", "GET", FLEET),
    Door("node-keys-act", "POST", NODES, {"act": "retire"}),
    Door("node-top", "GET", FLEET, NODE),
    Door("node-enrolment", "GET", FLEET, ENROLLING),
    Door("node-enrolment", "POST", NODES, ENROLLING),
    Door("node-change", "GET", NODES, ENROLLING),
    Door("node-change", "POST", NODES, ENROLLING),
    Door("node-act", "POST", NODES, {**NODE, "act": "drain"}),
    # Alerts
    Door("alert-bell", "GET", FLEET),
    Door("alert-list", "GET", FLEET),
    Door("alert-history", "GET", FLEET),
    Door("alert-routes", "GET", FLEET),
    Door("alert-route-new", "GET", NODES),
    Door("alert-route-new", "POST", NODES),
    Door("alert-route", "GET", FLEET, ROUTE),
    Door("alert-route-change", "POST", NODES, ROUTE),
    Door("alert-route-test", "POST", NODES, ROUTE),
    Door("alert-route-switch", "POST", NODES, ROUTE, {"active": "no"}),
    Door("alert-route-rotate", "POST", NODES, ROUTE),
    Door("alert-route-delete", "POST", NODES, ROUTE),
    # People
    Door("people", "GET", PEOPLE),
    Door("people-invite", "POST", PEOPLE, {}, {"role": "reader"}),
    Door("person-role", "POST", PEOPLE, {"person_id": 0}, {"role": "reader"}),
    Door("person-active", "POST", PEOPLE, {"person_id": 0}, {"active": "yes"}),
    Door("person-detail", "GET", PEOPLE, {"person_id": 0}),
    Door("person-grant", "POST", PEOPLE, {"person_id": 0}),
    Door("person-quotas", "POST", PEOPLE, {"person_id": 0}),
    Door("grant-take", "POST", PEOPLE, {"grant_id": 0}),
    Door("team-list", "GET", PEOPLE),
    Door("team-new", "POST", PEOPLE, {}, {"name": "Mail"}),
    Door("team-detail", "GET", PEOPLE, TEAM),
    Door("team-rename", "POST", PEOPLE, TEAM, {"name": "Mail"}),
    Door("team-delete", "POST", PEOPLE, TEAM),
    Door("team-member", "POST", PEOPLE, TEAM, {"person": "0"}),
    Door("team-grant", "POST", PEOPLE, TEAM),
    Door("team-quotas", "POST", PEOPLE, TEAM),
    # Tokens, webhooks, the audit log, the documentation
    Door("token-list", "GET", SIGNED_IN),
    Door("token-new", "GET", SIGNED_IN, {"preset": "acme"}),
    Door("token-new", "POST", SIGNED_IN, {"preset": "custom"}),
    Door("token-detail", "GET", SIGNED_IN, TOKEN),
    Door("token-rotate", "POST", SIGNED_IN, TOKEN),
    Door("token-revoke", "POST", SIGNED_IN, TOKEN),
    Door("webhook-list", "GET", SIGNED_IN),
    Door("webhook-new", "GET", READ),
    Door("webhook-new", "POST", READ),
    Door("webhook-detail", "GET", SIGNED_IN, WEBHOOK),
    Door("webhook-change", "POST", SIGNED_IN, WEBHOOK),
    Door("webhook-ping", "POST", SIGNED_IN, WEBHOOK),
    Door("webhook-switch", "POST", SIGNED_IN, WEBHOOK, {"active": "no"}),
    Door("webhook-rotate", "POST", SIGNED_IN, WEBHOOK),
    Door("webhook-delete", "POST", SIGNED_IN, WEBHOOK),
    Door("webhook-replay", "POST", SIGNED_IN, {"delivery_id": 0}),
    Door("audit-log", "GET", SIGNED_IN),
    Door("audit-act", "GET", SIGNED_IN, {"kind": "publication", "id": 0}),
    Door("audit-export", "GET", SIGNED_IN, {"format": "csv"}),
    Door("audit-check", "POST", Permission.AUDIT),
    Door("docs-api", "GET", SIGNED_IN),
    Door("docs-api-document", "GET", SIGNED_IN),
    Door("docs-api-page", "GET", SIGNED_IN, {"page": "errors"}),
]
# What somebody else made: whoever does not see it finds nothing there.
CAST = {"alice": Role.ADMINISTRATOR, "bob": Role.EDITOR, "charlie": Role.READER}
OF_SOMEBODY = {"zone_name", "zone_id", "sequence", "job_id", "token_id", "webhook_id", "delivery_id", "check_id"}
OF_SOMEBODY |= {"draft_key"}


@pytest.fixture(scope="module")
def ids(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[dict[str, Any]]:
    """The ids of what the doors lead to, which exists for all tests of this module."""
    with database.lasting_rows(django_db_blocker):
        people = [make_person(name, role) for name, role in CAST.items()]
        make_zone = zone_maker(people[0])
        zone = make_zone("www 300 A 192.0.2.1")
        node = create_active_node("ns1")
        Node.objects.update(dns_address="127.0.0.1", dns_port=1)  # where nobody answers
        create_waiting_node("ns2")
        gone = make_zone("www 300 A 192.0.2.1", name="gone.test.")
        Zone.objects.filter(pk=gone.pk).update(deleted_at=gone.created_at)
        job = jobs.create_job(source=SourceKind.FILES, title="zones", author=None, now=NOW)
        row = ImportZone.objects.create(job=job, piece=1, name="new.test.", path="new.test.zone", zone_id=0)
        published = Publication.objects.earliest("sequence")
        assert zone.name == ZONE["zone_name"]
        assert node.name == NODE["name"]
        yield {
            "zone_id": gone.pk, "person_id": people[2].pk, "sequence": published.sequence, "job_id": job.pk,
            "row_id": row.pk, "check_id": comparison_of(people[0]).pk, **things_of(people[0]),
            "draft_key": draft_of(people[0], zone),
        }  # fmt: skip


@pytest.fixture
def alice(ids: dict[str, int], db: None) -> User:
    return User.objects.get(username="alice")


@pytest.fixture
def bob(ids: dict[str, int], db: None) -> User:
    return User.objects.get(username="bob")


@pytest.fixture
def charlie(ids: dict[str, int], db: None) -> User:
    return User.objects.get(username="charlie")


@pytest.fixture
def address_of(ids: dict[str, int], db: None, monkeypatch: pytest.MonkeyPatch) -> Callable[[Door], str]:
    """The path of a door, whose objects exist."""
    monkeypatch.setattr(node_answers, "SECONDS", 0.05)

    def address(door: Door) -> str:
        return reverse(door.name, kwargs={name: ids.get(name, value) for name, value in door.args.items()})

    return address


def comparison_of(alice: User) -> CutoverCheck:
    """Hers, ended, of the one zone that the doors lead to."""
    check = CutoverCheck.objects.create(author=alice, created_at=NOW, server="9.9.9.9", state=RunState.DONE)
    CutoverZone.objects.create(check_run=check, name=ZONE["zone_name"], questions=1, checklist=[])
    return check


def draft_of(alice: User, zone: Zone) -> UUID:
    """Hers, put aside, open by its link to who sees the zone, and shared with Bob."""
    draft.delete_rrset(author=alice, zone=zone, name=RRSET["name"], type=1, now=NOW)
    made = named_drafts.put_aside(author=alice, name="Aside already", now=NOW)
    named = named_drafts.named_draft(alice, made.key)
    named_drafts.open_by_link(by=alice, named=named, is_open=True, now=NOW)
    named_drafts.share(by=alice, named=named, to=User.objects.get(username="bob"), may_edit=True, now=NOW)
    return made.key


def things_of(alice: User) -> dict[str, int]:
    """The ids of a team, a grant, a token, a route, a webhook and a delivery of hers, and of a group of nodes."""
    team = Team.objects.create(name="Web ops", created_at=NOW)
    grant = Grant(frozenset({Right.READ}), everywhere=True)
    row = GrantRow.objects.create(team=team, grant=grant.to_json(), created_at=NOW)
    token = create_token(owner=alice, terms=TokenTerms("watch", (grant,)), by=alice, now=timezone.now()).token
    webhook = Webhook.objects.create(
        owner=alice, url="https://hooks.example.test/", events=["node.state"],
        secret=encrypt_secret(b"whsec_eA=="), created_at=NOW,
    )  # fmt: skip
    event = Event.objects.create(uid=uuid4(), kind="ping", subject="ping", at=NOW)
    delivery = Delivery.objects.create(webhook=webhook, event=event, created_at=NOW, state="failed")
    route = Route.objects.create(
        name="on call", kind="webhook", address="https://hooks.example.test/", secret=encrypt_secret(b"whsec_eA=="),
        created_at=NOW,
    )  # fmt: skip
    ids = {"team_id": team, "grant_id": row, "token_id": token, "webhook_id": webhook, "delivery_id": delivery}
    ids["route_id"] = route
    policy = create_policy(name="Standard", terms=Terms(nsec3=Nsec3()), is_default=True, by=alice, now=NOW)
    attach(policy=policy, to=Target(tag="shop"), by=alice, now=NOW)
    attach(policy=policy, to=Target(team=team), by=alice, now=NOW)
    ids["policy_id"] = policy
    ids["template_id"] = template = template_maker(alice)()
    ids["template_run_id"] = template_run = template_runs.create_run(template=template, by=alice, now=NOW)
    template_runs.work_on_run(template_run.pk)
    ids["run_id"] = run = create_run(by=alice, now=NOW)
    work_on_run(run.pk)
    ids["group_id"] = NodeGroup.objects.create(name="doors", order=1)
    return {name: thing.pk for name, thing in ids.items()}


def member_of(*zones: Zone) -> User:
    """A member who may do everything in these zones, and nothing else."""
    member = make_person("mia", Role.MEMBER)
    if zones:
        grant = Grant(EVERY_RIGHT, zones=frozenset(zone.pk for zone in zones))
        GrantRow.objects.create(user=member, grant=grant.to_json(), created_at=NOW)
    return member


def opens(person: User, door: Door) -> bool:
    """Whether a person with this role gets in."""
    return door.permission in {EVERYBODY, SIGNED_IN} or can(person, Permission(door.permission))


def all_names(resolver: URLResolver) -> Iterator[str]:
    """Of all URLs but the APIs', whose table is `tests/dnspanel/api/test_every_url.py`."""
    for pattern in resolver.url_patterns:
        if isinstance(pattern, URLResolver) and pattern.app_name == "api":
            continue
        if isinstance(pattern, URLResolver):
            yield from all_names(pattern)
        elif isinstance(pattern, URLPattern):
            yield str(pattern.name)


def call(client: Client, door: Door, path: str, method: str = "", **extra: Any) -> Any:
    return getattr(client, (method or door.method).lower())(path, door.data, **extra)


def test_every_url_stands_in_the_table() -> None:
    assert set(all_names(get_resolver())) == {door.name for door in DOORS}


@pytest.mark.parametrize("door", DOORS, ids=str)
def test_who_may_open_it(
    door: Door, address_of: Any, browser: Browser, alice: User, bob: User, charlie: User, dora: AnonymousUser
) -> None:
    path = address_of(door)
    for person in (dora, charlie, bob, alice):
        response = call(browser(person), door, path)
        if door.permission is EVERYBODY or (isinstance(person, User) and opens(person, door)):
            assert response.status_code not in {401, 403, 405, 500}, f"{person} was refused"
            assert not response.headers.get("Location", "").startswith("/sign-in/")
        elif isinstance(person, AnonymousUser):
            assert response.status_code == 302
            assert response["Location"].startswith("/sign-in/?next=")
        else:
            assert response.status_code == 403, f"{person} was let in"
            assert b"Not allowed" in response.content


@pytest.mark.parametrize("door", [door for door in DOORS if door.permission not in {EVERYBODY, SIGNED_IN}], ids=str)
def test_a_member_without_a_grant_finds_every_door_closed(door: Door, address_of: Any, browser: Browser) -> None:
    response = call(browser(member_of()), door, address_of(door))
    assert response.status_code in {403, 404}
    assert not response.headers.get("Location")


@pytest.mark.parametrize("door", [door for door in DOORS if ZONE.items() <= door.args.items()], ids=str)
def test_a_member_opens_the_zone_that_a_grant_names(door: Door, address_of: Any, browser: Browser) -> None:
    path = address_of(door)
    member = member_of(Zone.objects.get(name=ZONE["zone_name"]))
    response = call(browser(member), door, path)
    if door.name == "zone-dnssec-key-export":  # which everything does not include
        assert response.status_code == 403
        return
    assert response.status_code not in {401, 403, 405, 500}
    assert response.status_code != 404 or door.name in {"zone-rrset-undo", "zone-rrset-delete", "zone-expiry"}


@pytest.mark.parametrize("door", [door for door in DOORS if OF_SOMEBODY & door.args.keys()], ids=str)
def test_what_belongs_to_somebody_else_is_not_there(
    door: Door, address_of: Any, browser: Browser, make_zone: MakeZone
) -> None:
    path = address_of(door)
    member = member_of(make_zone("www 300 A 192.0.2.1", name="own.test."))
    response = call(browser(member), door, path)
    assert response.status_code == 404, door
    assert b"example.test" not in response.content.replace(b"There is no zone example.test.", b"")


@pytest.mark.parametrize("face", ["zone-new", "zone-restore", "zone-settings"])
@pytest.mark.parametrize("name", ["www.example.test.", "deep.below.test."])
def test_names_of_another_teams_zone_are_for_who_may_change_that_zone(
    face: str, name: str, ids: dict[str, int], browser: Browser, make_zone: MakeZone, alice: User, bob: User
) -> None:
    """One team could take `www.example.test.` below another's `example.test.`, or the zone above another's."""
    make_zone(name="x.deep.below.test.")
    ours = [Team.objects.create(name=team, created_at=NOW) for team in ("Ours", "Ours too")]
    member = member_of()
    for team in ours:
        Membership.objects.create(team=team, user=member, role=Role.EDITOR)
    if face != "zone-new":
        zone = make_zone(name=name)
        deleted_at = zone.created_at if face == "zone-restore" else None
        Zone.objects.filter(pk=zone.pk).update(team=ours[0], deleted_at=deleted_at)
    data: dict[str, Any] = {"team": ours[1].pk}
    if face == "zone-new":
        data |= {"names": name, "nameservers": "ns1.example.net.", "hostmaster": "h@example.net", "form_id": uuid4()}
    args: dict[str, dict[str, Any]] = {"zone-new": {}, "zone-settings": {"zone_name": name}}
    path = reverse(face, kwargs=args.get(face, {"zone_id": Zone.objects.latest("pk").pk}))
    before = Publication.objects.count()
    page = browser(member).post(path, data, follow=True)
    side = "below" if name == "www.example.test." else "above"
    assert f"it lies {side} a zone of another team.".encode() in page.content
    assert b"example.test." not in page.content.replace(name.encode(), b"")
    assert Publication.objects.count() == before
    for person in (bob, alice):
        data["form_id"] = uuid4()
        response = browser(person).post(path, data)
        assert response.status_code == 302
        if face != "zone-settings":
            Zone.objects.filter(name=name).update(deleted_at=NOW)
    assert Publication.objects.count() == before + (0 if face == "zone-settings" else 2)


@pytest.mark.parametrize("door", [door for door in DOORS if door.permission], ids=str)
def test_htmx_without_a_session_gets_no_form_to_swap_in(door: Door, address_of: Any, browser: Browser) -> None:
    response = call(browser(), door, address_of(door), headers=HTMX)
    assert response.status_code == 401
    assert response["HX-Trigger"] == "sign-in-needed"
    assert b"<form" not in response.content


@pytest.mark.parametrize("door", [door for door in DOORS if door.method == "POST"], ids=str)
def test_a_post_without_a_csrf_token_is_refused(door: Door, address_of: Any, browser: Browser, alice: User) -> None:
    if door.name == "enroll-agent":
        pytest.skip("agents have no session that another site could ride on")
    response = call(browser(alice, csrf=True), door, address_of(door))
    assert response.status_code == 403
    assert b"This form has expired" in response.content


@pytest.mark.parametrize("name", sorted({door.name for door in DOORS if not door.name.startswith("account_")}))
def test_a_method_that_is_not_in_the_table_is_not_answered(
    name: str, address_of: Any, browser: Browser, alice: User
) -> None:
    known = {door.method for door in DOORS if door.name == name}
    door = next(door for door in DOORS if door.name == name)
    for method in {"GET", "POST", "PUT", "DELETE"} - known:
        assert call(browser(alice), door, address_of(door), method).status_code == 405
