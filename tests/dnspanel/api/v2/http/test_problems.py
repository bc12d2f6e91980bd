"""Tests of problem documents: every error becomes a problem of a known kind.

Tests `http.json_body` and `resources.problem_pages` too.
"""

import json
from html import unescape
from importlib import import_module
from typing import Any

import pytest
from django.db import DataError, OperationalError
from django.test import Client
from django.utils.html import strip_tags
from rest_framework import exceptions as drf

from dnspanel.accounts import errors as accounts
from dnspanel.api.v2.http import json_body
from dnspanel.api.v2.http.problem_types import PROBLEM_TYPES
from dnspanel.api.v2.http.problems import Problem, RequestFault, answer, problem_of
from dnspanel.api.v2.schema.problem_schema import problem_schemas
from dnspanel.audit.forward import errors as evidence
from dnspanel.catalogs import errors as catalogs
from dnspanel.field_faults import address_refused, name_taken
from dnspanel.fleet import errors as fleet
from dnspanel.primaries import errors as primaries
from dnspanel.secondaries import errors as secondaries
from dnspanel.transfer import errors as transfer
from dnspanel.webhooks import errors as webhooks
from dnspanel.zones import errors as zones
from dnspanel.zones.models import Zone
from replication import errors as replication
from tests.dnspanel.api.v2.conftest import Caller
from tests.people import NOW

TREES = (
    zones.ZoneError,
    accounts.AccountError,
    fleet.FleetError,
    transfer.TransferError,
    webhooks.WebhookError,
    evidence.EvidenceError,
    secondaries.SecondaryError,
    catalogs.CatalogError,
    primaries.PrimaryError,
    replication.ReplicationError,
)
JSON_TYPES = {str: "string", int: "integer", bool: "boolean", list: "array"}


def below(kind: type) -> list[type]:
    return [kind, *(deeper for child in kind.__subclasses__() for deeper in below(child))]


@pytest.mark.parametrize("kind", [kind for tree in TREES for kind in below(tree)], ids=lambda kind: kind.__qualname__)
def test_every_error_of_ours_is_translated(kind: type[Exception]) -> None:
    exc = kind.__new__(kind)
    facts = {
        "fields": {"name": ["No."]},
        "field": "name",
        "right": "read",
        "zone_name": "a.test.",
        "expected": 1,
        "found": 2,
        "conflicts": (),
        "violations": (),
        "zones": (zones.GuardedZone("a.test.", ("Why.",), 20, 22),),
        "rrsets": 22,
        "limit": "entries",
        "count": 2,
        "recent": 1,
        "sequence": 3,
        "reason": "Why.",
        "existing": 9,
        "name": "a.test.",
        "zone_id": 7,
        "deleted_at": NOW,
        "gone_at": NOW,
        "problem": Problem("conflict", "x"),
    }
    for name, value in facts.items():
        if not isinstance(getattr(kind, name, None), property):
            setattr(exc, name, value)
    problem = problem_of(exc)
    assert problem is not None
    assert 400 <= problem.status < 504 or problem.status == 507
    assert problem.status != 500
    # The code `invalid` of a whole problem is too vague, so its errors need codes.
    assert problem.code != "invalid" or problem.errors
    described = problem_schemas()["Problem"]["properties"]
    for name, value in problem.extensions.items():
        assert JSON_TYPES.get(type(value), "object") in described[name].get("type", "object"), name


@pytest.mark.parametrize(
    ("exc", "code", "errors"),
    [
        (webhooks.AddressRefused("No."), "invalid", [(None, "address-refused")]),
        (webhooks.NoAnswer("No."), "source-away", []),
        (transfer.SourceRefused("No."), "invalid", [(None, "bad-source")]),
        (transfer.ServerRefused("server", "No."), "invalid", [("/server", "address-refused")]),
        (transfer.UploadRefused("No."), "invalid", [(None, "bad-source")]),
        (transfer.PassphraseRefused("No."), "invalid", [("/keys_passphrase", "invalid")]),
        (fleet.BadRequest("no"), "invalid", [(None, "bad-csr")]),
        (fleet.GroupRefused("No.", field="name"), "invalid", [("/name", "invalid")]),
        (secondaries.KeylessRefused("No.", field="networks"), "invalid", [("/networks", "invalid")]),
        (zones.RuleRefused("url", address_refused(ValueError("No."))), "invalid", [("/url", "address-refused")]),
        (accounts.TeamNameTaken("ops"), "name-taken", [("/name", "name-taken")]),
        (accounts.TsigNameTaken("ops"), "name-taken", [("/name", "name-taken")]),
        (accounts.RoleRefused({"name": [name_taken("No.")]}), "name-taken", [("/name", "name-taken")]),
        (
            accounts.RoleRefused({"name": [name_taken("No.")], "rights": ["No."]}),
            "invalid",
            [("/name", "name-taken"), ("/rights", "invalid")],
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_error_has_a_code_that_says_what_is_wrong(
    exc: Exception, code: str, errors: list[tuple[str | None, str]]
) -> None:
    problem = problem_of(exc)
    assert problem is not None
    assert (problem.code, [(fault.pointer, fault.code) for fault in problem.errors]) == (code, errors)


def test_what_is_not_ours_is_not_explained_away() -> None:
    assert problem_of(ValueError("x")) is None


@pytest.mark.parametrize(
    ("exc", "status"),
    [
        (drf.ParseError(), 400),
        (drf.NotAuthenticated(), 401),
        (drf.AuthenticationFailed(), 401),
        (drf.PermissionDenied(), 403),
        (drf.NotFound(), 404),
        (drf.MethodNotAllowed("PUT"), 405),
        (drf.NotAcceptable(), 406),
        (drf.UnsupportedMediaType("x"), 415),
        (drf.Throttled(7), 429),
        (drf.ValidationError("x"), 422),
        (DataError(), 422),
        (OperationalError(), 503),
    ],
)
def test_the_frameworks_errors_are_problems_too(exc: Exception, status: int) -> None:
    problem = problem_of(exc)
    assert problem is not None
    assert problem.status == status


def test_what_serializers_say_becomes_pointers() -> None:
    detail = {"a": ["No."], "b": [{}, {"c/d": ["No."]}], "e": {"1": ["Bad.", "Worse."]}, "non_field_errors": ["Hm."]}
    problem = problem_of(drf.ValidationError(detail))
    assert problem is not None
    assert [fault.pointer for fault in problem.errors] == ["/a", "/b/1/c~1d", "/e/1", "/e/1", ""]


def test_a_problem_is_sent_as_its_own_media_type_without_empty_places() -> None:
    response = answer(
        Problem("invalid", "No. \ud800", [RequestFault("x", "No.", pointer="/a")], {"ETag": '"1"'}, {"more": 1})
    )
    body = json.loads(response.content)
    assert (response.status_code, response["Content-Type"], response["ETag"]) == (
        422,
        "application/problem+json",
        '"1"',
    )
    assert (body["errors"], body["more"]) == ([{"code": "x", "detail": "No.", "pointer": "/a"}], 1)


@pytest.mark.django_db
def test_requests_that_make_no_sense_are_problems(call: Caller, zone: Zone) -> None:
    stranger = Caller("")
    assert stranger("GET", "/zones")["WWW-Authenticate"].startswith("Bearer")
    for path in ("/zones", "/zones/example.test.", "/nothing", "", "/publications/1"):
        stranger.problem(401, "GET", path)
    Caller("dnsp_wrong").problem(401, "GET", "/zones")
    call.problem(404, "GET", "/nothing/here")
    # Zone names may have slashes, so these paths are parsed as names of zones whose resource has no POST.
    for below in ("rrsets/", "dnssec/keys/-1/export", "nothing"):
        problem = call.problem(404, "POST", f"/zones/example.test./{below}")
        assert f"example.test. has no resource {below} either" in problem["detail"]
    answer = call("PUT", "/zones", {})
    assert (answer.status_code, answer["Allow"]) == (405, "GET, HEAD, POST")
    call.problem(406, "GET", "/zones", accept="text/html")
    call.problem(415, "POST", "/zones", "name=x", media="application/x-www-form-urlencoded")
    assert call("GET", "/zones", accept="application/problem+json").status_code == 200


@pytest.mark.django_db
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"\xff",
        b"NaN",
        b'{"name": NaN}',
        b'{"name": "a\\u0000"}',
        b'{"name": "\\ud800"}',
        b"[" * 100_000,
        b'{"a\\u0000": 1}',
        b'[{"x": ["\\udfff"]}]',
        b"1" * 5000,
    ],
)
def test_a_body_that_is_not_usable_json_is_malformed(call: Caller, body: bytes) -> None:
    found = call("POST", "/zones", body)
    assert found.status_code in {400, 422}, found.content
    assert found["Content-Type"] == "application/problem+json"


@pytest.mark.django_db
@pytest.mark.parametrize("media", ["application/json", "application/merge-patch+json"])
@pytest.mark.parametrize("key", [{}, {"idempotency_key": "k"}])
def test_a_body_that_is_too_large_is_not_parsed(
    call: Caller, zone: Zone, settings: Any, media: str, key: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    path = f"/zones/{zone.name}"
    call.problem(400, "PATCH", path, b"[" + b" " * 999, media=media)
    monkeypatch.setattr(json_body, "parse_json", None)
    call.problem(413, "PATCH", path, b"[" + b" " * 1000, media=media, **key)


@pytest.mark.django_db
def test_only_a_patch_takes_a_merge_patch(call: Caller, zone: Zone) -> None:
    media = "application/merge-patch+json"
    call.problem(415, "POST", "/zones", {"name": "new.test."}, media=media)
    call.problem(415, "PUT", f"/zones/{zone.name}/rrsets/www/A", {"ttl": 60, "rdata": ["192.0.2.1"]}, media=media)
    call.good("PATCH", f"/zones/{zone.name}", {"tags": ["shop"]}, media=media)


@pytest.mark.django_db
def test_a_mistake_of_ours_says_nothing_of_itself(call: Caller, zone: Zone, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: object, **kwargs: object) -> None:
        raise ValueError("a secret of ours")

    # Import all resources first: one that is imported while the patch is active would keep the broken function.
    import_module("dnspanel.urls")
    monkeypatch.setattr("dnspanel.api.v2.resources.zones.zone_json", broken)
    problem = call.problem(500, "GET", "/zones/example.test.")
    assert "secret" not in json.dumps(problem)


@pytest.mark.django_db
def test_every_kind_explains_itself_to_everybody() -> None:
    stranger = Caller("")
    kinds = stranger.get("/problems")["items"]
    assert {kind["code"] for kind in kinds} == set(PROBLEM_TYPES)
    for kind in kinds:
        assert stranger.get(kind["type"]) == kind
    stranger.problem(404, "GET", "/problems/none")


BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


@pytest.mark.django_db
def test_a_browser_gets_a_page_with_the_cause_and_what_to_do() -> None:
    browser = Client(headers={"accept": BROWSER})  # pages are not in the document
    for code, kind in PROBLEM_TYPES.items():
        page = browser.get(f"/api/v2/problems/{code}")
        assert (page.status_code, page["Content-Type"].partition(";")[0]) == (200, "text/html")
        assert "Accept" in page["Vary"]
        text = strip_tags(unescape(page.content.decode()))
        for said in (kind.title, kind.cause, kind.remedy):
            assert said.replace("`", "") in text, code
    listed = browser.get("/api/v2/problems").content.decode()
    assert all(f'href="/api/v2/problems/{code}"' in listed for code in PROBLEM_TYPES)
    assert browser.get("/api/v2/problems/none")["Content-Type"] == "application/problem+json"
