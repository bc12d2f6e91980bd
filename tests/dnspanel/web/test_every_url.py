"""All URLs with each role, against one reviewed table. Tests `frame.full_pages` too.

A URL or method that is missing in the table fails the test. A change that adds one declares its permission here.
"""

from collections.abc import Callable, Iterable, Iterator
from copy import copy
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.contrib.auth.models import AnonymousUser
from django.test import Client, RequestFactory
from django.urls import URLPattern, URLResolver, get_resolver, resolve, reverse
from django.utils import timezone
from pytest_django import DjangoDbBlocker

from dnspanel.accounts.actors.actors import EVERY_RIGHT, RECORD_RIGHTS, Grant, Permission, Right, can
from dnspanel.accounts.models import GrantRow, Membership, ProviderKind, Role, SignInProvider, Team, User
from dnspanel.accounts.people.people import change_role, deactivate
from dnspanel.accounts.providers.provider_identity import Rule
from dnspanel.accounts.rights import own_roles
from dnspanel.accounts.scim.directories import DirectoryTerms, create_directory
from dnspanel.accounts.scim.scim_people import PersonTerms, create_person
from dnspanel.accounts.secrets.vault import encrypt_secret
from dnspanel.accounts.sign_in.second_factor_rules import set_rules
from dnspanel.accounts.tokens.service_accounts import create_service_account
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import create_token
from dnspanel.alerts.models import Route
from dnspanel.audit.forward.models import Destination
from dnspanel.catalogs.producer import create_catalog, take_in
from dnspanel.catalogs.set_up_catalogs import CatalogTerms, follow_catalog
from dnspanel.fleet.dnssec import node_answers
from dnspanel.fleet.lookups import public_answers
from dnspanel.fleet.models import Node, NodeGroup
from dnspanel.primaries.set_up_primaries import Terms as PrimaryTerms
from dnspanel.secondaries.set_up_secondaries import Terms as SecondaryTerms
from dnspanel.secondaries.set_up_secondaries import create_secondary
from dnspanel.transfer.cutover.delegation_checklist import Point, Verdict
from dnspanel.transfer.imports import import_jobs
from dnspanel.transfer.models import CutoverCheck, CutoverZone, ExportFormat, ExportJob, ImportZone, SourceKind
from dnspanel.transfer.zone_templates import runs as template_runs
from dnspanel.web.account.signed_in import SET_UP_VIEWS
from dnspanel.web.editor.review.review import fingerprint
from dnspanel.webhooks.models import Delivery, Event, Webhook
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec.policy import Terms
from dnspanel.zones.drafts import draft, named_drafts
from dnspanel.zones.governance import publish_rules
from dnspanel.zones.governance.publish_rules import ApprovalTerms, FreezeTimes, Scope
from dnspanel.zones.lists import saved_views
from dnspanel.zones.models import (
    Channel,
    KeptAddresses,
    Publication,
    PublishHook,
    PublishRequest,
    RunState,
    ViewPage,
    Zone,
    ZoneAct,
)
from dnspanel.zones.publishing import revision
from dnspanel.zones.requests import publish_requests, request_lists, request_status
from dnspanel.zones.rights import locks
from dnspanel.zones.rights.locks import NO_MANAGER
from dnspanel.zones.runs import change_runs
from dnspanel.zones.runs.change_runs import Alike
from dnspanel.zones.runs.policy_runs import create_run, work_on_run
from dnspanel.zones.settings.server_sets import Host, Servers
from dnspanel.zones.signing.policies import Target, attach, create_policy
from replication.codec.dnssec import Nsec3
from tests import database
from tests.dnspanel.fleet.conftest import create_active_node, create_front, create_waiting_node
from tests.dnspanel.transfer.zone_templates.conftest import template_maker
from tests.dnspanel.transfer.zone_templates.test_server_set_text import make_set
from tests.dnspanel.web.conftest import HTMX, Browser, MakeZone
from tests.dnspanel.zones.conftest import rr, zone_maker
from tests.full import Sample
from tests.people import NOW, PASSWORD, make_person
from tests.second_factors import set_up
from tests.walks import put_back, walk

READ, FLEET, EDIT = Permission.READ, Permission.FLEET, Permission.EDIT
NODES, PEOPLE = Permission.NODES, Permission.PEOPLE
EVERYBODY = None
SIGNED_IN = "signed in"
# People with a correct password who have not sent the second factor yet, and a passkey to send. Others are redirected.
HALF_SIGNED_IN = "half signed in"
ZONE = {"zone_name": "example.test."}
REVISION = {**ZONE, "number": 1}
KEY = {**ZONE, "key_id": 1}
RRSET = {"name": "www.example.test.", "type": "A"}
IMPORT = {"job_id": 0}
TOKEN = {"token_id": 0}
WEBHOOK = {"webhook_id": 0}
HOOK = {"hook_id": 0}
TEAM = {"team_id": 0}
ROUTE = {"route_id": 0}
SECONDARY = {"secondary_id": 0}
CATALOG = {"catalog_id": 0}
OURS = {"zone_name": "ours.catalog."}
POLICY = {"policy_id": 0}
RUN = {"run_id": 0}
TEMPLATE = {"template_id": 0}
SERVER_SET = {"set_id": 0}
CHANGE_RUN = {"change_run_id": 0}
TEMPLATE_RUN = {"template_run_id": 0}
DRAFT = {"draft_key": UUID(int=0)}
PROVIDER = {"provider_id": 0}
LDAP = {"ldap_id": 0}
DESTINATION = {"destination_id": 0}
DIRECTORY = {"directory_id": 0}
REQUEST = {"request_key": UUID(int=0)}
NODE = {"name": "ns1"}
ENROLLING = {"name": "ns2"}
FRONT = {"name": "front1"}


@dataclass(frozen=True)
class Endpoint:
    """A URL with a method, the permission that it needs, and the data to test it with.

    `SIGNED_IN` means that all people with an account can open it; their rights limit its content.
    """

    name: str
    method: str
    permission: Permission | str | None
    args: dict[str, Any] = field(default_factory=dict)
    data: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.method} {self.name}"


ENDPOINTS = [
    Endpoint("account_login", "GET", EVERYBODY),
    Endpoint("account_login", "POST", EVERYBODY),
    Endpoint("mfa_authenticate", "GET", HALF_SIGNED_IN),
    Endpoint("mfa_authenticate", "POST", HALF_SIGNED_IN, data={"code": "123456"}),
    Endpoint("passkey-sign-in", "GET", EVERYBODY),
    Endpoint("passkey-sign-in", "POST", HALF_SIGNED_IN, data={"credential": "{}"}),
    Endpoint("account_inactive", "GET", EVERYBODY),
    Endpoint("password-forgotten", "GET", EVERYBODY),
    Endpoint("password-forgotten", "POST", EVERYBODY),
    Endpoint("password-link", "GET", EVERYBODY, {"link": "nonsense"}),
    Endpoint("password-link", "POST", EVERYBODY, {"link": "nonsense"}),
    Endpoint("openid_connect_login", "POST", EVERYBODY, {"provider_id": "none"}),
    Endpoint("openid_connect_callback", "GET", EVERYBODY, {"provider_id": "none"}),
    Endpoint("oidc-ended", "POST", EVERYBODY, {"provider_id": "none"}),
    Endpoint("saml-acs", "POST", EVERYBODY, {"provider_id": "none"}),
    Endpoint("saml-finish", "GET", EVERYBODY, {"provider_id": "none"}),
    Endpoint("saml-metadata", "GET", EVERYBODY, {"provider_id": "none"}),
    Endpoint("welcome", "GET", EVERYBODY, {"secret": "nonsense"}),
    Endpoint("welcome", "POST", EVERYBODY, {"secret": "nonsense"}),
    Endpoint("webhook-stop-mails", "GET", EVERYBODY, {"key": "nonsense"}),
    Endpoint("webhook-stop-mails", "POST", EVERYBODY, {"key": "nonsense"}),
    Endpoint("enroll-agent", "POST", EVERYBODY),
    Endpoint("livez", "GET", EVERYBODY),
    Endpoint("readyz", "GET", EVERYBODY),
    Endpoint("healthz", "GET", EVERYBODY),
    Endpoint("home", "GET", SIGNED_IN),
    Endpoint("one-time-page", "GET", SIGNED_IN, {"key": "nonsense"}),
    Endpoint("account_logout", "GET", SIGNED_IN),
    Endpoint("account_logout", "POST", SIGNED_IN),
    Endpoint("account-here", "GET", SIGNED_IN),
    Endpoint("account_change_password", "GET", SIGNED_IN),
    Endpoint("account_change_password", "POST", SIGNED_IN),
    Endpoint("account-signing-in", "GET", SIGNED_IN),
    Endpoint("account-app", "GET", SIGNED_IN),
    Endpoint("account-app", "POST", SIGNED_IN, data={"code": "123456"}),
    Endpoint("account-app-remove", "POST", SIGNED_IN),
    Endpoint("account-codes", "POST", SIGNED_IN),
    Endpoint("account-sessions", "POST", SIGNED_IN),
    Endpoint("account-passkey", "GET", SIGNED_IN),
    Endpoint("account-passkey", "POST", SIGNED_IN, data={"credential": "{}"}),
    Endpoint("account-passkey-remove", "POST", SIGNED_IN, {"passkey_id": 0}),
    Endpoint("account-quotas", "GET", SIGNED_IN),
    Endpoint("language", "POST", EVERYBODY, {}, {"language": "de"}),
    Endpoint("account-time-zone", "GET", SIGNED_IN),
    Endpoint("account-time-zone", "POST", SIGNED_IN, {}, {"time_zone": "Europe/Berlin"}),
    Endpoint("account-providers", "GET", SIGNED_IN),
    Endpoint("account-provider-link", "POST", SIGNED_IN, PROVIDER),
    Endpoint("account-provider-password", "GET", SIGNED_IN, LDAP),
    Endpoint("account-provider-password", "POST", SIGNED_IN, LDAP),
    Endpoint("account-provider-unlink", "POST", SIGNED_IN, PROVIDER),
    Endpoint("list-look", "POST", SIGNED_IN, {"of": "zones"}, {"column": "serial"}),
    Endpoint("zone-views", "GET", SIGNED_IN, {}, {"of": "zones", "q": "type:mx"}),
    Endpoint("zone-views", "POST", SIGNED_IN, {}, {"of": "zones", "q": "type:mx", "name": "Mail"}),
    Endpoint("zone-view", "GET", SIGNED_IN, {"view_id": 0}),
    Endpoint("zone-view", "POST", SIGNED_IN, {"view_id": 0}, {"name": "Late"}),
    Endpoint("zone-view-delete", "POST", SIGNED_IN, {"view_id": 0}),
    Endpoint("draft-pill", "GET", SIGNED_IN),
    Endpoint("fleet-pill", "GET", FLEET),
    # Delivery
    Endpoint("node-delivery", "GET", FLEET),
    Endpoint("node-delivery-act", "POST", NODES, {"act": "stop"}, {"reason": "test"}),
    Endpoint("node-group-new", "POST", NODES, data={"name": "canary", "verify_seconds": "0"}),
    Endpoint("node-group-act", "POST", NODES, {"group_id": 0, "act": "delete"}),
    # The hold
    Endpoint("node-hold", "GET", FLEET),
    Endpoint("node-hold-zone", "GET", NODES, {"pk": 0}),
    Endpoint("node-hold-again", "POST", NODES),
    Endpoint("node-hold-decide", "POST", NODES),
    # Zones
    Endpoint("zone-list", "GET", SIGNED_IN),
    Endpoint("search-offers", "GET", SIGNED_IN, data={"q": "www"}),
    Endpoint("search", "GET", SIGNED_IN, data={"q": "www"}),
    Endpoint("zone-trash", "GET", SIGNED_IN),
    Endpoint("zone-new", "GET", EDIT),
    Endpoint("zone-new", "POST", EDIT),
    Endpoint("zone-new-transferred", "GET", EDIT),
    Endpoint("zone-new-transferred", "POST", EDIT),
    Endpoint("zone-many-zones", "GET", EDIT),
    Endpoint("zone-many-zones", "POST", EDIT, data={"q": "example", "all": "1", "act": "add", "tags": "shop"}),
    Endpoint("zone-change-runs", "GET", EDIT),
    Endpoint("zone-change-run", "GET", EDIT, CHANGE_RUN),
    Endpoint("zone-change-run-apply", "POST", EDIT, CHANGE_RUN),
    Endpoint("zone-change-run-cancel", "POST", EDIT, CHANGE_RUN),
    Endpoint("zone-change-run-undo", "POST", EDIT, CHANGE_RUN),
    Endpoint("zone-delete", "GET", EDIT, ZONE),
    Endpoint("zone-delete", "POST", EDIT, ZONE),
    Endpoint("zone-restore", "POST", EDIT, {"zone_id": 0}),
    Endpoint("zone-restore-many", "GET", EDIT, data={"all": "1"}),
    Endpoint("zone-restore-many", "POST", EDIT, data={"all": "1"}),
    Endpoint("zone-trashed", "GET", SIGNED_IN, {"zone_id": 0}),
    Endpoint("zone-gone", "POST", EDIT, {"zone_id": 0}),
    Endpoint("zone-clone", "GET", EDIT, ZONE),
    Endpoint("zone-clone", "POST", EDIT, ZONE),
    Endpoint("zone-settings", "GET", EDIT, ZONE),
    Endpoint("zone-settings", "POST", EDIT, ZONE),
    Endpoint("zone-serials", "POST", EDIT, ZONE, {"soa_edit_api": "EPOCH"}),
    Endpoint("zone-default-ttl", "GET", EDIT, ZONE),
    Endpoint("zone-default-ttl", "POST", EDIT, ZONE, {"default_ttl": "300"}),
    Endpoint("zone-transfers", "GET", EDIT, ZONE),
    Endpoint("zone-transfers", "POST", EDIT, ZONE, {"networks": "192.0.2.0/24", "addresses": ""}),
    Endpoint("zone-locks", "GET", EDIT, ZONE),
    Endpoint("zone-locks", "POST", EDIT, ZONE),
    Endpoint("zone-lock-lift", "POST", EDIT, {**ZONE, "lock_id": 1}),
    Endpoint("zone-primaries", "GET", EDIT, ZONE),
    Endpoint("zone-primaries", "POST", EDIT, ZONE),
    Endpoint("zone-primaries-ask", "POST", EDIT, ZONE),
    Endpoint("zone-take-over", "POST", EDIT, ZONE),
    Endpoint("zone-give-back", "POST", EDIT, ZONE),
    Endpoint("zone-health", "GET", READ, ZONE),
    Endpoint("zone-health", "POST", EDIT, ZONE, {"fix": "spf-missing example.test. 16"}),
    Endpoint("zone-statistics", "GET", READ, ZONE),
    Endpoint("zone-map", "GET", READ, ZONE),
    Endpoint("changes-queries", "GET", EDIT),
    Endpoint("zone-access", "GET", READ, ZONE, {"who": "charlie", "name": "www", "type": "A"}),
    # Settings
    Endpoint("settings", "GET", NODES),
    Endpoint("settings-doctor", "GET", NODES),
    Endpoint("settings-zones", "GET", NODES),
    Endpoint("settings-zones", "POST", NODES),
    Endpoint("settings-approvals", "GET", NODES),
    Endpoint("settings-approvals", "POST", NODES),
    Endpoint("settings-approval-lift", "POST", NODES, {"rule_id": 0}),
    Endpoint("settings-freezes", "GET", NODES),
    Endpoint("settings-freezes", "POST", NODES),
    Endpoint("settings-freeze-lift", "POST", NODES, {"freeze_id": 0}),
    Endpoint("settings-hooks", "GET", NODES),
    Endpoint("settings-hooks", "POST", NODES),
    Endpoint("settings-hook", "GET", NODES, HOOK),
    Endpoint("settings-hook", "POST", NODES, HOOK),
    Endpoint("settings-hook-test", "POST", NODES, HOOK),
    Endpoint("settings-hook-rotate", "POST", NODES, HOOK),
    Endpoint("settings-hook-lift", "POST", NODES, HOOK),
    Endpoint("settings-evidence", "GET", NODES),
    Endpoint("settings-evidence-new", "GET", NODES),
    Endpoint("settings-evidence-new", "POST", NODES),
    Endpoint("settings-evidence-detail", "GET", NODES, DESTINATION),
    Endpoint("settings-evidence-detail", "POST", NODES, DESTINATION),
    Endpoint("settings-evidence-switch", "POST", NODES, DESTINATION),
    Endpoint("settings-evidence-test", "POST", NODES, DESTINATION),
    Endpoint("settings-evidence-delete", "POST", NODES, DESTINATION),
    # Exports
    Endpoint("zone-export", "GET", READ, ZONE),
    Endpoint("zone-export-file", "GET", READ, {**ZONE, "file_format": "bind"}),
    Endpoint("zone-exports", "GET", READ),
    Endpoint("zone-exports", "POST", READ),
    Endpoint("zone-export-job", "GET", READ, {"export_id": 1}),
    Endpoint("zone-export-cancel", "POST", READ, {"export_id": 1}),
    Endpoint("zone-export-download", "GET", READ, {"export_id": 1}),
    # The editor
    Endpoint("zone-detail", "GET", READ, ZONE),
    Endpoint("zone-news", "GET", READ, ZONE, {"revision": "1"}),
    Endpoint("zone-sync", "GET", READ, ZONE),
    Endpoint("zone-quick", "GET", EDIT, ZONE),
    Endpoint("zone-quick", "POST", EDIT, ZONE),
    Endpoint("zone-paste", "GET", EDIT, ZONE),
    Endpoint("zone-paste", "POST", EDIT, ZONE),
    Endpoint("zone-text", "GET", EDIT, ZONE),
    Endpoint("zone-text", "POST", EDIT, ZONE, {"act": "check"}),
    Endpoint("zone-copy", "POST", READ, ZONE),
    Endpoint("zone-many", "POST", EDIT, ZONE),
    Endpoint("zone-ptr", "GET", READ, ZONE),
    Endpoint("zone-ptr", "POST", EDIT, ZONE, {"pair": "www.example.test. 192.0.2.1"}),
    Endpoint("zone-rrset", "GET", EDIT, ZONE, RRSET),
    Endpoint("zone-rrset", "POST", EDIT, ZONE, RRSET),
    Endpoint("zone-typed", "GET", EDIT, ZONE, {"type": "HTTPS"}),
    Endpoint("zone-typed", "POST", EDIT, ZONE, RRSET),
    Endpoint("zone-builders", "GET", EDIT, ZONE),
    Endpoint("zone-templates", "GET", EDIT, ZONE),
    Endpoint("zone-template", "GET", EDIT, {**ZONE, **TEMPLATE}),
    Endpoint("zone-template", "POST", EDIT, {**ZONE, **TEMPLATE}, {"act": "preview", "v-ip": "192.0.2.1"}),
    Endpoint("zone-template-unlink", "POST", EDIT, {**ZONE, **TEMPLATE}),
    Endpoint("template-list", "GET", READ),
    Endpoint("template-new", "GET", EDIT),
    Endpoint("template-new", "POST", EDIT),
    Endpoint("template-detail", "GET", READ, TEMPLATE),
    Endpoint("template-edit", "GET", EDIT, TEMPLATE),
    Endpoint("template-edit", "POST", EDIT, TEMPLATE),
    Endpoint("template-head", "GET", EDIT, TEMPLATE),
    Endpoint("template-head", "POST", EDIT, TEMPLATE),
    Endpoint("template-version", "GET", READ, {**TEMPLATE, "number": 1}),
    Endpoint("template-zones", "GET", READ, TEMPLATE),
    Endpoint("template-runs", "GET", EDIT, TEMPLATE),
    Endpoint("template-runs", "POST", EDIT, TEMPLATE),
    Endpoint("template-run", "GET", EDIT, TEMPLATE_RUN),
    Endpoint("template-run-apply", "POST", EDIT, TEMPLATE_RUN),
    Endpoint("template-run-cancel", "POST", EDIT, TEMPLATE_RUN),
    Endpoint("template-delete", "GET", EDIT, TEMPLATE),
    Endpoint("template-delete", "POST", EDIT, TEMPLATE),
    Endpoint("server-set-list", "GET", READ),
    Endpoint("server-set-new", "GET", EDIT),
    Endpoint("server-set-new", "POST", EDIT),
    Endpoint("server-set-edit", "GET", EDIT, SERVER_SET),
    Endpoint("server-set-edit", "POST", EDIT, SERVER_SET),
    Endpoint("server-set-default", "POST", EDIT, SERVER_SET),
    Endpoint("server-set-addresses", "GET", READ, SERVER_SET),
    Endpoint("server-set-addresses", "POST", EDIT, SERVER_SET, {"zone": "example.test.", "act": "keep"}),
    Endpoint("zone-builder", "GET", EDIT, {**ZONE, "key": "spf"}),
    Endpoint("zone-builder", "POST", EDIT, {**ZONE, "key": "no-mail"}, {"name": "@"}),
    Endpoint("zone-expiry", "GET", EDIT, ZONE, RRSET),
    Endpoint("zone-expiry", "POST", EDIT, ZONE, RRSET),
    Endpoint("zone-rrset-row", "GET", READ, ZONE, RRSET),
    Endpoint("zone-rrset-delete", "POST", EDIT, ZONE, RRSET),
    Endpoint("zone-rrset-undo", "POST", EDIT, ZONE, RRSET),
    Endpoint("zone-discard", "POST", EDIT, ZONE),
    # Review and publication
    Endpoint("zone-review", "GET", EDIT, ZONE),
    Endpoint("zone-review", "POST", EDIT, ZONE),
    Endpoint("zone-targets", "GET", EDIT, ZONE),
    Endpoint("zone-targets", "POST", EDIT, ZONE),
    Endpoint("publication-list", "GET", READ),
    Endpoint("zone-pin", "POST", READ, ZONE),
    Endpoint("changes", "GET", EDIT),
    Endpoint("changes", "POST", EDIT),
    Endpoint("changes-calendar", "GET", SIGNED_IN),
    Endpoint("changes-calendar-feed", "POST", SIGNED_IN),
    Endpoint("calendar-feed", "GET", EVERYBODY, {"secret": "nonsense"}),
    Endpoint("changes-many", "GET", EDIT),
    Endpoint("changes-many", "POST", EDIT, data={"q": "type:a", "all": "1", "act": "ttl", "ttl": "60"}),
    Endpoint("changes-discard", "POST", EDIT),
    Endpoint("changes-take-back", "POST", EDIT, {"draft_id": 0}),
    Endpoint("changes-resolve", "POST", EDIT, {"operation_id": 1}, {"zone": "example.test.", "choice": "mine"}),
    Endpoint("draft-list", "GET", READ),
    Endpoint("draft-aside", "POST", EDIT, data={"name": "Aside"}),
    Endpoint("draft-detail", "GET", READ, DRAFT),
    Endpoint("draft-detail", "POST", EDIT, DRAFT),
    *(
        Endpoint("draft-act", "POST", EDIT, {**DRAFT, "act": act}, {"name": "New", "with": "bob", "open": "yes"})
        for act in ("take-up", "put-back", "rename", "share", "unshare", "link", "discard")
    ),
    # Alice's request, which Bob is allowed to approve.
    Endpoint("draft-requests", "GET", READ),
    Endpoint("draft-request", "GET", READ, REQUEST),
    *(
        Endpoint("draft-request-act", "POST", READ, {**REQUEST, "act": act}, {"text": "So it is"})
        for act in ("approve", "decline", "comment")
    ),
    *(
        Endpoint("draft-request-act", "POST", EDIT, {**REQUEST, "act": act}, {"publish_at": "2100-01-01T00:00"})
        for act in ("withdraw", "plan", "publish", "past")
    ),
    Endpoint("publication", "GET", READ, {"sequence": 0}),
    Endpoint("publication-undo", "POST", EDIT, {"sequence": 0}),
    Endpoint("publication-again", "POST", EDIT, {"sequence": 0}),
    # History
    Endpoint("zone-history", "GET", READ, ZONE),
    Endpoint("zone-compare", "GET", READ, ZONE),
    Endpoint("zone-record-history", "GET", READ, ZONE, RRSET),
    Endpoint("zone-answers", "GET", READ, ZONE, RRSET),
    Endpoint("zone-answers", "POST", READ, ZONE, RRSET),
    Endpoint("zone-revision", "GET", READ, REVISION),
    Endpoint("zone-revision-file", "GET", READ, REVISION),
    Endpoint("zone-revision-undo", "POST", EDIT, REVISION),
    Endpoint("zone-return", "POST", EDIT, REVISION),
    # DNSSEC
    Endpoint("zone-dnssec", "GET", READ, ZONE),
    Endpoint("zone-dnssec-nodes", "GET", READ, ZONE),
    Endpoint("zone-dnssec-answers", "GET", READ, ZONE),
    Endpoint("zone-dnssec-parent", "GET", READ, ZONE),
    Endpoint("zone-dnssec-parent", "POST", EDIT, ZONE),
    Endpoint("zone-dnssec-sign", "POST", EDIT, ZONE),
    Endpoint("zone-dnssec-unsign", "GET", EDIT, ZONE),
    Endpoint("zone-dnssec-unsign", "POST", EDIT, ZONE),
    Endpoint("zone-dnssec-denial", "POST", EDIT, ZONE),
    Endpoint("zone-dnssec-cds", "POST", EDIT, ZONE),
    Endpoint("zone-dnssec-key-add", "POST", EDIT, ZONE),
    Endpoint("zone-dnssec-key", "POST", EDIT, KEY, {"active": "false"}),
    Endpoint("zone-dnssec-key-delete", "POST", EDIT, KEY),
    Endpoint("zone-dnssec-drop", "POST", EDIT, ZONE),
    Endpoint("zone-dnssec-signalling", "POST", EDIT, ZONE),
    Endpoint("zone-dnssec-other-key-add", "POST", EDIT, ZONE),
    Endpoint("zone-dnssec-other-key-remove", "POST", EDIT, {**ZONE, "tag": "1"}),
    Endpoint("zone-dnssec-rollover", "GET", READ, ZONE),
    Endpoint("zone-dnssec-rollover-begin", "POST", EDIT, ZONE),
    Endpoint("zone-dnssec-rollover-cancel", "POST", EDIT, ZONE),
    Endpoint("zone-dnssec-emergency", "GET", EDIT, ZONE),
    Endpoint("zone-dnssec-emergency", "POST", EDIT, ZONE),
    Endpoint("zone-dnssec-policy", "POST", EDIT, ZONE),
    Endpoint("zone-dnssec-follow", "POST", EDIT, ZONE),
    Endpoint("zone-rollovers", "GET", READ),
    Endpoint("zone-policies", "GET", READ),
    Endpoint("zone-policy-new", "GET", EDIT),
    Endpoint("zone-policy-new", "POST", EDIT),
    Endpoint("zone-policy", "GET", READ, POLICY),
    Endpoint("zone-policy", "POST", EDIT, POLICY),
    Endpoint("zone-policy-attach", "POST", EDIT, POLICY),
    Endpoint("zone-policy-detach", "POST", EDIT, POLICY, {"tag": "shop"}),
    Endpoint("zone-policy-delete", "GET", EDIT, POLICY),
    Endpoint("zone-policy-delete", "POST", EDIT, POLICY),
    Endpoint("zone-policy-runs", "GET", EDIT),
    Endpoint("zone-policy-runs", "POST", EDIT),
    Endpoint("zone-policy-run", "GET", EDIT, RUN),
    Endpoint("zone-policy-run-apply", "POST", EDIT, RUN),
    Endpoint("zone-policy-run-cancel", "POST", EDIT, RUN),
    # Private keys are only for administrators, and for people whose grant allows it.
    Endpoint("zone-dnssec-key-export", "POST", PEOPLE, KEY),
    # Imports
    Endpoint("import-list", "GET", EDIT),
    Endpoint("import-new", "GET", EDIT),
    Endpoint("import-new", "POST", EDIT),
    Endpoint("import-source", "GET", EDIT, {"source": "axfr"}),
    Endpoint("import-source", "POST", EDIT, {"source": "axfr"}),
    Endpoint("import-detail", "GET", EDIT, IMPORT),
    Endpoint("import-upload", "GET", EDIT, IMPORT),
    Endpoint("import-upload", "POST", EDIT, IMPORT),
    Endpoint("import-uploaded", "POST", EDIT, IMPORT),
    Endpoint("import-columns", "GET", EDIT, IMPORT),
    Endpoint("import-columns", "POST", EDIT, IMPORT),
    Endpoint("import-options", "POST", EDIT, IMPORT),
    Endpoint("import-choose", "POST", EDIT, IMPORT),
    Endpoint("import-zones", "GET", EDIT, IMPORT),
    Endpoint("import-zone", "GET", EDIT, {**IMPORT, "row_id": 0}),
    Endpoint("import-plan", "POST", EDIT, IMPORT),
    Endpoint("import-apply", "POST", EDIT, IMPORT),
    Endpoint("import-replan", "POST", EDIT, IMPORT),
    Endpoint("import-faults", "GET", EDIT, IMPORT),
    Endpoint("import-faults-csv", "GET", EDIT, IMPORT),
    Endpoint("import-fix", "GET", EDIT, IMPORT),
    Endpoint("import-fix", "POST", EDIT, IMPORT),
    Endpoint("import-undo", "GET", EDIT, IMPORT),
    Endpoint("import-undo", "POST", EDIT, IMPORT),
    Endpoint("import-delete", "GET", EDIT, IMPORT),
    Endpoint("import-delete", "POST", EDIT, IMPORT),
    Endpoint("import-act", "POST", EDIT, {**IMPORT, "act": "cancel"}),
    # Comparisons with an old server
    Endpoint("import-cutovers", "GET", EDIT),
    Endpoint("import-cutovers", "POST", EDIT),
    Endpoint("import-cutover", "GET", EDIT, {"check_id": 1}),
    Endpoint("import-cutover-cancel", "POST", EDIT, {"check_id": 1}),
    Endpoint("import-cutover-csv", "GET", EDIT, {"check_id": 1}),
    Endpoint("import-cutover-zone", "GET", EDIT, {"check_id": 1, **ZONE}),
    # Nodes
    Endpoint("node-list", "GET", FLEET),
    Endpoint("node-new", "GET", NODES),
    Endpoint("node-new", "POST", NODES),
    Endpoint("node-detail", "GET", FLEET, NODE),
    Endpoint("node-points", "GET", FLEET, NODE),
    Endpoint("node-rows", "GET", FLEET),
    Endpoint("node-acts", "POST", NODES, data={"act": "check"}),
    Endpoint("node-matrix", "GET", FLEET),
    Endpoint("node-processes", "GET", FLEET),
    Endpoint("node-keys", "GET", FLEET),
    Endpoint("node-keys-act", "POST", NODES, {"act": "retire"}),
    Endpoint("node-traffic", "GET", FLEET, NODE),
    Endpoint("node-sync", "GET", FLEET, NODE),
    Endpoint("node-log", "GET", FLEET, NODE),
    Endpoint("node-ask", "GET", NODES, {**NODE, "act": "retire"}),
    Endpoint("node-minutes", "GET", FLEET),
    Endpoint("node-enrolment", "GET", FLEET, ENROLLING),
    Endpoint("node-enrolment", "POST", NODES, ENROLLING),
    Endpoint("node-change", "GET", NODES, ENROLLING),
    Endpoint("node-change", "POST", NODES, ENROLLING),
    Endpoint("node-act", "POST", NODES, {**NODE, "act": "drain"}),
    Endpoint("node-front", "GET", NODES, FRONT),
    Endpoint("node-front", "POST", NODES, FRONT),
    # Secondaries
    Endpoint("secondary-list", "GET", FLEET),
    Endpoint("secondary-new", "GET", NODES),
    Endpoint("secondary-new", "POST", NODES),
    Endpoint("secondary-detail", "GET", FLEET, SECONDARY),
    Endpoint("secondary-change", "POST", NODES, SECONDARY),
    Endpoint("secondary-notify", "POST", NODES, SECONDARY),
    Endpoint("secondary-rotate", "POST", NODES, SECONDARY),
    Endpoint("secondary-delete", "POST", NODES, SECONDARY),
    # Consumed catalogs
    Endpoint("catalog-list", "GET", FLEET),
    Endpoint("catalog-new", "GET", NODES),
    Endpoint("catalog-new", "POST", NODES),
    Endpoint("catalog-detail", "GET", FLEET, CATALOG),
    Endpoint("catalog-change", "POST", NODES, CATALOG),
    Endpoint("catalog-rule", "POST", NODES, CATALOG),
    Endpoint("catalog-confirm", "POST", NODES, CATALOG),
    Endpoint("catalog-ask", "POST", NODES, CATALOG),
    Endpoint("catalog-unfollow", "POST", NODES, CATALOG),
    # Produced catalogs
    Endpoint("catalog-ours-new", "GET", EDIT),
    Endpoint("catalog-ours-new", "POST", EDIT),
    Endpoint("catalog-ours", "GET", READ, OURS),
    Endpoint("catalog-ours-put-in", "POST", EDIT, OURS),
    Endpoint("catalog-ours-take-out", "POST", EDIT, OURS),
    Endpoint("catalog-ours-groups", "POST", EDIT, OURS),
    # Alerts
    Endpoint("alert-bell", "GET", FLEET),
    Endpoint("alert-list", "GET", FLEET),
    Endpoint("alert-mark", "POST", FLEET, {"act": "read"}),
    Endpoint("alert-mark", "POST", NODES, {"act": "mute"}),
    Endpoint("alert-mark", "POST", NODES, {"act": "unmute"}),
    Endpoint("alert-history", "GET", FLEET),
    Endpoint("alert-routes", "GET", FLEET),
    Endpoint("alert-route-new", "GET", NODES),
    Endpoint("alert-route-new", "POST", NODES),
    Endpoint("alert-route", "GET", FLEET, ROUTE),
    Endpoint("alert-route-change", "POST", NODES, ROUTE),
    Endpoint("alert-route-test", "POST", NODES, ROUTE),
    Endpoint("alert-route-switch", "POST", NODES, ROUTE, {"active": "no"}),
    Endpoint("alert-route-rotate", "POST", NODES, ROUTE),
    Endpoint("alert-route-delete", "POST", NODES, ROUTE),
    # People
    Endpoint("people", "GET", PEOPLE),
    Endpoint("people-second-factor", "GET", PEOPLE),
    Endpoint("people-second-factor", "POST", PEOPLE, data={"grace": "90"}),
    Endpoint("people-invite", "POST", PEOPLE, {}, {"role": "reader"}),
    Endpoint("people-roles", "GET", PEOPLE),
    Endpoint("people-role-new", "POST", PEOPLE, {}, {"name": "Auditor", "rights": "read"}),
    Endpoint("people-role-change", "GET", PEOPLE, {"role_id": 0}),
    Endpoint("people-role-change", "POST", PEOPLE, {"role_id": 0}, {"name": "Auditor", "rights": "read"}),
    Endpoint("people-role-delete", "POST", PEOPLE, {"role_id": 0}),
    Endpoint("people-service-account", "POST", PEOPLE, {}, {"username": "terraform", "service_role": "member"}),
    Endpoint("person-hand-over", "POST", PEOPLE, {"person_id": 0}, {"to": "0"}),
    Endpoint("person-role", "POST", PEOPLE, {"person_id": 0}, {"role": "reader"}),
    Endpoint("person-active", "POST", PEOPLE, {"person_id": 0}, {"active": "yes"}),
    Endpoint("person-detail", "GET", PEOPLE, {"person_id": 0}),
    Endpoint("person-same", "POST", PEOPLE, {"person_id": 0}, {"other": "bob"}),
    Endpoint("person-second-factor", "POST", PEOPLE, {"person_id": 0}),
    Endpoint("person-sessions", "POST", PEOPLE, {"person_id": 0}),
    Endpoint("person-password", "POST", PEOPLE, {"person_id": 0}),
    Endpoint("person-grant", "POST", PEOPLE, {"person_id": 0}),
    Endpoint("person-quotas", "POST", PEOPLE, {"person_id": 0}),
    Endpoint("people-providers", "GET", PEOPLE),
    Endpoint("people-provider-new", "GET", PEOPLE),
    Endpoint("people-provider-new", "POST", PEOPLE),
    Endpoint("people-provider", "GET", PEOPLE, PROVIDER),
    Endpoint("people-provider", "POST", PEOPLE, PROVIDER),
    Endpoint("people-provider-try", "GET", PEOPLE, LDAP),
    Endpoint("people-provider-try", "POST", PEOPLE, LDAP),
    Endpoint("people-provider-switch", "POST", PEOPLE, PROVIDER, {"active": "no"}),
    Endpoint("people-provider-delete", "POST", PEOPLE, PROVIDER),
    Endpoint("people-directories", "GET", PEOPLE),
    Endpoint("people-directory-new", "GET", PEOPLE),
    Endpoint("people-directory-new", "POST", PEOPLE),
    Endpoint("people-directory", "GET", PEOPLE, DIRECTORY),
    Endpoint("people-directory", "POST", PEOPLE, DIRECTORY),
    Endpoint("people-directory-secret", "POST", PEOPLE, DIRECTORY),
    Endpoint("people-directory-delete", "POST", PEOPLE, DIRECTORY),
    Endpoint("people-link-unlink", "POST", PEOPLE, {"link_id": 0}),
    Endpoint("grant-take", "POST", PEOPLE, {"grant_id": 0}),
    Endpoint("team-list", "GET", PEOPLE),
    Endpoint("team-new", "POST", PEOPLE, {}, {"name": "Mail"}),
    Endpoint("team-detail", "GET", PEOPLE, TEAM),
    Endpoint("team-rename", "POST", PEOPLE, TEAM, {"name": "Mail"}),
    Endpoint("team-delete", "POST", PEOPLE, TEAM),
    Endpoint("team-member", "POST", PEOPLE, TEAM, {"person": "0"}),
    Endpoint("team-grant", "POST", PEOPLE, TEAM),
    Endpoint("team-quotas", "POST", PEOPLE, TEAM),
    # Tokens, webhooks, the audit log, the documentation
    Endpoint("token-list", "GET", SIGNED_IN),
    Endpoint("token-new", "GET", SIGNED_IN, {"preset": "acme"}),
    Endpoint("token-new", "POST", SIGNED_IN, {"preset": "custom"}),
    Endpoint("token-detail", "GET", SIGNED_IN, TOKEN),
    Endpoint("token-rotate", "POST", SIGNED_IN, TOKEN),
    Endpoint("token-revoke", "POST", SIGNED_IN, TOKEN),
    Endpoint("webhook-list", "GET", SIGNED_IN),
    Endpoint("webhook-new", "GET", READ),
    Endpoint("webhook-new", "POST", READ),
    Endpoint("webhook-detail", "GET", SIGNED_IN, WEBHOOK),
    Endpoint("webhook-change", "POST", SIGNED_IN, WEBHOOK),
    Endpoint("webhook-ping", "POST", SIGNED_IN, WEBHOOK),
    Endpoint("webhook-switch", "POST", SIGNED_IN, WEBHOOK, {"active": "no"}),
    Endpoint("webhook-rotate", "POST", SIGNED_IN, WEBHOOK),
    Endpoint("webhook-delete", "POST", SIGNED_IN, WEBHOOK),
    Endpoint("webhook-replay", "POST", SIGNED_IN, {"delivery_id": 0}),
    Endpoint("audit-log", "GET", SIGNED_IN),
    Endpoint("audit-act", "GET", SIGNED_IN, {"kind": "publication", "id": 0}),
    Endpoint("audit-export", "GET", SIGNED_IN, {"file_format": "csv"}),
    Endpoint("audit-check", "POST", Permission.AUDIT),
    Endpoint("docs-cli-file", "GET", EVERYBODY),
    Endpoint("docs-api", "GET", SIGNED_IN),
    Endpoint("docs-api-document", "GET", SIGNED_IN),
    Endpoint("docs-api-page", "GET", SIGNED_IN, {"page": "errors"}),
]
# Objects of other people, which are not found by people who cannot see them.
CAST = {"alice": Role.ADMINISTRATOR, "bob": Role.EDITOR, "charlie": Role.READER}
OF_SOMEBODY = {"zone_name", "zone_id", "sequence", "job_id", "token_id", "webhook_id", "delivery_id", "check_id"}
OF_SOMEBODY |= {"draft_key", "view_id", "request_key"}


@pytest.fixture(scope="module")
def ids(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[dict[str, Any]]:
    """Yield the ids of the objects that the endpoints need. The objects exist for all tests of this module."""
    with database.lasting_rows(django_db_blocker):
        people = [make_person(name, role) for name, role in CAST.items()]
        make_zone = zone_maker(people[0])
        zone = make_zone("www 300 A 192.0.2.1")
        node = create_active_node("ns1")
        Node.objects.update(dns_address="127.0.0.1", dns_port=1)  # where no server answers
        create_waiting_node("ns2")
        create_front("front1")
        gone = make_zone("www 300 A 192.0.2.1", name="gone.test.")
        Zone.objects.filter(pk=gone.pk).update(deleted_at=gone.created_at)
        job = import_jobs.create_job(source=SourceKind.FILES, title="zones", author=None, now=NOW)
        row = ImportZone.objects.create(job=job, piece=1, name="new.test.", path="new.test.zone", zone_id=0)
        published = Publication.objects.earliest("sequence")
        assert zone.name == ZONE["zone_name"]
        assert node.name == NODE["name"]
        yield {
            "zone_id": gone.pk, "person_id": people[2].pk, "sequence": published.sequence, "job_id": job.pk,
            "row_id": row.pk, "check_id": comparison_of(people[0]).pk, **things_of(people[0]),
            "export_id": ExportJob.objects.create(author=people[0], created_at=NOW, format=ExportFormat.BIND).pk,
            "draft_key": draft_of(people[0], zone), **request_of(people[0], make_zone(name="asked.test.")),
        }  # fmt: skip


@pytest.fixture(autouse=True)
def panel_with_passkeys(settings: Any) -> None:
    """Set a panel URL that allows passkeys."""
    settings.PANEL_URL = "https://panel.test"


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
def address_of(ids: dict[str, int], db: None, monkeypatch: pytest.MonkeyPatch) -> Callable[[Endpoint], str]:
    """Return a function that returns an endpoint's path with existing objects."""
    monkeypatch.setattr(node_answers, "SECONDS", 0.05)
    monkeypatch.setattr(public_answers, "SECONDS", 0.05)

    def address(endpoint: Endpoint) -> str:
        return reverse(endpoint.name, kwargs={name: ids.get(name, value) for name, value in endpoint.args.items()})

    return address


def comparison_of(alice: User) -> CutoverCheck:
    """Create a finished comparison by Alice for the endpoints' zone."""
    check = CutoverCheck.objects.create(author=alice, created_at=NOW, server="9.9.9.9", state=RunState.DONE)
    CutoverZone.objects.create(check_run=check, name=ZONE["zone_name"], questions=1, checklist=[])
    return check


def draft_of(alice: User, zone: Zone) -> UUID:
    """Put a draft of Alice's aside, open it by link and share it with Bob. Return its key."""
    draft.delete_rrset(author=alice, zone=zone, name=RRSET["name"], type=1, now=NOW)
    made = named_drafts.put_aside(author=alice, name="Aside already", now=NOW)
    named = named_drafts.named_draft(alice, made.key)
    named_drafts.open_by_link(by=alice, named=named, is_open=True, now=NOW)
    named_drafts.share(by=alice, named=named, to=User.objects.get(username="bob"), may_edit=True, now=NOW)
    return made.key


def request_of(alice: User, zone: Zone) -> dict[str, Any]:
    """Create a request by Alice, an approval rule for editors, a finished freeze and a hook. Return their ids."""
    terms, scope = ApprovalTerms(role=Role.EDITOR), Scope(zone=zone)
    rule = publish_rules.add_approval_rule(scope=scope, terms=terms, reason="Four eyes", author=alice, now=NOW)
    times = FreezeTimes(NOW, NOW + timedelta(hours=1))
    freeze = publish_rules.add_freeze(scope=scope, times=times, reason="A move", author=alice, now=NOW)
    draft.replace_rrset(author=alice, zone=zone, rrset=rr("www 60 A 192.0.2.1", origin=zone.name), now=NOW)
    made = publish_requests.ask(author=alice, name="Asked", now=NOW)
    hook = PublishHook.objects.create(
        tag="checked", url="https://127.0.0.1/", reason="Checks", secret=encrypt_secret(b"whsec_eA=="), seconds=1,
        when_silent="refuse", placed_at=NOW,
    )  # fmt: skip
    return {"request_key": made.key, "rule_id": rule.pk, "freeze_id": freeze.pk, "hook_id": hook.pk}


def things_of(alice: User) -> dict[str, int]:
    """Create Alice's team, grant, token, alert route, webhook and delivery, and a node group. Return their ids."""
    team = Team.objects.create(name="Web ops", created_at=NOW)
    grant = Grant(frozenset({Right.READ}), everywhere=True)
    row = GrantRow.objects.create(team=team, grant=grant.to_json(), created_at=NOW)
    token = create_token(owner=alice, terms=TokenTerms("watch", (grant,)), by=alice, now=timezone.now()).token
    webhook = Webhook.objects.create(
        owner=alice, url="https://hooks.example.test/", events=["node.state"],
        secret=encrypt_secret(b"whsec_eA=="), created_at=NOW,
    )  # fmt: skip
    event = Event.objects.create(uid=uuid4(), kind="ping", subject="ping", at=NOW)
    delivery = Delivery.objects.create(webhook=webhook, event=event, number=1, created_at=NOW, state="failed")
    route = Route.objects.create(
        name="on call", kind="webhook", address="https://hooks.example.test/", secret=encrypt_secret(b"whsec_eA=="),
        created_at=NOW,
    )  # fmt: skip
    ids = {"team_id": team, "grant_id": row, "token_id": token, "webhook_id": webhook, "delivery_id": delivery}
    ids["route_id"] = route
    partner = create_secondary(terms=SecondaryTerms("partner", ["9.9.9.9"], kind="bind"), by=alice, now=NOW)
    ids["secondary_id"] = partner.secondary
    ids["catalog_id"] = follow_catalog(
        name="followed.catalog.",
        primaries_terms=PrimaryTerms(["9.9.9.9"]),
        terms=CatalogTerms(),
        acting=Acting(alice, Channel.WEB, NOW),
    )  # fmt: skip
    ours = create_catalog(name=OURS["zone_name"], group_tags=["shop"], acting=Acting(alice, Channel.WEB, NOW))
    take_in(catalog=ours, zone_ids=[Zone.objects.get(name="example.test.").pk], author=alice, now=NOW)
    policy = create_policy(name="Standard", terms=Terms(nsec3=Nsec3()), is_default=True, by=alice, now=NOW)
    attach(policy=policy, to=Target(tag="shop"), by=alice, now=NOW)
    attach(policy=policy, to=Target(team=team), by=alice, now=NOW)
    ids["policy_id"] = policy
    ids["template_id"] = template = template_maker(alice)()
    ids["template_run_id"] = template_run = template_runs.create_run(template=template, by=alice, now=NOW)
    template_runs.work_on_run(template_run.pk)
    names = Servers((Host("ns1.example.test.", nodes=("ns1",)), Host("ns2.example.net.", ("192.0.2.9",))))
    ids["set_id"] = house = make_set("House", names, is_default=False)
    glue = "Add this glue at test.", ("ns1.example.test. 127.0.0.1",)
    points = [Point("glue", verdict, *glue) for verdict in Verdict]
    KeptAddresses.objects.create(
        template=house, zone=Zone.objects.get(name="example.test."), set_at=NOW, refusal="It is frozen.", tried_at=NOW,
        asked_at=NOW, points=[point.to_json() for point in points],
    )  # fmt: skip
    tagging = Alike(ZoneAct.ADD_TAGS, ("shop",))
    ids["change_run_id"] = change_run = change_runs.create_run(alike=tagging, by=alice, now=NOW)
    change_runs.work_on_run(change_run.pk)
    ids["run_id"] = run = create_run(by=alice, now=NOW)
    work_on_run(run.pk)
    provider = SignInProvider.objects.create(
        slug="work", name="Work", issuer="https://idp.example.test", client_id="dnspanel", session_hours=12,
        client_secret=encrypt_secret(b"x"), scopes="openid", group_claim="groups", created_at=NOW,
        rules=[{"group": "web", "role": "editor", "team": team.pk}],
    )  # fmt: skip
    ids["provider_id"] = provider
    ids["ldap_id"] = SignInProvider.objects.create(
        kind=ProviderKind.LDAP, slug="ldap", name="Ldap", issuer="ldaps://127.0.0.1:1", session_hours=12,
        attributes={"base": "dc=work,dc=test"}, group_claim="member", created_at=NOW, look_fault="It does not answer.",
        looked_at=NOW,
    )  # fmt: skip
    directory, _ = create_directory(
        terms=DirectoryTerms("Okta", (Rule("web", Role.EDITOR, team.pk),), team_role="reader"), by=alice, now=NOW
    )
    ids["directory_id"] = directory
    ids["destination_id"] = Destination.objects.create(
        name="SIEM", kind="syslog", address="127.0.0.1:6514", created_at=NOW
    )
    left = PersonTerms("leaver", "leaver@people.test", active=False)
    create_person(directory=directory, terms=left, by=alice, now=NOW)
    ids["link_id"] = provider.links.create(user=alice, subject="a1", linked_at=NOW)
    ids["view_id"] = saved_views.save_view(
        person=alice, page=ViewPage.ZONES, name="Late ones", terms={"q": "sync:late"}, now=NOW
    )
    ids["group_id"] = NodeGroup.objects.create(name="doors", order=1)
    return {name: thing.pk for name, thing in ids.items()}


def member_of(*zones: Zone) -> User:
    """Return a member who has all rights in these zones, and no other rights."""
    member = make_person("mia", Role.MEMBER)
    if zones:
        grant = Grant(EVERY_RIGHT, zones=frozenset(zone.pk for zone in zones))
        GrantRow.objects.create(user=member, grant=grant.to_json(), created_at=NOW)
    return member


def opens(person: User, endpoint: Endpoint) -> bool:
    """Return True if the endpoint admits this person."""
    return endpoint.permission in {EVERYBODY, SIGNED_IN, HALF_SIGNED_IN} or can(person, Permission(endpoint.permission))


def all_names(resolver: URLResolver) -> Iterator[str]:
    """Yield the names of all URLs except the APIs', which `tests/dnspanel/api/test_every_url.py` covers."""
    for pattern in resolver.url_patterns:
        if isinstance(pattern, URLResolver) and pattern.app_name == "api":
            continue
        if isinstance(pattern, URLResolver):
            yield from all_names(pattern)
        elif isinstance(pattern, URLPattern):
            yield str(pattern.name)


def call(client: Client, endpoint: Endpoint, path: str, method: str = "", **extra: Any) -> Any:
    """Send a request without changing this browser's cookies."""
    cookies = copy(client.cookies)
    try:
        return getattr(client, (method or endpoint.method).lower())(path, endpoint.data, **extra)
    finally:
        client.cookies = cookies


def turn(sample: Sample, endpoints: Iterable[Endpoint]) -> list[Endpoint]:
    """Return the endpoints whose turn is today."""
    return sample.turn([*endpoints], 50, reason="pages, each as one person")


def test_every_url_stands_in_the_table() -> None:
    assert set(all_names(get_resolver())) == {endpoint.name for endpoint in ENDPOINTS}


def test_who_may_open_it(
    address_of: Any,
    browser: Browser,
    alice: User,
    bob: User,
    charlie: User,
    dora: AnonymousUser,
    sample: Sample,
) -> None:
    browsers = [(person, browser(person)) for person in (charlie, bob, alice)]
    with walk() as step:
        for endpoint in ENDPOINTS:
            with step(endpoint, "no session"):
                looks_open_to(dora, endpoint, call(browser(), endpoint, address_of(endpoint)))
        for endpoint in turn(sample, ENDPOINTS):
            for person, client in browsers:
                with step(endpoint, person):
                    looks_open_to(person, endpoint, call(client, endpoint, address_of(endpoint)))


def looks_open_to(person: User | AnonymousUser, endpoint: Endpoint, response: Any) -> None:
    """Check that the response admits or refuses the person as the table says."""
    if endpoint.permission is EVERYBODY or (isinstance(person, User) and opens(person, endpoint)):
        assert response.status_code not in {401, 403, 405, 500}, f"{person} was refused"
        assert not response.headers.get("Location", "").startswith("/sign-in/")
    elif isinstance(person, AnonymousUser):
        assert response.status_code == 302
        assert response["Location"].startswith(
            "/sign-in/" if endpoint.permission is HALF_SIGNED_IN else "/sign-in/?next="
        )
    else:
        assert response.status_code == 403, f"{person} was let in"
        assert b"Permission denied" in response.content


@pytest.fixture
def half_signed_in(browser: Browser, alice: User) -> Client:
    """Return an administrator's browser after the correct password and before the second factor."""
    client = browser()
    set_up(alice, timezone.now())
    response = client.post(reverse("account_login"), {"login": "alice", "password": PASSWORD})
    assert response["Location"] == reverse("mfa_authenticate")
    return client


CLOSED = [endpoint for endpoint in ENDPOINTS if endpoint.permission not in {EVERYBODY, HALF_SIGNED_IN}]


def test_the_password_alone_opens_nothing(address_of: Any, half_signed_in: Client, sample: Sample) -> None:
    with walk() as step:
        for endpoint in turn(sample, CLOSED):
            path = address_of(endpoint)
            with step(endpoint):
                response = call(half_signed_in, endpoint, path)
                assert response.status_code == 302
                assert response["Location"].startswith("/sign-in/?next=")
            for headers in (HTMX, {"Accept": "application/json"}):
                with step(endpoint, headers):
                    response = call(half_signed_in, endpoint, path, headers=headers)
                    assert response.status_code == 401
                    assert b'Your session has expired. <a href="/sign-in/?next=%2F">Sign in</a>' in response.content


def test_who_has_to_set_up_a_second_factor_opens_nothing_else(
    address_of: Any, browser: Browser, alice: User, sample: Sample
) -> None:
    client = browser(alice)
    set_rules(roles=[Role.ADMINISTRATOR], teams=[], grace=0, by=None, now=NOW)
    session = client.session
    session["second-factor-rules-at"] -= 61
    session.save()
    with walk() as step:
        for endpoint in turn(sample, (endpoint for endpoint in CLOSED if endpoint.name not in SET_UP_VIEWS)):
            path = address_of(endpoint)
            with step(endpoint):
                response = call(client, endpoint, path)
                assert (response.status_code, response.headers.get("Location")) == (302, reverse("account-signing-in"))
            with step(endpoint, HTMX):
                response = call(client, endpoint, path, headers=HTMX)
                assert (response.status_code, response.content) == (403, b"Set up a second factor first.")
                assert response["HX-Redirect"] == reverse("account-signing-in")


def test_a_member_without_a_grant_finds_every_door_closed(address_of: Any, browser: Browser, sample: Sample) -> None:
    client = browser(member_of())
    with walk() as step:
        for endpoint in turn(sample, (endpoint for endpoint in CLOSED if endpoint.permission is not SIGNED_IN)):
            with step(endpoint):
                response = call(client, endpoint, address_of(endpoint))
                assert response.status_code in {403, 404}
                assert not response.headers.get("Location")


def test_a_member_opens_the_zone_that_a_grant_names(address_of: Any, browser: Browser, sample: Sample) -> None:
    client = browser(member_of(Zone.objects.get(name=ZONE["zone_name"])))
    with walk() as step:
        for endpoint in turn(sample, (endpoint for endpoint in ENDPOINTS if ZONE.items() <= endpoint.args.items())):
            with step(endpoint):
                response = call(client, endpoint, address_of(endpoint))
                if endpoint.name == "zone-dnssec-key-export":  # EVERY_RIGHT does not include it
                    assert response.status_code == 403
                    continue
                assert response.status_code not in {401, 403, 405, 500}
                assert response.status_code != 404 or endpoint.name in {
                    *("zone-rrset-undo", "zone-rrset-delete", "zone-expiry", "zone-answers")
                }


def test_what_belongs_to_somebody_else_is_not_there(
    address_of: Any, browser: Browser, make_zone: MakeZone, sample: Sample
) -> None:
    client = browser(member_of(make_zone("www 300 A 192.0.2.1", name="own.test.")))
    with walk() as step:
        for endpoint in turn(sample, (endpoint for endpoint in ENDPOINTS if OF_SOMEBODY & endpoint.args.keys())):
            with step(endpoint):
                response = call(client, endpoint, address_of(endpoint))
                assert response.status_code == 404
                assert b"example.test" not in response.content.replace(b"Zone not found: example.test.", b"")


@pytest.mark.parametrize("face", ["zone-new", "zone-restore", "zone-settings"])
@pytest.mark.parametrize("name", ["www.example.test.", "deep.below.test."])
def test_names_of_another_teams_zone_are_for_who_may_change_that_zone(
    face: str, name: str, ids: dict[str, int], browser: Browser, make_zone: MakeZone, alice: User, bob: User
) -> None:
    """Previously a team could create `www.example.test.` below another team's `example.test.`, or a zone above it."""
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
    assert f" {side} another team’s zone.".encode() in page.content
    assert b"example.test." not in page.content.replace(name.encode(), b"")
    assert Publication.objects.count() == before
    for person in (bob, alice):
        data["form_id"] = uuid4()
        response = browser(person).post(path, data)
        assert response.status_code == 302
        if face != "zone-settings":
            Zone.objects.filter(name=name).update(deleted_at=NOW)
    assert Publication.objects.count() == before + (0 if face == "zone-settings" else 2)


def test_htmx_without_a_session_gets_no_form_to_swap_in(address_of: Any, browser: Browser, sample: Sample) -> None:
    with walk() as step:
        for endpoint in turn(sample, CLOSED):
            with step(endpoint):
                response = call(browser(), endpoint, address_of(endpoint), headers=HTMX)
                assert response.status_code == 401
                assert response["HX-Trigger"] == "sign-in-needed"
                assert b"<form" not in response.content


# Their callers have no session that another site could abuse, or the session is not used.
WITHOUT_CSRF = {"enroll-agent", "webhook-stop-mails", "saml-acs", "oidc-ended"}


def test_a_post_without_a_csrf_token_is_refused(address_of: Any, browser: Browser, alice: User, sample: Sample) -> None:
    client = browser(alice, csrf=True)
    endpoints = [endpoint for endpoint in ENDPOINTS if endpoint.method == "POST"]
    exempt = {
        endpoint.name for endpoint in endpoints if getattr(resolve(address_of(endpoint)).func, "csrf_exempt", False)
    }
    assert exempt == WITHOUT_CSRF
    with walk() as step:
        for endpoint in turn(sample, (endpoint for endpoint in endpoints if endpoint.name not in exempt)):
            with step(endpoint):
                response = call(client, endpoint, address_of(endpoint))
                assert response.status_code == 403
                assert b"This form has expired" in response.content


def test_a_method_that_is_not_in_the_table_is_not_answered(address_of: Any, browser: Browser, alice: User) -> None:
    client = browser(alice)
    methods: dict[str, set[str]] = {}
    for endpoint in ENDPOINTS:
        methods.setdefault(endpoint.name, set()).add(endpoint.method)
    with walk() as step:
        for name, known in methods.items():
            if name.startswith("account_"):
                continue
            endpoint = next(endpoint for endpoint in ENDPOINTS if endpoint.name == name)
            path = address_of(endpoint)
            for method in sorted({"GET", "POST", "PUT", "DELETE"} - known):
                with step(method, name):
                    if endpoint.permission is EVERYBODY or not view_refuses(method, path):
                        assert call(client, endpoint, path, method, headers=HTMX).status_code == 405


def view_refuses(method: str, path: str) -> bool:
    """Return True if the view answers 405 before it looks at the caller, so that no request per role is needed.

    The middleware may answer public pages without the view.
    """
    match = resolve(path)
    try:
        response = match.func(RequestFactory().generic(method, path), *match.args, **match.kwargs)
    except AttributeError:  # the request has no user
        return False
    return bool(response.status_code == 405)


# URLs that belong to no object of the panel's pages. A person who opens one gets the dashboard.
OF_NO_OBJECT = {"enroll-agent", "language", "oidc-ended", "openid_connect_login", "saml-acs"}


def test_a_url_that_only_takes_post_leads_to_a_page_of_its_object(
    address_of: Any, browser: Browser, alice: User, bob: User, charlie: User, sample: Sample
) -> None:
    """Open each URL as the person with the fewest permissions who can use it, and follow the redirects to the page."""
    browsers = [(person, browser(person)) for person in (charlie, bob, alice)]
    opened = {endpoint.name for endpoint in ENDPOINTS if endpoint.method == "GET"}
    with walk() as step:
        for endpoint in turn(sample, (endpoint for endpoint in ENDPOINTS if endpoint.name not in opened)):
            with step(endpoint):
                path = address_of(endpoint)
                assert call(browsers[0][1], endpoint, path, "GET")["Location"]
                for client in (client for person, client in browsers if opens(person, endpoint)):
                    page = call(client, endpoint, path, "GET", follow=True)
                    if page.status_code != 404:  # otherwise the object is Alice's
                        break
                assert page.status_code == (404 if "role_id" in endpoint.args else 200)
                assert b"<html" in page.content
                found = page.resolver_match
                assert (found.view_name == "home") is (endpoint.name in OF_NO_OBJECT)
                assert found.kwargs.items() <= resolve(path).kwargs.items()


# Endpoints that EDIT opens, but not for people who may edit only records of a zone.
NOT_OF_RECORDS = {
    *("zone-new", "zone-new-transferred", "zone-many-zones", "zone-change-runs", "zone-clone", "zone-delete"),
    *("zone-restore", "zone-restore-many", "zone-gone"),
    *("zone-settings", "zone-serials", "zone-default-ttl", "zone-transfers", "zone-locks", "zone-lock-lift"),
    *("zone-primaries", "zone-primaries-ask", "zone-take-over", "zone-give-back"),
    *("catalog-ours-new", "catalog-ours-put-in", "catalog-ours-take-out", "catalog-ours-groups"),
    *("template-new", "template-edit", "template-head", "template-delete"),
    *("server-set-new", "server-set-edit", "server-set-default"),
    *("zone-dnssec-parent", "zone-dnssec-sign", "zone-dnssec-unsign", "zone-dnssec-denial", "zone-dnssec-cds"),
    *("zone-dnssec-key-add", "zone-dnssec-key", "zone-dnssec-key-delete", "zone-dnssec-drop", "zone-dnssec-signalling"),
    *("zone-dnssec-other-key-add", "zone-dnssec-other-key-remove", "zone-dnssec-policy", "zone-dnssec-follow"),
    *("zone-dnssec-rollover-begin", "zone-dnssec-rollover-cancel", "zone-dnssec-emergency"),
    *("zone-policy-new", "zone-policy", "zone-policy-attach", "zone-policy-detach", "zone-policy-delete"),
    *("zone-policy-runs", "zone-policy-run", "zone-policy-run-apply", "zone-policy-run-cancel"),
    *("zone-change-run", "zone-change-run-apply", "zone-change-run-cancel", "zone-change-run-undo"),
}


def with_own_role(name: str, permissions: set[Permission], rights: frozenset[Right], by: User) -> User:
    """Return a person with a new role that has these permissions and rights."""
    person = make_person(name, Role.MEMBER)
    role = own_roles.create_role(name=name, permissions=permissions, rights=rights, by=by, now=NOW)
    change_role(user=person, role=Role.MEMBER, own_role=role, by=by, now=NOW)
    return person


def test_an_auditor_reads_and_opens_nothing_else(
    address_of: Any, browser: Browser, alice: User, sample: Sample
) -> None:
    reading = {Permission.READ, Permission.AUDIT}
    client = browser(with_own_role("olga", reading, frozenset({Right.READ}), alice))
    with walk() as step:
        for endpoint in turn(sample, (endpoint for endpoint in CLOSED if endpoint.permission is not SIGNED_IN)):
            with step(endpoint):
                answer = call(client, endpoint, address_of(endpoint))
                if endpoint.permission not in reading:
                    assert answer.status_code == 403
                    continue
                assert answer.status_code not in {401, 403, 405, 500}
                assert not answer.headers.get("Location", "").startswith("/sign-in/")


def test_a_role_of_ones_own_opens_as_far_as_its_rights_reach(
    address_of: Any, browser: Browser, alice: User, sample: Sample
) -> None:
    rights = RECORD_RIGHTS | {Right.READ}
    client = browser(with_own_role("rita", {Permission.READ, Permission.EDIT}, rights, alice))
    with walk() as step:
        for endpoint in turn(sample, (endpoint for endpoint in ENDPOINTS if endpoint.permission is EDIT)):
            with step(endpoint):
                answer = call(client, endpoint, address_of(endpoint))
                is_of_others = endpoint.args.get("act") == "take-up"  # it changes more than records
                assert (answer.status_code == 403) is (endpoint.name in NOT_OF_RECORDS or is_of_others)
                assert answer.status_code not in {401, 405, 500}


def test_a_leavers_session_opens_nothing(address_of: Any, browser: Browser, alice: User, sample: Sample) -> None:
    leaver = make_person("lea", Role.ADMINISTRATOR)
    client = browser(leaver)
    assert client.get("/people/").status_code == 200
    deactivate(user=leaver, by=alice, now=NOW)
    with walk() as step:
        for endpoint in turn(sample, CLOSED):
            with step(endpoint):
                answer = call(client, endpoint, address_of(endpoint))
                assert answer.status_code == 302
                assert answer["Location"].startswith("/sign-in/")


def test_nobody_signs_in_as_a_service_account(browser: Browser, alice: User) -> None:
    robot = create_service_account(name="robot", role=Role.EDITOR, by=alice, now=NOW)
    robot.set_password(PASSWORD)  # as if a database had a password for it
    robot.save()
    client = browser()
    answer = client.post(reverse("account_login"), {"login": "robot", "password": PASSWORD})
    assert answer["Location"] == reverse("account_inactive")
    assert client.get(reverse("home"))["Location"].startswith("/sign-in/")


def test_who_asked_approves_nothing_and_an_approver_takes_nothing_back(
    ids: dict[str, Any], address_of: Any, browser: Browser, alice: User, bob: User
) -> None:
    def is_done(person: User, act: str) -> bool:
        request = request_lists.request_for(alice, ids["request_key"])
        seen = request_status.status_of(request, person).digest
        endpoint = next(
            endpoint for endpoint in ENDPOINTS if endpoint.name == "draft-request-act" and endpoint.args["act"] == act
        )
        with put_back():
            before = told_of(request)
            tomorrow = f"{timezone.now() + timedelta(days=1):%Y-%m-%dT%H:%M}"
            sent = {"seen": seen, "text": "Fire", "publish_at": tomorrow}
            browser(person).post(address_of(endpoint), sent)
            return told_of(request) != before

    def told_of(request: PublishRequest) -> Any:
        found = PublishRequest.objects.get(pk=request.pk)
        return found.state, found.publish_at, list(request.notes.values_list("by", "verdict"))

    acts = ("approve", "decline", "comment", "withdraw", "plan", "publish", "past")
    found = {act: (is_done(alice, act), is_done(bob, act)) for act in acts}
    assert found == {
        "approve": (False, True),
        "decline": (False, True),
        "comment": (True, True),
        "withdraw": (True, False),
        "plan": (True, False),
        "publish": (False, False),
        "past": (True, False),  # for people who govern the zone, with a reason
    }


def governed(zone: Zone, alice: User, state: str) -> None:
    """Lock or freeze the zone, or require approval for its changes."""
    terms: dict[str, Any] = {"reason": "As it is", "author": alice, "now": timezone.now()}
    if state == "locked":
        locks.add_lock(zone=zone, name="", type=None, manager=NO_MANAGER, **terms)
    elif state == "frozen":
        times = FreezeTimes(terms["now"] - timedelta(hours=1), terms["now"] + timedelta(hours=1))
        publish_rules.add_freeze(scope=Scope(zone=zone), times=times, **terms)
    else:
        publish_rules.add_approval_rule(scope=Scope(zone=zone), terms=ApprovalTerms(), **terms)


@pytest.mark.parametrize("state", ["as usual", "frozen", "locked", "governed"])
def test_pages_publish_nothing_of_a_zone_that_is_kept_back(
    state: str, address_of: Any, browser: Browser, alice: User
) -> None:
    """Tries each endpoint that publishes. A change that adds such an endpoint adds its data here."""
    zone, client = Zone.objects.get(name=ZONE["zone_name"]), browser(alice)
    gone = Zone.objects.get(name="gone.test.")
    draft.replace_rrset(author=alice, zone=zone, rrset=rr("new 60 A 192.0.2.9", origin=zone.name), now=NOW)
    if state != "as usual":
        governed(zone, alice, state)
        if state == "frozen":
            governed(gone, alice, state)
    seen = fingerprint(revision.preview(author=alice, zones=[zone]))
    review = {"seen": seen, "form_id": str(uuid4()), "act": "publish"}
    tried = {
        "zone-review": review,
        "changes": review,
        "zone-delete": {"typed": zone.name, "form_id": str(uuid4())},
        "zone-restore": {"form_id": str(uuid4())},
    }
    found = {}
    for name, data in tried.items():
        endpoint = next(endpoint for endpoint in ENDPOINTS if (endpoint.name, endpoint.method) == (name, "POST"))
        with put_back():
            before = Publication.objects.count()
            client.post(address_of(endpoint), data)
            found[name] = Publication.objects.count() - before
    goes_on = {"zone-restore": 1} if state in {"locked", "governed"} else {}  # a restore of another zone, and no change
    assert found == (dict.fromkeys(tried, 1) if state == "as usual" else dict.fromkeys(tried, 0) | goes_on)
