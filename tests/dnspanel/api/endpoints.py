"""The reviewed table of rights in the APIs, for every URL, method and kind of caller.

Each verdict has one letter for each of COLUMNS: `+` success; `-` 403, not allowed; `0` 404, not allowed to see the
object; `!` allowed, but the request or the present state is wrong (409, 422). Strangers get 401 everywhere, unless the
endpoint is OPEN. dyndns2 answers in words: `!yours` counts as `-`, and `nohost` as `0`.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from tests.dnspanel.api.callers import Caller

COLUMNS = (
    Caller.READER,
    Caller.OTHER_TEAM,
    Caller.ACME,
    Caller.CI,
    Caller.MONITORING,
    Caller.EDITOR,
    Caller.ADMINISTRATOR,
)
OPEN = "open"

# Callers with the results of a similar caller in COLUMNS. OTHERWISE, at the end, has the exceptions.
LIKE = {
    Caller.AUDITOR: Caller.READER,
    Caller.SERVICE: Caller.EDITOR,
    Caller.APPROVER: Caller.ADMINISTRATOR,
}


class State(StrEnum):
    """The state of the zone in a test. KEPT_BACK lists the endpoints that then refuse an administrator."""

    FROZEN = "frozen"
    LOCKED = "locked"
    GOVERNED = "approval needed"


# Names of objects that the tests create. Ids are found by name.
SERVER = {"server_id": "localhost"}
V1_ZONE = {**SERVER, "zone_id": "example.test."}
ZONE = {"zone_name": "example.test."}
OTHER_DNSKEY = f"example.test. IN DNSKEY 257 3 13 {'A' * 86}=="
WWW = {"owner": "www", "type_name": "A"}
CHALLENGE = {"owner": "_acme-challenge.www", "type_name": "TXT"}
ABROAD = {"zone_name": "elsewhere.test."}
REVISION = {**ZONE, "number": 1}
NODE = {"name": "ns1"}
FRONT = {"name": "front1"}
IMPORT = {"import_id": "?"}
EXPORT = {"export_id": "?"}
POLICY = {"policy_id": "?"}
RUN = {"run_id": "?"}
TEMPLATE = {"template_id": "?"}
SERVER_SET = {"set_id": "?"}
CHANGE_RUN = {"change_run_id": "?"}
TEMPLATE_RUN = {"template_run_id": "?"}
NAMED_DRAFT = {"key": "?"}
REQUEST = {"key": "?request_key"}
PUBLISH_HOOK = {"reason": "Checks", "zone": "example.test.", "url": "https://9.9.9.9/"}
FREEZE = {
    "reason": "A move",
    "zone": "example.test.",
    "starts_at": "2100-01-01T00:00:00Z",
    "ends_at": "2100-01-02T00:00:00Z",
}
SAML_PROVIDER = {"kind": "saml", "name": "Saml", "slug": "saml", "metadata_url": "https://127.0.0.1:1/metadata"}
LDAP_PROVIDER = {
    "kind": "ldap",
    "name": "Ldap",
    "slug": "ldap",
    "uri": "ldaps://127.0.0.1:1",
    "attributes": {"base": "dc=work,dc=test"},
}
OIDC_PROVIDER = {
    "kind": "oidc",
    "name": "Work",
    "slug": "work-too",
    "issuer": "https://127.0.0.1:1",
    "client_id": "x",
    "client_secret": "x",
}
SAML = {"provider_id": "?saml_id"}
LDAP = {"provider_id": "?ldap_id"}
DIRECTORY = {"directory_id": "?"}
DESTINATION = {"destination_id": "?"}
EVIDENCE = {"name": "Collector", "kind": "otlp", "address": "https://9.9.9.9/v1/logs"}
TEAM = {"team_id": "?"}
TOKEN = {"token_id": "?"}
KEY = {"key_id": "?"}
HOOK = {"webhook_id": "?"}
SECONDARY = {"secondary_id": "?"}
CATALOG = {"catalog_id": "?"}
OURS = {"zone_name": "ours.catalog."}
PERSON = {"user_id": "?"}
A = {"ttl": 300, "rdata": ["192.0.2.7"]}
TXT = {"ttl": 60, "rdata": ['"proof"']}
READING = {"rights": ["read"], "everywhere": True}
PATCH_A = {
    "rrsets": [
        {
            "name": "www.example.test.",
            "type": "A",
            "ttl": 60,
            "changetype": "REPLACE",
            "records": [{"content": "192.0.2.7", "disabled": False}],
        }
    ]
}
PATCH_TXT = {
    "rrsets": [
        {
            "name": "_acme-challenge.www.example.test.",
            "type": "TXT",
            "ttl": 60,
            "changetype": "REPLACE",
            "records": [{"content": '"proof"', "disabled": False}],
        }
    ]
}
V1_NEW = {"name": "new.test.", "kind": "Native", "nameservers": ["ns.x.test."]}
# A zone of the other team, with a tag, below everyone's zone.
INSIDE = {"zone_name": "inside.example.test."}


@dataclass(frozen=True)
class Endpoint:
    """A URL with a method, the request of the test, and the expected result for each kind of caller."""

    name: str
    method: str
    verdict: str
    args: dict[str, Any] = field(default_factory=dict)
    body: Any = None
    query: dict[str, Any] = field(default_factory=dict)
    note: str = ""

    def __str__(self) -> str:
        return f"{self.method} {self.name}{' ' + self.note if self.note else ''}"


V1 = [
    # reader, other team, ACME, CI, monitoring, editor, administrator
    Endpoint("v1-versions", "GET", "+++++++"),
    Endpoint("v1-docs", "GET", "+++++++"),
    Endpoint("v1-root", "GET", "+++++++"),
    Endpoint("v1-servers", "GET", "+++++++"),
    Endpoint("v1-server", "GET", "+++++++", SERVER),
    Endpoint("v1-config", "GET", "+++++++", SERVER),
    Endpoint("v1-statistics", "GET", "+---+++", SERVER),
    Endpoint("v1-search-data", "GET", "+++++++", SERVER, query={"q": "www"}),
    Endpoint("v1-cache-flush", "PUT", "+++++++", SERVER, query={"domain": "example.test."}),
    Endpoint("v1-autoprimaries", "GET", "+++++++", SERVER),
    Endpoint("v1-autoprimaries", "POST", "!!!!!!!", SERVER, {"ip": "192.0.2.1", "nameserver": "ns.example.test."}),
    Endpoint("v1-autoprimary", "DELETE", "+++++++", {**SERVER, "ip": "192.0.2.1", "nameserver": "ns.example.test"}),
    Endpoint("v1-tsigkeys", "GET", "+++++++", SERVER),
    Endpoint("v1-tsigkeys", "POST", "-+---++", SERVER, {"name": "k", "algorithm": "hmac-sha256"}),
    Endpoint("v1-tsigkey", "GET", "000000+", {**SERVER, "tsigkey_id": "key.test."}),
    Endpoint(
        "v1-tsigkey", "PUT", "000000+", {**SERVER, "tsigkey_id": "key.test."}, {"key": "c2l4dGVlbiBieXRlcyBub3c="}
    ),
    Endpoint("v1-tsigkey", "DELETE", "000000+", {**SERVER, "tsigkey_id": "key.test."}),
    Endpoint("v1-zones", "GET", "+++++++", SERVER),
    Endpoint("v1-zones", "POST", "-+---++", SERVER, V1_NEW),
    Endpoint(
        "v1-zones", "POST", "-----++", SERVER, {**V1_NEW, "name": "www.example.test."}, note="below another team's"
    ),
    Endpoint("v1-zones", "POST", "-----++", SERVER, {**V1_NEW, "name": "below.test."}, note="above another team's"),
    Endpoint("v1-zones", "POST", "-!---!!", SERVER, {**V1_NEW, "name": "test."}, note="a public suffix"),
    Endpoint("v1-zone", "GET", "+0+++++", V1_ZONE),
    Endpoint("v1-zone", "PATCH", "-0-+-++", V1_ZONE, PATCH_A, note="www A"),
    Endpoint("v1-zone", "PATCH", "-0++-++", V1_ZONE, PATCH_TXT, note="_acme-challenge.www TXT"),
    Endpoint("v1-zone", "PUT", "-0---++", V1_ZONE, {"kind": "Native"}),
    Endpoint("v1-zone", "DELETE", "-0---++", V1_ZONE),
    Endpoint("v1-zone-notify", "PUT", "-0++-++", V1_ZONE),
    Endpoint("v1-zone-rectify", "PUT", "-0++-++", V1_ZONE),
    Endpoint("v1-zone-export", "GET", "+0+++++", V1_ZONE),
    Endpoint("v1-zone-axfr-retrieve", "PUT", "-0---!!", V1_ZONE),
    Endpoint("v1-metadata-list", "GET", "+0+++++", V1_ZONE),
    Endpoint("v1-metadata-list", "POST", "-0---++", V1_ZONE, {"kind": "X-NOTE", "metadata": ["a"]}),
    Endpoint("v1-metadata", "GET", "+0+++++", {**V1_ZONE, "metadata_kind": "X-NOTE"}),
    Endpoint("v1-metadata", "PUT", "-0---++", {**V1_ZONE, "metadata_kind": "X-NOTE"}, {"metadata": ["a"]}),
    Endpoint("v1-metadata", "DELETE", "-0---++", {**V1_ZONE, "metadata_kind": "X-NOTE"}),
    Endpoint("v1-cryptokeys", "GET", "+0+++++", V1_ZONE),
    Endpoint("v1-cryptokeys", "POST", "-0---++", V1_ZONE, {"keytype": "csk", "active": True}),
    Endpoint("v1-cryptokey", "GET", "+0+++++", {**V1_ZONE, "cryptokey_id": "?dnssec_key"}),
    Endpoint("v1-cryptokey", "PUT", "-0---++", {**V1_ZONE, "cryptokey_id": "?dnssec_key"}, {"active": True}),
    Endpoint("v1-cryptokey", "DELETE", "-0---++", {**V1_ZONE, "cryptokey_id": "?dnssec_key"}),
]

METRICS = [
    # reader, other team, ACME, CI, monitoring, editor, administrator
    Endpoint("metrics", "GET", "+---+++"),
]

V2_ZONES = [
    # reader, other team, ACME, CI, monitoring, editor, administrator
    Endpoint("v2-problems", "GET", OPEN),
    Endpoint("v2-problem", "GET", OPEN, {"code": "forbidden"}),
    Endpoint("v2-openapi", "GET", OPEN),
    Endpoint("v2-zones", "GET", "+++++++"),
    Endpoint("v2-zones", "POST", "-+---++", {}, {"name": "new.test."}),
    Endpoint("v2-zones", "POST", "-----++", {}, {"name": "www.example.test."}, note="below another team's"),
    Endpoint("v2-zones", "POST", "-----++", {}, {"name": "below.test."}, note="above another team's"),
    Endpoint("v2-zones", "POST", "-!---!!", {}, {"name": "test."}, note="a public suffix"),
    Endpoint("v2-zones", "POST", "-!---!!", {}, {"name": "192.0.2.0/24"}, note="a network"),
    Endpoint("v2-zone", "PATCH", "-!00-++", INSIDE, {"team": "?other_team"}, note="to a team, below another team's"),
    Endpoint("v2-zone", "GET", "+0+++++", ZONE),
    Endpoint("v2-zone", "PATCH", "-0---++", ZONE, {"tags": ["prod"]}),
    Endpoint("v2-zone", "DELETE", "-0---++", ZONE),
    Endpoint("v2-zone-clones", "POST", "-0---++", ZONE, {"names": ["clone.test."]}),
    Endpoint("v2-rrsets", "GET", "+0+++++", ZONE),
    Endpoint("v2-rrset", "GET", "+00++++", {**ZONE, **WWW}, note="www A"),
    Endpoint("v2-rrset", "PUT", "-0-+-++", {**ZONE, **WWW}, A, note="www A"),
    Endpoint("v2-rrset", "PATCH", "-0-+-++", {**ZONE, **WWW}, {"ttl": 60}, note="www A"),
    Endpoint("v2-rrset", "DELETE", "-0-+-++", {**ZONE, **WWW}, note="www A"),
    Endpoint("v2-rrset", "GET", "+0+++++", {**ZONE, **CHALLENGE}, note="the challenge"),
    Endpoint("v2-rrset", "PUT", "-0++-++", {**ZONE, **CHALLENGE}, TXT, note="the challenge"),
    Endpoint("v2-rrset", "PATCH", "-0++-++", {**ZONE, **CHALLENGE}, {"ttl": 30}, note="the challenge"),
    Endpoint("v2-rrset", "DELETE", "-0++-++", {**ZONE, **CHALLENGE}, note="the challenge"),
    Endpoint("v2-rrset-expiry", "GET", "+00++++", {**ZONE, **WWW}),
    Endpoint("v2-rrset-expiry", "PUT", "-0-+-++", {**ZONE, **WWW}, {"remove_at": "?tomorrow"}),
    Endpoint("v2-rrset-expiry", "DELETE", "-0-+-++", {**ZONE, **WWW}),
    Endpoint("v2-expiries", "GET", "+++++++"),
    Endpoint("v2-zone-people", "GET", "+0+++++", ZONE),
    Endpoint("v2-zone-tokens", "GET", "+0+++++", ZONE),
    Endpoint("v2-locks", "GET", "-0---++", ZONE),
    Endpoint("v2-locks", "POST", "-0---++", ZONE, {"name": "www", "type": "TXT", "reason": "a test"}),
    Endpoint("v2-lock", "GET", "-0---00", {**ZONE, "lock_id": 1}),
    Endpoint("v2-lock", "DELETE", "-0---00", {**ZONE, "lock_id": 1}),
    Endpoint(
        "v2-zone-changes", "POST", "-0-+-++", ZONE, {"changes": [{"op": "replace", "name": "www", "type": "A", **A}]}
    ),
    Endpoint(
        "v2-bulk",
        "POST",
        "!!-+!++",
        {},
        {"zones": [{"zone": "example.test.", "changes": [{"op": "replace", "name": "www", "type": "A", **A}]}]},
    ),
    Endpoint("v2-many-rrsets", "POST", "-+++-++", {}, {"q": "type:a,txt", "act": {"op": "set-ttl", "ttl": 60}}),
    Endpoint("v2-many-zones", "POST", "-+---++", {}, {"q": "example", "act": {"op": "add-tags", "tags": ["shop"]}}),
    Endpoint("v2-deletions", "POST", "-!---++", {}, {"zones": [{"zone": "example.test."}]}),
    Endpoint("v2-dnssec", "GET", "+0+++++", ZONE),
    Endpoint("v2-dnssec", "PATCH", "-0---++", ZONE, {"signed": True}),
    Endpoint("v2-bulk-dnssec", "POST", "-!---++", {}, {"zones": ["example.test."], "signed": True}),
    Endpoint("v2-dnssec-parent", "GET", "+0+++++", ZONE),
    Endpoint("v2-dnssec-parent", "POST", "-0---!!", ZONE),
    Endpoint("v2-dnssec-nodes", "GET", "+0+++++", ZONE),
    Endpoint("v2-dnssec-keys", "GET", "+0+++++", ZONE),
    Endpoint("v2-dnssec-keys", "POST", "-0---++", ZONE, {}),
    Endpoint("v2-dnssec-key", "GET", "+0+++++", {**ZONE, "key_id": "?dnssec_key"}),
    Endpoint("v2-dnssec-key", "PATCH", "-0---++", {**ZONE, "key_id": "?dnssec_key"}, {"active": True}),
    Endpoint("v2-dnssec-key", "DELETE", "-0---++", {**ZONE, "key_id": "?dnssec_key"}),
    Endpoint("v2-other-keys", "GET", "+0+++++", ZONE),
    Endpoint("v2-other-keys", "POST", "-0---!!", ZONE, {"dnskey": OTHER_DNSKEY}),
    Endpoint("v2-other-key", "DELETE", "-0---00", {**ZONE, "tag": 1}),
    Endpoint("v2-dnssec-key-export", "POST", "-0----+", {**ZONE, "key_id": "?dnssec_key"}),
    Endpoint("v2-rollover-kinds", "GET", "+0+++++", ZONE),
    Endpoint("v2-zone-rollovers", "GET", "+0+++++", ZONE),
    Endpoint("v2-zone-rollovers", "POST", "-000-++", {"zone_name": "signed.test."}, {"kind": "csk"}),
    Endpoint("v2-rollover", "GET", "+000+++", {"zone_name": "rolled.test.", "rollover_id": "?"}),
    Endpoint("v2-rollover-cancel", "POST", "-000-!!", {"zone_name": "rolled.test.", "rollover_id": "?"}, {}),
    Endpoint("v2-rollovers", "GET", "+++++++"),
    Endpoint("v2-unproven", "GET", "+++++++"),
    Endpoint("v2-revisions", "GET", "+0+++++", ZONE),
    Endpoint("v2-revision", "GET", "+0+++++", REVISION),
    Endpoint("v2-revision-rrsets", "GET", "+0+++++", REVISION),
    Endpoint("v2-revision-undo", "POST", "-0-+-++", {**ZONE, "number": 2}, {}),
    Endpoint("v2-revision-restore", "POST", "-0-+-++", REVISION, {}),
    Endpoint("v2-search", "GET", "+++++++", query={"q": "www"}),
    Endpoint("v2-trash", "GET", "+++++++"),
    Endpoint("v2-restorations", "POST", "-+---++", {}, {"q": "example"}),
    Endpoint("v2-trash-restore", "POST", "-000-++", {"zone_id": "?"}, {}),
    Endpoint("v2-trash-restore", "POST", "--00-++", {"zone_id": "?inside_id"}, {}, note="below another team's"),
    Endpoint("v2-draft", "GET", "+++++++"),
    Endpoint("v2-draft", "DELETE", "+++++++"),
    Endpoint("v2-draft-operations", "GET", "+++++++"),
    Endpoint("v2-draft-resolve", "POST", "000+00+", {"operation_id": "?"}, {"choice": "mine"}),
    Endpoint("v2-draft-rrset", "GET", "+00++++", {**ZONE, **WWW}),
    Endpoint("v2-draft-rrset", "PUT", "-0-+-++", {**ZONE, **WWW}, {"wanted": A}),
    Endpoint("v2-draft-rrset", "DELETE", "-0-+-0+", {**ZONE, **WWW}),
    Endpoint("v2-draft-plan", "GET", "+++++++"),
    Endpoint("v2-draft-publish", "POST", "!!!+!!+", {}, {}),
    Endpoint("v2-named-drafts", "GET", "+++++++"),
    Endpoint("v2-named-drafts", "POST", "-!!+-!+", {}, {"name": "Aside"}),
    Endpoint("v2-named-draft", "GET", "000++0+", NAMED_DRAFT),
    Endpoint("v2-named-draft-plan", "GET", "000++0+", NAMED_DRAFT),
    Endpoint("v2-named-draft-publish", "POST", "000+-0+", NAMED_DRAFT, {}),
    Endpoint("v2-named-draft-take-up", "POST", "000+-0+", NAMED_DRAFT, {"aside": "Before"}),
    Endpoint("v2-named-draft-put-back", "POST", "000+-0+", NAMED_DRAFT),
    Endpoint("v2-named-draft", "DELETE", "000+-0+", NAMED_DRAFT),
    # Alice made the request. She is the administrator and owns the tokens of CI and monitoring.
    Endpoint("v2-requests", "GET", "+++++++"),
    Endpoint("v2-requests", "POST", "-!!+-!+", {}, {"name": "Asked too"}),
    Endpoint("v2-request", "GET", "+00++++", REQUEST),
    Endpoint("v2-request-act", "POST", "-00--!!", {**REQUEST, "act": "approve"}, {"digest": "x"}, note="approve"),
    Endpoint("v2-request-act", "POST", "-00--!!", {**REQUEST, "act": "decline"}, {"text": "No"}, note="decline"),
    Endpoint("v2-request-act", "POST", "+00++++", {**REQUEST, "act": "comment"}, {"text": "Why?"}, note="comment"),
    Endpoint("v2-request-act", "POST", "-00+-!+", {**REQUEST, "act": "plan"}, {"publish_at": None}, note="plan"),
    Endpoint("v2-request-act", "POST", "-00+-!+", {**REQUEST, "act": "publish"}, {}, note="publish"),
    Endpoint(
        "v2-request-act", "POST", "-00---+", {**REQUEST, "act": "past-rules"}, {"text": "Fire"}, note="past-rules"
    ),
    Endpoint("v2-request-act", "POST", "-00+-!+", {**REQUEST, "act": "withdraw"}, {}, note="withdraw"),
    Endpoint("v2-approval-rules", "GET", "+++++++"),
    Endpoint("v2-approval-rules", "POST", "-0----+", {}, {"reason": "Four eyes", "zone": "example.test."}),
    Endpoint("v2-approval-rule", "GET", "000000+", {"rule_id": "?"}),
    Endpoint("v2-approval-rule", "DELETE", "000000+", {"rule_id": "?"}),
    Endpoint("v2-freezes", "GET", "+++++++"),
    Endpoint("v2-freezes", "POST", "-0----+", {}, FREEZE),
    Endpoint("v2-freeze", "GET", "000000+", {"freeze_id": "?"}),
    Endpoint("v2-freeze", "DELETE", "000000+", {"freeze_id": "?"}),
    Endpoint("v2-publish-hooks", "GET", "+++++++"),
    Endpoint("v2-publish-hooks", "POST", "-0----+", {}, PUBLISH_HOOK),
    Endpoint("v2-publish-hook", "GET", "000000+", {"hook_id": "?"}),
    Endpoint("v2-publish-hook", "PATCH", "000000+", {"hook_id": "?"}, {"name": "Names", "seconds": 3}),
    Endpoint("v2-publish-hook", "DELETE", "000000+", {"hook_id": "?"}),
    Endpoint("v2-publish-hook-health", "GET", "000000+", {"hook_id": "?"}),
    Endpoint("v2-publish-hook-rotate", "POST", "000000+", {"hook_id": "?"}),
    Endpoint("v2-publish-hook-test", "POST", "000000+", {"hook_id": "?"}),
    Endpoint("v2-publications", "GET", "+++++++"),
    Endpoint("v2-publication", "GET", "+0+++++", {"sequence": "?"}),
    Endpoint("v2-publication-zones", "GET", "+0+++++", {"sequence": "?"}),
    Endpoint("v2-publication-undo", "POST", "-0-+-++", {"sequence": "?"}, {}),
]

V2_MORE = [
    # reader, other team, ACME, CI, monitoring, editor, administrator
    Endpoint("v2-me", "GET", "+++++++"),
    Endpoint("v2-my-quotas", "GET", "+++++++"),
    Endpoint("v2-imports", "GET", "-+-+-++"),
    Endpoint("v2-imports", "POST", "-+-+-++", {}, {"source": "files"}, note="of files"),
    Endpoint(
        "v2-imports",
        "POST",
        "-----++",
        {},
        {"source": "axfr", "axfr": {"server": "192.0.2.53", "zones": ["x.test"]}},
        note="of a server",
    ),
    Endpoint("v2-import", "GET", "-0-0-++", IMPORT),
    Endpoint("v2-import", "PATCH", "-0-0-!!", IMPORT, {"options": {"existing": "replace"}}),
    Endpoint("v2-import", "DELETE", "-0-0-++", IMPORT),
    Endpoint("v2-import-files", "GET", "-0-0-++", IMPORT),
    Endpoint("v2-import-file", "PUT", "-0-0-++", {**IMPORT, "name": "a.zone"}, b"@ 300 A 192.0.2.1"),
    Endpoint("v2-import-file", "DELETE", "-0-0-++", {**IMPORT, "name": "a.zone"}),
    Endpoint("v2-import-zones", "GET", "-0-0-++", IMPORT),
    Endpoint("v2-import-choices", "POST", "-0-0-!!", IMPORT, {"choice": "skip"}),
    Endpoint("v2-import-faults", "GET", "-0-0-++", IMPORT),
    Endpoint("v2-import-faults-csv", "GET", "-0-0-++", IMPORT),
    Endpoint("v2-import-act", "POST", "-0-0-++", {**IMPORT, "act": "cancel"}),
    Endpoint("v2-dnssec-policies", "GET", "+++++++"),
    Endpoint("v2-dnssec-policies", "POST", "-----++", {}, {"name": "New"}),
    Endpoint("v2-dnssec-policy", "GET", "+000+++", POLICY),
    Endpoint("v2-dnssec-policy", "PATCH", "-000-++", POLICY, {"name": "Old"}),
    Endpoint("v2-dnssec-policy", "DELETE", "-000-++", POLICY),
    Endpoint("v2-zone-policy", "GET", "+0+++++", ZONE),
    Endpoint("v2-zone-policy", "PUT", "-0---++", ZONE, {"policy": "?policy_id"}),
    Endpoint("v2-zone-policy", "DELETE", "-0---++", ZONE),
    Endpoint("v2-templates", "GET", "+++++++"),
    Endpoint("v2-templates", "POST", "-----++", {}, {"name": "New", "text": "@ A 192.0.2.1"}),
    Endpoint("v2-template", "GET", "+++++++", TEMPLATE),
    Endpoint("v2-template", "PATCH", "-----++", TEMPLATE, {"name": "Other"}),
    Endpoint("v2-template", "DELETE", "-----++", TEMPLATE),
    Endpoint("v2-template-versions", "GET", "+++++++", TEMPLATE),
    Endpoint("v2-template-versions", "POST", "-----++", TEMPLATE, {"text": "@ A 192.0.2.2"}),
    Endpoint("v2-template-version", "GET", "+++++++", {**TEMPLATE, "number": 1}),
    Endpoint("v2-zone-template", "POST", "-0-+-++", ZONE, {"template": "?template_id"}),
    Endpoint("v2-name-server-sets", "GET", "+++++++"),
    Endpoint("v2-name-server-sets", "POST", "-----++", {}, {"name": "New", "servers": [{"name": "ns1.example.net"}]}),
    Endpoint("v2-name-server-set", "GET", "+++++++", SERVER_SET),
    Endpoint("v2-name-server-set", "PATCH", "-----++", SERVER_SET, {"name": "Other", "default": True, "ttl": 60}),
    Endpoint("v2-name-server-set", "DELETE", "-----++", SERVER_SET),
    Endpoint("v2-zone-name-servers", "GET", "+0+++++", ZONE),
    Endpoint("v2-vanity-names", "GET", "+++++++", SERVER_SET),
    Endpoint("v2-vanity-name", "GET", "+0+++++", {**SERVER_SET, **ZONE}),
    Endpoint("v2-vanity-name", "PUT", "-0-+-++", {**SERVER_SET, **ZONE}),
    Endpoint("v2-vanity-name", "DELETE", "-0-+-++", {**SERVER_SET, **ZONE}),
    Endpoint("v2-vanity-parent", "POST", "-0++-++", {**SERVER_SET, **ZONE}),
    Endpoint("v2-change-runs", "GET", "+++++++"),
    Endpoint("v2-change-runs", "POST", "-+---++", {}, {"q": "x", "act": {"op": "add-tags", "tags": ["shop"]}}),
    Endpoint("v2-change-run", "GET", "000000+", CHANGE_RUN),
    Endpoint("v2-change-run", "DELETE", "000000+", CHANGE_RUN),
    Endpoint("v2-change-run-zones", "GET", "000000+", CHANGE_RUN),
    Endpoint("v2-template-runs", "GET", "+++++++"),
    Endpoint("v2-template-runs", "POST", "-+++-++", {}, {"template": "?template_id"}),
    Endpoint("v2-template-run", "GET", "000000+", TEMPLATE_RUN),
    Endpoint("v2-template-run", "DELETE", "000000+", TEMPLATE_RUN),
    Endpoint("v2-template-run-zones", "GET", "000000+", TEMPLATE_RUN),
    Endpoint("v2-policy-runs", "GET", "+++++++"),
    Endpoint("v2-policy-runs", "POST", "-+---++", {}, {}),
    Endpoint("v2-policy-run", "GET", "00000++", RUN),
    Endpoint("v2-policy-run", "DELETE", "00000++", RUN),
    Endpoint("v2-policy-run-zones", "GET", "00000++", RUN),
    Endpoint("v2-exports", "GET", "+++++++"),
    Endpoint("v2-exports", "POST", "++-++++", {}, {"format": "bind"}),
    Endpoint("v2-export", "GET", "000000+", EXPORT),
    Endpoint("v2-export", "DELETE", "000000+", EXPORT),
    Endpoint("v2-export-file", "GET", "000000+", {"export_id": "?written"}),
    Endpoint("v2-nodes", "GET", "+---+++"),
    Endpoint("v2-node", "GET", "+---+++", NODE),
    Endpoint("v2-node", "PATCH", "------!", NODE, {"dns_port": 5300}, note="that has joined"),
    Endpoint("v2-node", "DELETE", "------!", NODE, note="that has joined"),
    Endpoint("v2-node-points", "GET", "+---+++", NODE),
    Endpoint("v2-front", "GET", "+---+++", FRONT),
    Endpoint("v2-front", "PATCH", "------+", FRONT, {"minimum": 1}),
    Endpoint("v2-node-act", "POST", "------+", {**NODE, "act": "drain"}),
    Endpoint("v2-users", "GET", "+++++++"),
    Endpoint("v2-user", "GET", "+00000+", PERSON),
    Endpoint("v2-user", "PATCH", "-00000+", PERSON, {"role": "member"}),
    Endpoint("v2-roles", "GET", "------+"),
    Endpoint("v2-roles", "POST", "------+", {}, {"name": "Auditor", "rights": ["read"]}),
    Endpoint("v2-role", "GET", "------0", {"role_id": 0}),
    Endpoint("v2-role", "PATCH", "------0", {"role_id": 0}, {"name": "Auditor"}),
    Endpoint("v2-role", "DELETE", "------0", {"role_id": 0}),
    Endpoint("v2-second-factor-rules", "GET", "------+"),
    Endpoint("v2-second-factor-rules", "PUT", "------+", {}, {"roles": ["editor"], "grace_days": 7}),
    Endpoint("v2-user-hand-over", "POST", "-000000", PERSON, {"to": 0}),
    Endpoint("v2-service-accounts", "POST", "------+", {}, {"username": "terraform"}),
    Endpoint("v2-user-rights", "GET", "+00000+", PERSON, query={"zone": "example.test."}),
    Endpoint("v2-user-second-factor", "GET", "+00000+", PERSON),
    Endpoint("v2-user-second-factor", "DELETE", "-00000+", PERSON),
    Endpoint("v2-user-sessions", "GET", "+00000+", PERSON),
    Endpoint("v2-user-sessions", "DELETE", "-00000+", PERSON),
    Endpoint("v2-user-password-link", "POST", "-00000+", PERSON),
    Endpoint("v2-invitations", "POST", "------+", {}, {"role": "reader"}),
    Endpoint("v2-sign-in-providers", "GET", "------+"),
    Endpoint("v2-sign-in-providers", "POST", "------!", {}, OIDC_PROVIDER, note="nobody is there"),
    Endpoint("v2-sign-in-provider", "GET", "------+", {"provider_id": "?"}),
    Endpoint("v2-sign-in-provider", "PATCH", "------+", {"provider_id": "?"}, {"kind": "oidc", "name": "Office"}),
    Endpoint("v2-sign-in-provider", "DELETE", "------+", {"provider_id": "?"}),
    Endpoint("v2-sign-in-providers", "POST", "------!", {}, SAML_PROVIDER, note="nobody is there, SAML"),
    Endpoint("v2-sign-in-provider", "GET", "------+", SAML, note="SAML"),
    Endpoint("v2-sign-in-provider", "PATCH", "------+", SAML, {"kind": "saml", "active": False}, note="SAML"),
    Endpoint("v2-sign-in-provider", "DELETE", "------+", SAML, note="SAML"),
    Endpoint("v2-sign-in-providers", "POST", "------!", {}, LDAP_PROVIDER, note="nobody is there, LDAP"),
    Endpoint("v2-sign-in-provider", "GET", "------+", LDAP, note="LDAP"),
    Endpoint("v2-sign-in-provider", "PATCH", "------+", LDAP, {"kind": "ldap", "active": False}, note="LDAP"),
    Endpoint("v2-sign-in-provider", "DELETE", "------+", LDAP, note="LDAP"),
    Endpoint("v2-scim-directories", "GET", "------+"),
    Endpoint("v2-scim-directories", "POST", "------+", {}, {"name": "Entra"}),
    Endpoint("v2-scim-directory", "GET", "------+", DIRECTORY),
    Endpoint("v2-scim-directory", "PATCH", "------+", DIRECTORY, {"team_role": "reader"}),
    Endpoint("v2-scim-directory", "DELETE", "------+", DIRECTORY),
    Endpoint("v2-scim-directory-rotate", "POST", "------+", DIRECTORY),
    Endpoint("v2-evidence-destinations", "GET", "------+"),
    Endpoint("v2-evidence-destinations", "POST", "------+", {}, EVIDENCE),
    Endpoint("v2-evidence-destination", "GET", "------+", DESTINATION),
    Endpoint("v2-evidence-destination", "PATCH", "------+", DESTINATION, {"active": False}),
    Endpoint("v2-evidence-destination", "DELETE", "------+", DESTINATION),
    Endpoint("v2-evidence-destination-test", "POST", "------+", DESTINATION),
    Endpoint("v2-teams", "GET", "+++++++"),
    Endpoint("v2-teams", "POST", "------+", {}, {"name": "New"}),
    Endpoint("v2-team", "GET", "000000+", TEAM),
    Endpoint("v2-team", "PATCH", "000000+", TEAM, {"name": "Old"}),
    Endpoint("v2-team", "DELETE", "000000+", TEAM),
    Endpoint("v2-team-quotas", "GET", "000000+", TEAM),
    Endpoint("v2-team-quotas", "PUT", "000000+", TEAM, {"limits": {"zones": 7}}),
    Endpoint("v2-team-member", "PUT", "000000+", {**TEAM, **PERSON}, {"role": "reader"}),
    Endpoint("v2-team-member", "DELETE", "000000+", {**TEAM, **PERSON}),
    Endpoint("v2-grants", "GET", "+++++++"),
    Endpoint("v2-grants", "POST", "------+", {}, {**READING, "team": "?"}),
    Endpoint("v2-grant", "GET", "000000+", {"grant_id": "?"}),
    Endpoint("v2-grant", "DELETE", "000000+", {"grant_id": "?"}),
    Endpoint("v2-tokens", "GET", "+++++++"),
    Endpoint(
        "v2-tokens",
        "POST",
        "!+!!!++",
        {},
        {"purpose": "wider", "scope": [{"rights": ["settings"], "everywhere": True}]},
    ),
    Endpoint("v2-token", "GET", "000000+", TOKEN),
    Endpoint("v2-token", "DELETE", "000000+", TOKEN),
    Endpoint("v2-token-rotate", "POST", "000000+", TOKEN),
    Endpoint("v2-tsig-keys", "GET", "+++++++"),
    Endpoint("v2-tsig-keys", "POST", "++!!+++", {}, {"name": "new.key", "purpose": "x", "scope": [READING]}),
    Endpoint("v2-tsig-key", "GET", "000000+", KEY),
    Endpoint("v2-tsig-key", "DELETE", "000000+", KEY),
    Endpoint("v2-audit", "GET", "+++++++"),
    Endpoint("v2-transferred-zones", "GET", "+++++++"),
    Endpoint("v2-transferred-zones", "POST", "-----++", {}, {"name": "abroad.test.", "addresses": ["9.9.9.9"]}),
    Endpoint("v2-zone-primaries", "GET", "-000-++", ABROAD),
    Endpoint("v2-zone-primaries", "PUT", "-000-++", ABROAD, {"addresses": ["9.9.9.10"]}),
    Endpoint("v2-keyless-transfers", "GET", "-0---++", ZONE),
    Endpoint("v2-keyless-transfers", "PUT", "-0---++", ZONE, {"networks": ["192.0.2.0/24"], "addresses": []}),
    Endpoint("v2-zone-transfer", "POST", "-000-++", ABROAD),
    Endpoint("v2-zone-take-over", "POST", "-000-++", ABROAD, {"reason": "Its primary is gone for good"}),
    Endpoint("v2-zone-give-back", "POST", "-000-!!", ABROAD, note="that was not taken over"),
    Endpoint("v2-secondaries", "GET", "+---+++"),
    Endpoint("v2-secondaries", "POST", "------+", {}, {"name": "other", "addresses": ["9.9.9.9"]}),
    Endpoint("v2-secondary", "GET", "+---+++", SECONDARY),
    Endpoint("v2-secondary", "PATCH", "------+", SECONDARY, {"lag_bound": 60}),
    Endpoint("v2-secondary", "DELETE", "------+", SECONDARY),
    Endpoint("v2-secondary-notify", "POST", "------+", SECONDARY),
    Endpoint("v2-secondary-rotate", "POST", "------+", SECONDARY),
    Endpoint("v2-secondary-zones", "GET", "+---+++", SECONDARY),
    Endpoint("v2-produced-catalogs", "GET", "+++++++"),
    Endpoint("v2-produced-catalogs", "POST", "-+---++", {}, {"name": "other.catalog."}),
    Endpoint("v2-produced-catalog", "GET", "+000+++", OURS),
    Endpoint("v2-produced-catalog", "PATCH", "-000-++", OURS, {"group_tags": ["gold"]}),
    Endpoint("v2-produced-catalog", "DELETE", "-000-++", OURS),
    Endpoint("v2-catalog-members", "GET", "+000+++", OURS),
    Endpoint("v2-catalog-put-in", "POST", "-000-++", OURS, {"zones": ["signed.test."]}),
    Endpoint("v2-catalog-take-out", "POST", "-000-++", OURS, {"zones": ["example.test."]}),
    Endpoint("v2-catalogs", "GET", "+---+++"),
    Endpoint("v2-catalogs", "POST", "------+", {}, {"name": "other.catalog.", "primaries": {"addresses": ["9.9.9.9"]}}),
    Endpoint("v2-catalog", "GET", "+---+++", CATALOG),
    Endpoint("v2-catalog", "PATCH", "------+", CATALOG, {"most_lost": 10}),
    Endpoint("v2-catalog", "DELETE", "------+", CATALOG),
    Endpoint("v2-catalog-rules", "GET", "+---+++", CATALOG),
    Endpoint("v2-catalog-rules", "PUT", "------+", CATALOG, {"rules": [{"group": "gold"}]}),
    Endpoint("v2-catalog-confirm", "POST", "------!", CATALOG, {"revision": 1}, note="of which nothing is kept"),
    Endpoint("v2-catalog-zones", "GET", "+---+++", CATALOG),
    Endpoint("v2-webhooks", "GET", "+++++++"),
    Endpoint("v2-webhooks", "POST", "++-++++", {}, {"url": "https://192.0.2.1/", "events": ["publication.saved"]}),
    Endpoint("v2-webhook", "GET", "000000+", HOOK),
    Endpoint("v2-webhook", "PATCH", "000000+", HOOK, {"description": "x"}),
    Endpoint("v2-webhook", "DELETE", "000000+", HOOK),
    Endpoint("v2-webhook-test", "POST", "000000+", HOOK),
    Endpoint("v2-webhook-rotate", "POST", "000000+", HOOK),
    Endpoint("v2-deliveries", "GET", "000000+", HOOK),
    Endpoint("v2-delivery-replay", "POST", "000000+", {**HOOK, "delivery_id": "?"}),
]

OTHERS = [
    Endpoint("v1-nothing", "GET", "0000000"),
    Endpoint("v2-nothing", "GET", "0000000"),
    Endpoint("dyndns", "GET", "000+0++", query={"hostname": "www.example.test", "myip": "192.0.2.7"}),
    Endpoint("dyndns-v3", "GET", "000+0++", query={"hostname": "www.example.test", "myip": "192.0.2.7"}),
    Endpoint("dyndns", "POST", "000+0++", query={"hostname": "www.example.test", "myip": "192.0.2.7"}),
    Endpoint("dyndns-v3", "POST", "000+0++", query={"hostname": "www.example.test", "myip": "192.0.2.7"}),
]

ENDPOINTS = [*V1, *METRICS, *V2_ZONES, *V2_MORE, *OTHERS]

_NO_NODES, _NOBODY_ELSE = {Caller.AUDITOR: "-"}, {Caller.AUDITOR: "0"}  # sees neither nodes nor other people
# Another administrator's own objects: not visible, not possible without a draft or a request of one's own, secret.
_NOT_THEIRS, _NOT_REQUESTED, _SECRET = {Caller.APPROVER: "0"}, {Caller.APPROVER: "!"}, {Caller.APPROVER: "-"}
OTHERWISE: dict[str, dict[Caller, str]] = {
    "GET v1-statistics": _NO_NODES,
    "GET metrics": _NO_NODES,
    "GET v2-nodes": _NO_NODES,
    "GET v2-node": _NO_NODES,
    "GET v2-node-points": _NO_NODES,
    "GET v2-secondaries": _NO_NODES,
    "GET v2-front": _NO_NODES,
    "GET v2-secondary": _NO_NODES,
    "GET v2-secondary-zones": _NO_NODES,
    "GET v2-catalogs": _NO_NODES,
    "GET v2-catalog": _NO_NODES,
    "GET v2-catalog-rules": _NO_NODES,
    "GET v2-catalog-zones": _NO_NODES,
    "GET v2-user": _NOBODY_ELSE,
    "PATCH v2-user": _NOBODY_ELSE,
    "POST v2-user-hand-over": _NOBODY_ELSE,
    "GET v2-user-rights": _NOBODY_ELSE,
    "GET v2-user-second-factor": _NOBODY_ELSE,
    "DELETE v2-user-second-factor": _NOBODY_ELSE,
    "GET v2-user-sessions": _NOBODY_ELSE,
    "DELETE v2-user-sessions": _NOBODY_ELSE,
    "POST v2-user-password-link": _NOBODY_ELSE,
    "POST v2-draft-resolve": _NOT_THEIRS,
    "DELETE v2-draft-rrset": _NOT_THEIRS,
    "GET v2-named-draft": _NOT_THEIRS,
    "GET v2-named-draft-plan": _NOT_THEIRS,
    "POST v2-named-draft-publish": _NOT_THEIRS,
    "POST v2-named-draft-take-up": _NOT_THEIRS,
    "POST v2-named-draft-put-back": _NOT_THEIRS,
    "DELETE v2-named-draft": _NOT_THEIRS,
    "GET v2-template-run": _NOT_THEIRS,
    "GET v2-change-run": _NOT_THEIRS,
    "DELETE v2-change-run": _NOT_THEIRS,
    "GET v2-change-run-zones": _NOT_THEIRS,
    "DELETE v2-template-run": _NOT_THEIRS,
    "GET v2-template-run-zones": _NOT_THEIRS,
    "GET v2-export": _NOT_THEIRS,
    "DELETE v2-export": _NOT_THEIRS,
    "GET v2-export-file": _NOT_THEIRS,
    "POST v2-draft-publish": _NOT_REQUESTED,
    "POST v2-named-drafts": _NOT_REQUESTED,
    "POST v2-requests": _NOT_REQUESTED,
    "POST v2-request-act plan": _NOT_REQUESTED,
    "POST v2-request-act publish": _NOT_REQUESTED,
    "POST v2-request-act withdraw": _NOT_REQUESTED,
    "PUT v1-tsigkey": _SECRET,
    "POST v2-token-rotate": _SECRET,
}
# Operations that publish to the zone, so every rule stops them. Named drafts, requests and settings continue.
_PUBLISHING = {
    "DELETE v1-zone": "-",
    "DELETE v2-rrset the challenge": "-",
    "DELETE v2-rrset www A": "-",
    "DELETE v2-zone": "-",
    "PATCH v1-zone _acme-challenge.www TXT": "-",
    "PATCH v1-zone www A": "-",
    "PATCH v2-rrset the challenge": "-",
    "PATCH v2-rrset www A": "-",
    "POST dyndns": "0",
    "POST dyndns-v3": "0",
    "POST v2-bulk": "-",
    "POST v2-deletions": "-",
    "POST v2-draft-publish": "-",
    "POST v2-named-draft-publish": "-",
    "POST v2-publication-undo": "-",
    "POST v2-revision-restore": "-",
    "POST v2-revision-undo": "-",
    "POST v2-zone-changes": "-",
    "PUT v2-rrset the challenge": "-",
    "PUT v2-rrset www A": "-",
}
# A zone below another takes names out of it, so the rules of the upper zone apply.
_BELOW = {"POST v1-zones below another team's": "-", "POST v2-zones below another team's": "-"}
KEPT_BACK: dict[State, dict[str, str]] = {
    State.FROZEN: {
        **_PUBLISHING,
        **_BELOW,
        "PUT v2-zone-primaries": "-",
        "POST v2-zone-take-over": "-",
        "DELETE v2-catalog": "-",
        "DELETE v2-produced-catalog": "-",
        "POST v2-many-rrsets": "-",
        "POST v2-trash-restore": "-",
        "POST v2-trash-restore below another team's": "-",
        "POST v2-request-act publish": "-",
    },
    State.LOCKED: {
        **_PUBLISHING,
        **_BELOW,
        "POST v2-trash-restore below another team's": "-",
        "PUT v2-rrset-expiry": "-",
        "DELETE v2-rrset-expiry": "-",
        "PUT v2-vanity-name": "-",
        "DELETE v2-vanity-name": "-",
        "PUT v2-draft-rrset": "-",
        "POST v2-request-act plan": "-",
        "POST v2-request-act publish": "-",
        "POST v2-request-act past-rules": "-",
        "POST v2-request-act withdraw": "-",
    },
    State.GOVERNED: {
        **_PUBLISHING,
        **_BELOW,
        "POST v2-trash-restore below another team's": "-",
        "POST v2-many-rrsets": "-",
        "POST v2-request-act publish": "!",
    },
}
# Results for the requester and for another administrator, if a rule asks for one approval.
AT_REQUEST = {
    "approve": "!+",
    "decline": "!+",
    "comment": "++",
    "plan": "+!",
    "publish": "!!",
    "past-rules": "++",
    "withdraw": "+!",
}
