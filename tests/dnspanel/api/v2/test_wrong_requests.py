"""Tests of typical wrong requests: the answer alone explains the correction. `-s` prints the number of requests.

Each row has a request and the expected words of its answer. Tests `http.unexpected_body` too.
"""

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from dnspanel.accounts.actors.actors import Grant, Permission, Right
from dnspanel.accounts.models import Token, User
from dnspanel.accounts.tokens.tokens import revoke_token
from dnspanel.zones.models import Zone
from tests.dnspanel.api.v2.conftest import ROOT, Caller, MakeCaller, MakeZone, content, replace

KEBAB = re.compile(r"[a-z]+(-[a-z0-9]+)*")
WWW = "/zones/example.test./rrsets/www/A"
TEXT = "/zones/example.test./rrsets/text/TXT"
CHANGES = "/zones/example.test./changes"
A = content("192.0.2.7")
NOT_VALID = "unknown, expired, revoked, or not allowed from your address, 127.0.0.1"
SCOPE = [{"rights": ["read"], "everywhere": True}]


@dataclass(frozen=True)
class Wrong:
    """A wrong request, the status of its answer, and words in the answer."""

    status: int
    method: str
    path: str
    body: Any = None
    says: tuple[str, ...] = ()
    at: str | None = None  # the pointer of one error
    code: str | None = None  # the code of that error
    headers: dict[str, str] = field(default_factory=dict)
    media: str = "application/json"
    caller: str = "everything"

    def __str__(self) -> str:
        body = self.body if isinstance(self.body, bytes | str) else json.dumps(self.body)
        return f"{self.method} {self.path} {body[:100]!r} {self.headers or ''} {self.caller}"


def says(*words: str) -> dict[str, Any]:
    """Return the words as a keyword argument for Wrong."""
    return {"says": words}


TOKENS = [
    Wrong(401, "GET", "/me", caller="nobody", **says("`Authorization: Bearer dnsp_…`", "`X-API-Key: dnsp_…`")),
    Wrong(401, "GET", "/me?token=dnsp_x", caller="nobody", **says("`Authorization: Bearer dnsp_…`")),
    Wrong(401, "GET", "/me", headers={"Authorization": "Token x"}, caller="nobody", **says("Bearer", "not as `Token")),
    Wrong(401, "GET", "/me", headers={"Authorization": "Basic eDp4"}, caller="nobody", **says("Bearer", "`Basic")),
    Wrong(
        401, "GET", "/me", headers={"Authorization": "dnsp_secret"}, caller="nobody", **says("Authorization: Bearer")
    ),
    Wrong(401, "GET", "/me", caller="made up", **says(NOT_VALID)),
    Wrong(401, "GET", "/me", caller="expired", **says(NOT_VALID)),
    Wrong(401, "GET", "/me", caller="revoked", **says(NOT_VALID)),
    Wrong(401, "GET", "/me", caller="elsewhere", **says(NOT_VALID)),
    Wrong(403, "PUT", WWW, A, caller="reading", **says("edit, publish, create and delete zones")),
    Wrong(428, "PUT", WWW, A, caller="careful", **says("If-Match", "If-None-Match: *")),
]
SHAPES = [
    Wrong(404, "GET", "/zone", **says("“zones”", "openapi.json")),
    Wrong(404, "GET", "/zones/", **says("Paths do not end in a slash")),
    Wrong(404, "GET", "/zones/example.test./records", **says("openapi.json")),
    Wrong(405, "PUT", "/zones", {}, **says("PUT", "GET", "POST")),
    Wrong(405, "POST", "/zones/example.test.", {}, **says("DELETE", "PATCH")),
    Wrong(406, "GET", "/zones", headers={"Accept": "text/html"}, **says("application/json", "Accept")),
    Wrong(415, "PUT", WWW, "{}", media="text/plain", **says("application/json", "text/plain")),
    Wrong(415, "PUT", WWW, "ttl=1", media="application/x-www-form-urlencoded", **says("application/json")),
    Wrong(415, "PATCH", WWW, "[]", media="application/json-patch+json", **says("application/merge-patch+json")),
    Wrong(400, "PUT", WWW, '{"ttl": 300,}', **says("line 1 column")),
    Wrong(400, "PUT", WWW, '{"ttl": NaN}', **says("NaN")),
    Wrong(400, "PUT", WWW, b'{"ttl": "\xff"}', **says("byte 9 is not UTF-8")),
    Wrong(400, "PUT", WWW, "[" * 100_000, **says("nested too deeply")),
    Wrong(400, "PUT", WWW, '{"ttl": 60, "rdata": ["192.0.2.1"], "ttl": 70}', **says("“ttl” is named twice")),
    Wrong(422, "POST", "/zones", None, at="/name", **says("`name` is required")),
    Wrong(422, "POST", "/zones", [{"name": "x.test."}], at="", **says("must be an object with the members", "rrsets")),
    Wrong(422, "DELETE", WWW, {"reason": "old", "confirm": True}, at="/reason", **says("`?reason=…`", "`?confirm=…`")),
    Wrong(
        422, "DELETE", "/zones/example.test.", {"why": "old"}, at="/why", **says("accept a body", "reason", "confirm")
    ),
    Wrong(422, "POST", "/trash/{trash}/restore", {"reason": "x"}, at="/reason", **says("`?reason=…`")),
]
PARAMETERS = [
    Wrong(422, "PUT", WWW + "?wiat=10", A, **says("“wiat”", "Did you mean “wait”", "accept_warnings")),
    Wrong(422, "POST", "/tokens?dry_run=true", {"purpose": "x"}, **says("no query parameters", '"dry_run"')),
    Wrong(422, "GET", "/zones?sort=name", **says("“sort”", "Allowed: cursor, limit, q, tag, team")),
    Wrong(422, "GET", "/zones?limit=5000", **says("1 to 1000")),
    Wrong(400, "GET", "/zones?cursor=abc", **says("next_cursor")),
    Wrong(422, "GET", "/zones?q=nmae:x", **says("Unknown filter nmae:", "name:")),
    Wrong(422, "GET", "/zones?team=ours", **says("`team` must be an id", "whole number")),
    Wrong(422, "PUT", WWW + "?wait=100", A, **says("0 to 60")),
    Wrong(422, "PUT", WWW + "?wait_for=everyone", A, **says("one of nodes, all")),
    Wrong(422, "DELETE", WWW + "?confirm=yes", **says("one of true, false")),
    Wrong(422, "GET", "/publications?order=up", **says("one of asc, desc")),
    Wrong(422, "GET", "/publications?order=asc&after=x", **says("a whole number")),
    Wrong(422, "GET", "/audit?since=yesterday", **says("such as 2026-")),
    Wrong(422, "GET", "/zones/example.test./rrsets?type=AAAAA", **says("AAAAA", "record type")),
    Wrong(422, "GET", "/search", **says("`q` is required")),
]
HEADERS = [
    Wrong(400, "PUT", WWW, A, headers={"If-Match": "1-2"}, **says("If-Match", "quotation marks")),
    Wrong(
        412,
        "PUT",
        WWW,
        A,
        headers={"If-Match": '"1-0123456789abcdef"'},
        **says("changed since it was read", '"theirs"'),
    ),
    Wrong(412, "PUT", WWW, A, headers={"If-None-Match": "*"}, **says("already")),
    Wrong(400, "POST", "/zones", {"name": "x.test."}, headers={"If-Match": '"x"'}, **says("If-Match", "no ETag")),
    Wrong(400, "PUT", WWW, A, headers={"Idempotency-Key": "x" * 300}, **says("1 to 255 printable characters")),
    Wrong(422, "PUT", WWW, A, headers={"Idempotency-Key": "used"}, **says("belongs to another request", "new key")),
]
ZONES = [
    Wrong(422, "POST", "/zones", {"nmae": "x.test."}, at="/name", **says("Did you mean “name”", "`name` is required")),
    Wrong(422, "POST", "/zones", {"name": "x.test.", "kind": "Native"}, at="/kind", **says("“kind”", "nameservers")),
    Wrong(422, "POST", "/zones", {"name": "a..b"}, at="/name", **says("empty label")),
    Wrong(422, "POST", "/zones", {"name": 5}, at="/name", **says("`name` must be a string")),
    Wrong(409, "POST", "/zones", {"name": "example.test."}, **says("example.test.")),
    Wrong(422, "POST", "/zones", {"name": "192.0.2.0/24"}, at="/name", **says("2.0.192.in-addr.arpa")),
    Wrong(
        422, "POST", "/zones", {"name": "x.test.", "nameservers": "ns.x.test."}, at="/nameservers", **says("a list of")
    ),
    Wrong(422, "POST", "/zones", {"name": "x.test.", "team": 999}, at="/team", **says("no team 999", "GET /teams")),
    Wrong(404, "GET", "/zones/nowhere.test.", **says("Zone not found: nowhere.test.")),
    Wrong(404, "GET", "/zones/gone.test.", **says("trash", "until")),
    Wrong(
        422,
        "PATCH",
        "/zones/example.test.",
        {"default_ttl": "1h"},
        at="/default_ttl",
        **says("0 to 2147483647, or null"),
    ),
    Wrong(
        422,
        "PATCH",
        "/zones/example.test.",
        {"tags": "prod"},
        at="/tags",
        **says("must be a list of at most 50 strings"),
    ),
    Wrong(422, "PATCH", "/zones/example.test.", {"serial": 5}, at="/serial", **says("default_ttl, tags, team")),
    Wrong(
        422, "POST", "/zones/example.test./clones", {"names": []}, at="/names", **says("a list of 1 to 1,000 strings")
    ),
]
RRSETS = [
    Wrong(404, "PUT", "/zones/example.test./rrsets/www.other.test./A", A, **says("is outside the zone example.test.")),
    Wrong(404, "PUT", "/zones/example.test./rrsets/www.example.test/A", A, **says("add a dot at the end")),
    Wrong(404, "PUT", "/zones/example.test./rrsets/www/AAAAA", A, **says("AAAAA")),
    Wrong(422, "PUT", WWW, {"rdata": ["192.0.2.1"]}, at="/ttl", **says("`ttl` is required", "0 to 2147483647")),
    Wrong(422, "PUT", WWW, {**A, "ttl": "5m"}, at="/ttl", **says("`ttl` must be a whole number of seconds")),
    Wrong(
        422, "PUT", WWW, {"ttl": 60, "values": ["192.0.2.1"]}, at="/values", **says("`rdata` is required", "Allowed")
    ),
    Wrong(
        422,
        "PUT",
        WWW,
        {**A, "rdata": "192.0.2.1"},
        at="/rdata",
        **says("`rdata` must be a list of 1 to 5,000 strings"),
    ),
    Wrong(422, "PUT", WWW, {**A, "rdata": []}, at="/rdata", **says("a list of 1 to 5,000 strings")),
    Wrong(422, "PUT", WWW, {**A, "rdata": [1]}, at="/rdata/0", **says("`rdata/0` must be a string")),
    Wrong(422, "PUT", WWW, content("192.0.2.300"), at="/rdata/0", **says("192.0.2.300", "IPv4")),
    Wrong(422, "PUT", "/zones/example.test./rrsets/www/AAAA", A, at="/rdata/0", **says("use A for IPv4")),
    Wrong(
        422,
        "PUT",
        "/zones/example.test./rrsets/@/MX",
        content("mail.example.test."),
        at="/rdata/0",
        **says("expected 2 fields (preference, host)"),
    ),
    Wrong(
        422,
        "PUT",
        "/zones/example.test./rrsets/c/CNAME",
        content("www"),
        at="/rdata/0",
        **says("a trailing dot", "“www.”", "“www.example.test.”"),
    ),
    Wrong(422, "PUT", "/zones/example.test./rrsets/www/CNAME", content("x.test."), at="/rdata", **says("CNAME", "www")),
    Wrong(422, "PUT", TEXT, content('"a" ; b'), at="/rdata/0", **says("double quotes")),
    Wrong(
        422,
        "PATCH",
        WWW,
        {"rdata": ["192.0.2.1"], "add": ["192.0.2.2"]},
        at="/add",
        code="not-together",
        **says("not both"),
    ),
    Wrong(
        404, "PATCH", "/zones/example.test./rrsets/new/A", {"add": ["192.0.2.2"]}, **says("There is no A RRset at new")
    ),
    Wrong(404, "DELETE", "/zones/example.test./rrsets/new/A", **says("There is no A RRset at new.example.test.")),
]
MANY = [
    Wrong(422, "POST", CHANGES, {"changes": []}, at="/changes", **says("a list of 1 to 10,000 changes")),
    Wrong(422, "POST", CHANGES, {"rrsets": []}, at="/changes", **says("“rrsets”", "`changes` is required")),
    Wrong(
        422,
        "POST",
        CHANGES,
        {"changes": [{"act": "delete", "name": "www", "type": "A"}]},
        at="/changes/0/op",
        **says("“act”", "`op` is required: one of replace, delete, extend, prune"),
    ),
    Wrong(
        422, "POST", CHANGES, {"changes": [replace("www", "A") | {"op": "upsert"}]}, at="/changes/0/op", **says("prune")
    ),
    Wrong(
        422,
        "POST",
        CHANGES,
        {"changes": [replace("www.other.test.", "A", "192.0.2.1")]},
        at="/changes/0/name",
        **says("“www.other.test.” is outside the zone example.test."),
    ),
    Wrong(
        422,
        "POST",
        CHANGES,
        {"changes": [{"op": "delete", "name": "www", "type": "A", "ttl": 60}]},
        at="/changes/0/ttl",
        code="not-together",
        **says("`delete` takes no `ttl`"),
    ),
    Wrong(
        422,
        "POST",
        CHANGES,
        {"changes": [replace("x", "A", "192.0.2.1"), replace("www", "CNAME", "x.test.")]},
        at="/changes/1",
        **says("CNAME"),
    ),
    Wrong(
        422,
        "POST",
        "/bulk",
        {"zones": [{"zone": "example.test.", "changes": []}]},
        at="/zones/0/changes",
        **says("1 to"),
    ),
    Wrong(
        422,
        "POST",
        "/bulk",
        {"zones": [{"zone": "nowhere.test.", "changes": [replace("www", "A", "192.0.2.1")]}]},
        at="/zones/0/zone",
        **says("Zone not found: nowhere.test."),
    ),
    Wrong(
        422,
        "POST",
        "/bulk/rrsets",
        {"act": {"op": "delete"}},
        at="/q",
        code="required",
        **says("either `q` or `rrsets`"),
    ),
    Wrong(
        422,
        "POST",
        "/bulk/rrsets",
        {"q": "www", "act": {"op": "set"}},
        at="/act/op",
        **says("set-ttl", "set-values"),
    ),
    Wrong(
        422,
        "POST",
        "/zones",
        {"name": "x.test.", "rrsets": [{"name": "a", "type": "A", "ttl": 1}]},
        at="/rrsets/0/rdata",
        **says("`rdata` is required"),
    ),
]
GRANT = {"rights": ["read"], "everywhere": True}
# Members that are valid alone but not together. The code gives the reason.
TOGETHER = [
    Wrong(422, "POST", path, body, at=at, code=code, caller="administrator", **says(words))
    for path, body, at, code, words in [
        ("/grants", GRANT | {"user": 1, "team": 1}, "/user", "not-together", "either `user` or `team`"),
        ("/grants", GRANT, "/user", "required", "either `user` or `team`"),
        ("/change-runs", {"dry_run_of": 1, "q": "x"}, "/dry_run_of", "not-together", "come from that run"),
        ("/change-runs", {"q": "x"}, "/act", "required", "`act` is required"),
        ("/template-runs", {"dry_run_of": 1, "template": 1}, "/dry_run_of", "not-together", "`values` and `keep` out"),
        ("/template-runs", {"q": "x"}, "/template", "required", "`template` is required"),
        ("/dnssec/policy-runs", {"dry_run_of": 1, "q": "x"}, "/dry_run_of", "not-together", "`policy` and `q` out"),
        ("/exports", {"format": "bind", "q": "x", "zones": ["example.test."]}, "/q", "not-together", "not both"),
        (
            "/exports",
            {"format": "bind", "zones": ["a.test."], "keys_passphrase": "x" * 20},
            "/keys_passphrase",
            "not-together",
            "Works only with",
        ),
        ("/exports", {"format": "bind", "q": "nothing-has-this-name"}, "/q", "not-found", "No zones match."),
        ("/zones/example.test./dnssec/keys", {"public_key": "x"}, "/private_key", "required", "with `public_key`"),
        (
            "/zones/example.test./dnssec/rollovers",
            {"kind": "zsk", "algorithm": 13},
            "/algorithm",
            "not-together",
            "no other kind",
        ),
    ]
]
IN_PRIVATE = {"server": "127.0.0.1", "zones": ["a.test."]}
APPROVAL = {"needed": 1, "reason": "Four eyes"}
HOOK = {"tag": "prod", "reason": "Policy", "url": "https://127.0.0.1/"}
# Values that name another object or an address. The code shows a missing object or a bad address.
REFERENCES = [
    Wrong(422, "POST", path, body, at=at, code=code, **says(words))
    for path, body, at, code, words in [
        (
            "/zones",
            {"name": "x.test.", "name_server_set": 999},
            "/name_server_set",
            "not-found",
            "no set of name servers 999",
        ),
        ("/zones", {"name": "x.test.", "team": 999}, "/team", "not-found", "no team 999"),
        (
            "/bulk/zones",
            {"zones": ["example.test."], "act": {"op": "set-team", "team": 999}},
            "/act/team",
            "not-found",
            "no team 999",
        ),
        ("/change-runs", {"q": "x", "act": {"op": "set-policy", "policy": 999}}, "/act/policy", "not-found", "policy"),
        ("/change-runs", {"dry_run_of": 999}, "/dry_run_of", "not-found", "Run not found"),
        ("/template-runs", {"dry_run_of": 999}, "/dry_run_of", "not-found", "Template run not found"),
        ("/template-runs", {"q": "x", "template": 999}, "/template", "not-found", "Template not found"),
        ("/dnssec/policy-runs", {"dry_run_of": 999}, "/dry_run_of", "not-found", "Policy run not found"),
        ("/dnssec/policy-runs", {"q": "x", "policy": 999}, "/policy", "not-found", "policy"),
        ("/approval-rules", APPROVAL | {"team": 999}, "/team", "not-found", "no team 999"),
        ("/approval-rules", APPROVAL | {"tag": "prod", "tokens": [999]}, "/tokens", "not-found", "no token 999"),
        ("/zones/example.test./apply-template", {"template": 999}, "/template", "not-found", "no template 999"),
        ("/bulk/zones", {"zones": ["a..b"], "act": {"op": "delete"}}, "/zones/0", "bad-name", "empty"),
        (
            "/zones/example.test./dnssec/keys",
            {"algorithm": 1},
            "/algorithm",
            "invalid-choice",
            "Use one of the algorithms",
        ),
        (
            "/webhooks",
            {"url": "https://127.0.0.1/", "events": ["publication.saved"]},
            "/url",
            "address-refused",
            "127.0.0.1",
        ),
        (
            "/webhooks",
            {"url": "https://192.0.2.1/", "events": ["publication.saved"], "zones": ["nowhere.test."]},
            "/zones",
            "not-found",
            "Zone not found: nowhere.test.",
        ),
        ("/publish-hooks", HOOK, "/url", "address-refused", "127.0.0.1"),
        ("/imports", {"source": "axfr", "axfr": IN_PRIVATE}, "/axfr/server", "address-refused", "127.0.0.1"),
        ("/zones/example.test./locks", {"name": "a..b", "reason": "x"}, "/name", "bad-name", "empty"),
        ("/zones/example.test./locks", {"name": "a", "type": "AAAAA", "reason": "x"}, "/type", "bad-type", "AAAAA"),
    ]
]
# Faults of query parameters. The codes are those of the same faults in a body.
CODES_OF_PARAMETERS = [
    Wrong(422, "GET", path, code=code)
    for path, code in [
        ("/zones?limit=5000", "out-of-range"),
        ("/zones?limit=all", "invalid"),
        ("/zones?team=0", "out-of-range"),
        ("/zones?q=" + "x" * 3000, "too-long"),
        ("/publications?order=asc&after=99999999999999999999", "out-of-range"),
        ("/zones/example.test./rrsets?type=AAAAA", "bad-type"),
        ("/zones/example.test./rrsets?name=a..b", "bad-name"),
        ("/zones/example.test./revisions?name=a..b", "bad-name"),
        ("/zones/example.test./access/people?name=a", "required"),
        ("/zones/example.test./access/people?name=a..b&type=A", "bad-name"),
        ("/zones/example.test./access/people?name=a&type=AAAAA", "bad-type"),
        ("/search", "required"),
    ]
]
OTHERS = [
    Wrong(
        422,
        "POST",
        "/tokens",
        {"purpose": "x", "scope": [{"rights": ["write"], "everywhere": True}]},
        at="/scope/0/rights/0",
        **says("one of read, add, change", "“write”"),
    ),
    Wrong(
        422,
        "POST",
        "/tokens",
        {"purpose": "x", "scope": [{"rights": ["read"], "zones": ["example.test.", "nowhere.test."]}]},
        at="/scope/0/zones/1",
        **says("Zone not found: nowhere.test."),
    ),
    Wrong(422, "POST", "/tokens", {"purpose": "x"}, at="/scope", **says("at least one zone scope or permission")),
    Wrong(
        422,
        "POST",
        "/tokens",
        {"purpose": "x", "scope": SCOPE, "expires_at": "tomorrow"},
        at="/expires_at",
        **says("`expires_at` must be a time such as 2026-", "or null"),
    ),
    Wrong(
        422,
        "POST",
        "/tokens",
        {"purpose": "x", "scope": SCOPE, "networks": ["10.0.0.1/99"]},
        at="/networks",
        **says("such as 192.0.2.0/24"),
    ),
    Wrong(
        422,
        "POST",
        "/webhooks",
        {"url": "https://x.test/", "events": ["zone.created"]},
        at="/events/0",
        **says("“zone.created”", "publication.saved"),
    ),
    Wrong(
        422,
        "POST",
        "/webhooks",
        {"url": "https://x.test/", "name": "x", "kinds": []},
        at="/kinds",
        **says("“name”", "`events` is required", "description"),
    ),
    Wrong(422, "POST", "/exports", {"format": "zonefile"}, at="/format", **says("`format` must be one of", "bind")),
    Wrong(422, "POST", "/imports", {"source": "zones"}, at="/source", **says("`source` must be one of", "files")),
    Wrong(
        422,
        "PATCH",
        "/zones/example.test./dnssec",
        {"signed": "yes"},
        at="/signed",
        **says("`signed` must be true or false"),
    ),
]
ROWS = [
    *TOKENS,
    *SHAPES,
    *PARAMETERS,
    *HEADERS,
    *ZONES,
    *RRSETS,
    *MANY,
    *TOGETHER,
    *REFERENCES,
    *CODES_OF_PARAMETERS,
    *OTHERS,
]


@pytest.fixture
def callers(make_caller: MakeCaller, zone: Zone, alice: User) -> dict[str, Caller]:
    """Return clients by the name of their kind of caller."""
    now = timezone.now()
    found = {"everything": make_caller(), "nobody": Caller(""), "made up": Caller("dnsp_" + "x" * 43)}
    found |= {name: make_caller() for name in ("expired", "revoked")}
    Token.objects.filter(pk=getattr(found["expired"].token, "pk", 0)).update(expires_at=now - timedelta(seconds=1))
    assert found["revoked"].token is not None
    revoke_token(token=found["revoked"].token, by=alice, now=now)
    found["elsewhere"] = make_caller(networks=("203.0.113.0/24",))
    found["administrator"] = make_caller(permissions=frozenset(Permission))
    found["careful"] = make_caller()
    Token.objects.filter(pk=getattr(found["careful"].token, "pk", 0)).update(needs_if_match=True)
    return found


@pytest.mark.django_db
def test_each_answer_alone_says_how_to_mend_the_request(
    callers: dict[str, Caller], make_caller: MakeCaller, make_zone: MakeZone
) -> None:
    gone = make_zone(name="gone.test.")
    Zone.objects.filter(pk=gone.pk).update(deleted_at=timezone.now())
    callers["reading"] = make_caller(Grant(frozenset({Right.READ}), everywhere=True))
    callers["everything"].good("PATCH", WWW, {"ttl": 60}, idempotency_key="used")
    unsaid, other = {}, 0
    for row in ROWS:
        answer = _sent(row, callers[row.caller], gone.pk)
        lacking = list(_lacking(row, answer))
        other += answer["Content-Type"] != "application/problem+json"
        if lacking:
            unsaid[str(row)] = f"{lacking}: {answer.status_code} {answer.content.decode()}"
    mended = len(ROWS) - len(unsaid)
    sys.stdout.write(
        f"\n{len(ROWS)} wrong requests: {mended} can be mended from the answer alone, {other} no problem\n"
    )
    assert not unsaid, "\n".join(f"{row}\n    {said}" for row, said in unsaid.items())
    assert len(ROWS) >= 82


@pytest.mark.django_db
def test_an_empty_object_is_no_body(callers: dict[str, Caller]) -> None:
    first = callers["everything"]("DELETE", WWW, {}, idempotency_key="k")
    again = callers["everything"]("DELETE", WWW, {}, idempotency_key="k")
    assert (first.status_code, again.status_code) == (202, 202)
    assert again.content == first.content


def _sent(row: Wrong, caller: Caller, gone: int) -> HttpResponse:
    """Return the answer to a request, and undo the request afterwards."""
    block = transaction.atomic()
    block._from_testcase = True  # type: ignore[attr-defined]
    headers = dict(row.headers)
    if caller.secret:
        headers["Authorization"] = f"Bearer {caller.secret}"
    data = row.body if isinstance(row.body, bytes | str) else b"" if row.body is None else json.dumps(row.body)
    with block:
        client = Client(raise_request_exception=False)
        url = ROOT + row.path.replace("{trash}", str(gone))
        answer = client.generic(row.method, url, data, row.media, headers=headers)
        transaction.set_rollback(True)
    return answer


def _lacking(row: Wrong, answer: HttpResponse) -> Iterator[str]:
    """Yield each expected part that the answer lacks."""
    if answer.status_code != row.status:
        yield f"status {row.status}"
    if answer["Content-Type"] != "application/problem+json":
        yield "a problem"
        return
    problem = json.loads(answer.content)
    said = json.dumps({name: problem[name] for name in problem.keys() - {"type", "title"}}, ensure_ascii=False)
    yield from (word for word in row.says if word not in said and word not in str(problem["detail"]))
    if row.at is not None and row.at not in [fault.get("pointer") for fault in problem["errors"]]:
        yield f"an error at {row.at!r}"
    if row.code is not None and (row.at, row.code) not in [
        (each.get("pointer"), each["code"]) for each in problem["errors"]
    ]:
        yield f"the code {row.code!r}"
    yield from (fault["code"] for fault in problem["errors"] if not KEBAB.fullmatch(fault["code"]))
