"""Convert every error of the panel and of the framework to problem details (RFC 9457).

    {"type", "title", "status", "detail", "code", "errors": [{"pointer" | "parameter" | "header", "code", "detail"}]}

`pointer` is a JSON pointer into the request body. Some types have more members: `conflicts`, `reasons`, `base`,
`theirs` and `mine`, and `trash` if a zone is in the trash.
"""

import json
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

from django.core.exceptions import PermissionDenied as DjangoDenied
from django.core.exceptions import RequestDataTooBig, SuspiciousOperation
from django.core.signals import got_request_exception
from django.db import DataError
from django.http import Http404, HttpResponse
from django.http.request import UnreadablePostError
from rest_framework import exceptions as drf
from rest_framework.request import Request

from dnspanel.accounts import errors as accounts
from dnspanel.api.errors import ApiError
from dnspanel.api.v2.http.fault_texts import not_a_choice
from dnspanel.api.v2.http.problem_types import PROBLEM_TYPES
from dnspanel.api.v2.http.representation import conflict_json, time_json, trash_url, violation_json
from dnspanel.audit.forward import errors as evidence
from dnspanel.catalogs import errors as catalogs
from dnspanel.database import database_away
from dnspanel.database.statement_time import SearchTooGeneral
from dnspanel.field_faults import ADDRESS_REFUSED, INVALID, NAME_TAKEN, code_of_message, message_of
from dnspanel.fleet import errors as fleet
from dnspanel.primaries import errors as primaries
from dnspanel.secondaries import errors as secondaries
from dnspanel.transfer import errors as transfer
from dnspanel.webhooks import errors as webhooks
from dnspanel.zones import errors as zones
from dnspanel.zones.errors import GuardedZone
from dnspanel.zones.rules.violations import Violation
from replication import errors as replication

MEDIA_TYPE = "application/problem+json"
ROOT_URL = "/api/v2/problems"
NO_TOKEN = "No token was sent. Send one as `Authorization: Bearer dnsp_…` or `X-API-Key: dnsp_…`."

# Zones that need confirmation: at most this many in the list, and in the sentence.
MOST_ZONES = 100
ZONES_IN_DETAIL = 3

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RequestFault:
    """An error in one value: a stable code, a sentence, and at most one of `pointer`, `parameter` and `header`."""

    code: str
    detail: str
    pointer: str | None = None
    parameter: str | None = None
    header: str | None = None

    def to_json(self) -> dict[str, str]:
        """Return the error as JSON without empty members."""
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass
class Problem(ApiError):
    """An error response from API v2. Views raise it, and all other errors are converted to it."""

    code: str
    detail: str
    errors: Sequence[RequestFault] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    extensions: Mapping[str, Any] = field(default_factory=dict)

    @property
    def status(self) -> int:
        return PROBLEM_TYPES[self.code].status

    def to_json(self) -> dict[str, Any]:
        """Return the response body."""
        kind = PROBLEM_TYPES[self.code]
        return {
            "type": f"{ROOT_URL}/{kind.code}",
            "title": kind.title,
            "status": kind.status,
            "detail": self.detail,
            "code": kind.code,
            "errors": [fault.to_json() for fault in self.errors],
            **self.extensions,
        }


def invalid(faults: Sequence[RequestFault]) -> Problem:
    """Return the problem for invalid values in the request."""
    more = f" And {len(faults) - 1} more." if len(faults) > 1 else ""
    return Problem("invalid", faults[0].detail + more, faults)


def bad_parameter(name: str, detail: str, code: str = INVALID) -> Problem:
    """Return the problem for an invalid query parameter."""
    return invalid([RequestFault(code, detail, parameter=name)])


def bad_number(name: str, typed: str, detail: str) -> Problem:
    """Return the problem for a query parameter that isn't one of the allowed numbers."""
    return bad_parameter(name, detail, "out-of-range" if typed.isascii() and typed.isdecimal() else INVALID)


def bad_choice(name: str, given: str, choices: Iterable[str]) -> Problem:
    """Return the problem for a query parameter whose value isn't one of these choices."""
    return invalid([RequestFault("invalid-choice", not_a_choice(f"/{name}", given, choices), parameter=name)])


def bad_value(pointer: str, detail: str, code: str = INVALID) -> Problem:
    """Return the problem for an invalid value in the body."""
    return invalid([RequestFault(code, detail, pointer=pointer)])


@contextmanager
def faults_at(pointer: str, code: str, *kinds: type[Exception]) -> Iterator[None]:
    """Convert errors of these kinds within the block to the problem for an invalid value in the body."""
    try:
        yield
    except kinds as exc:
        raise bad_value(pointer, str(exc), code) from exc


def needs_confirmation(
    detail: str,
    zones: Sequence[GuardedZone],
    *,
    reasons: Sequence[str] = (),
    totals: Mapping[str, int] | None = None,
    **more: Any,
) -> Problem:
    """Return the problem for a write that needs `confirm`, with the first affected zones and their total number.

    If `reasons` or `totals` is empty, it is computed from `zones`.
    """
    listed = zones[:MOST_ZONES]
    totals = totals or totals_of(zones)
    extensions = {
        "reasons": list(reasons) or _reasons_of(listed, totals["zones"]),
        "zones": [
            {"zone": each.name, "reasons": list(each.reasons), "removed": each.removed, "rrsets": each.rrsets}
            for each in listed
        ],
        "left_out": totals["zones"] - len(listed),
        "totals": dict(totals),
        **more,
    }
    return Problem("needs-confirmation", f'{detail} To confirm, send it with "confirm": true.', (), {}, extensions)


def totals_of(zones: Sequence[GuardedZone]) -> dict[str, int]:
    """Return the numbers of zones, of removed RRsets, and of all RRsets in the zones."""
    removed, rrsets = sum(each.removed for each in zones), sum(each.rrsets for each in zones)
    return {"zones": len(zones), "removed": removed, "rrsets": rrsets}


def _reasons_of(zones: Sequence[GuardedZone], count: int) -> list[str]:
    """Return all zones' reasons as sentences, prefixed with the zone's name if there are several zones."""
    return [f"{each.name}: {reason}" if count > 1 else reason for each in zones for reason in each.reasons]


def answer_to_error(exc: Exception, context: Mapping[str, Any]) -> HttpResponse:
    """Return the response for an exception from a view. Log an unexpected exception and report a server error."""
    request: Request = context["request"]
    problem = problem_of(exc)
    if problem is not None and database_away.is_outage(exc):
        return database_away.finish(request, exc, answer(problem))
    if problem is None:
        logger.exception("%s %s failed", request.method, request.path)
        got_request_exception.send(sender=type(context["view"]), request=request._request)
        problem = Problem("broken", "The panel made a mistake. Its log has details.")
    return answer(problem)


def answer(problem: Problem) -> HttpResponse:
    """Return a response with this problem."""
    text = json.dumps(problem.to_json(), ensure_ascii=False)
    response = HttpResponse(text.encode(errors="backslashreplace"), status=problem.status, content_type=MEDIA_TYPE)
    for name, value in problem.headers.items():
        response[name] = value
    return response


def problem_of(exc: BaseException) -> Problem | None:
    """Return the problem for an exception, or None if the exception is unexpected."""
    if isinstance(exc, Problem):
        return exc
    if database_away.is_outage(exc):
        return unavailable(exc)
    for kind, translate in _TRANSLATIONS:
        if isinstance(exc, kind):
            return translate(exc)
    return None


def _simply(code: str, **headers: str) -> Callable[[Any], Problem]:
    """Return a function that converts an exception to a problem of this type, with the exception's text."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda exc: Problem(code, str(exc), headers=named)


def _of_fields(exc: Any) -> Problem:
    """Return the problem for invalid fields. Its code is `name-taken` if each error is about a name in use."""
    faults = [
        RequestFault(code_of_message(message), str(message), pointer=f"/{name}" if name else "")
        for name, messages in exc.fields.items()
        for message in messages
    ]
    if faults and all(fault.code == NAME_TAKEN for fault in faults):
        return Problem("name-taken", str(exc), faults)
    return invalid(faults) if faults else Problem("invalid", str(exc))


def _of_field(exc: Any) -> Problem:
    """Return the problem for the invalid field `exc.field`, or for the whole body if `exc.field` is empty."""
    return bad_value(f"/{exc.field}" if exc.field else "", str(exc), code_of_message(message_of(exc)))


def _of_server(exc: transfer.ServerRefused) -> Problem:
    fault = RequestFault(ADDRESS_REFUSED, str(exc), pointer=f"/{exc.field}" if exc.field else None)
    return invalid([fault])


def _of_value(code: str) -> Callable[[Any], Problem]:
    """Return a function that converts an exception to an invalid-value problem with this code and no pointer."""
    return lambda exc: invalid([RequestFault(code, str(exc))])


def _unknown(exc: zones.Unknown) -> Problem:
    """Return the problem for an unknown zone.

    Zone names can contain slashes, so an unknown path below a zone is parsed as a zone name.
    """
    zone_name, _, below = exc.name.partition("./")
    hint = f" {zone_name}. has no resource {below} either: /api/v2/openapi.json lists all paths." if below else ""
    return Problem("not-found", f"{exc}{hint}")


def _in_trash(exc: zones.InTrash) -> Problem:
    trash = {"deleted_at": time_json(exc.deleted_at), "gone_at": time_json(exc.gone_at), "url": trash_url(exc.zone_id)}
    return Problem("not-found", str(exc), extensions={"zone": exc.name, "trash": trash})


def _right_missing(exc: zones.RightMissing) -> Problem:
    extensions = {"right": str(exc.right), "zone": exc.zone_name}
    return Problem("forbidden", str(exc), extensions=extensions)


def _problem_of_moved_revision(exc: zones.RevisionMoved) -> Problem:
    extensions = {"zone": exc.zone_name, "base": {"revision": exc.expected}, "theirs": {"revision": exc.found}}
    return Problem("precondition-failed", str(exc), extensions=extensions)


def _conflicts(exc: zones.Conflicts) -> Problem:
    return Problem(
        "changed-by-others", str(exc), extensions={"conflicts": [conflict_json(conflict) for conflict in exc.conflicts]}
    )


def violations_at(exc: zones.RuleViolations, place: Callable[[Violation], str | None]) -> Problem:
    """Return the problem for broken rules. `place` returns the pointer to a violation's RRset in the body, or None."""
    faults = [RequestFault(each.code, each.message, pointer=place(each)) for each in exc.violations]
    extensions = {"violations": [violation_json(violation) for violation in exc.violations]}
    return Problem("rules-violated", str(exc), faults, extensions=extensions)


def _taken_back(exc: zones.TakenBack) -> Problem:
    extensions = {"sequence": exc.sequence, "reasons": [exc.reason] if exc.reason else []}
    return Problem("taken-back", str(exc), extensions=extensions)


def _guard(exc: zones.GuardHolds) -> Problem:
    told = [f"{each.name}: {' '.join(each.reasons)}" for each in exc.zones[:ZONES_IN_DETAIL]]
    if len(exc.zones) > ZONES_IN_DETAIL:
        told.append(f"And {len(exc.zones) - ZONES_IN_DETAIL:,} more zones.")
    if len(exc.zones) > 1:
        totals = totals_of(exc.zones)
        told.insert(0, "{zones:,} zones would lose {removed:,} of their {rrsets:,} RRsets.".format(**totals))
    return needs_confirmation(" ".join(told), exc.zones)


def _mass_deletion(exc: zones.MassDeletion) -> Problem:
    totals = {"zones": exc.count, "removed": exc.rrsets, "rrsets": exc.rrsets}
    more = {"deleted_lately": exc.recent, "existing": exc.existing}
    return needs_confirmation(str(exc), exc.zones, reasons=[str(exc)], totals=totals, **more)


def _of_upload(exc: transfer.UploadRefused) -> Problem:
    if isinstance(exc, transfer.DiskFull):
        return Problem("disk-full", str(exc))
    if not exc.limit:
        return invalid([RequestFault("bad-source", str(exc))])
    return Problem("too-large", str(exc), extensions={"limit": exc.limit})


def _validation(exc: drf.ValidationError) -> Problem:
    faults = list(_faults_in(exc.detail, ""))
    return invalid(faults) if faults else Problem("invalid", "Some values are invalid.")


def _faults_in(detail: Any, pointer: str) -> Sequence[RequestFault]:
    """Flatten a serializer's errors (nested lists and dicts of sentences) to a list."""
    if isinstance(detail, Mapping):
        nested = [
            _faults_in(each, pointer if name == "non_field_errors" else f"{pointer}/{_token(name)}")
            for name, each in detail.items()
        ]
    elif isinstance(detail, list):
        leaf = all(isinstance(each, str) for each in detail)
        nested = [_faults_in(each, pointer if leaf else f"{pointer}/{i}") for i, each in enumerate(detail)]
    else:
        return [RequestFault(str(getattr(detail, "code", "invalid")), str(detail), pointer=pointer)]
    return [fault for faults in nested for fault in faults]


def _token(key: object) -> str:
    return str(key).replace("~", "~0").replace("/", "~1")


def _problem_of_credentials(exc: drf.APIException) -> Problem:
    challenge = getattr(exc, "auth_header", None) or 'Bearer realm="dnspanel"'
    detail = NO_TOKEN if isinstance(exc, drf.NotAuthenticated) else str(exc.detail)
    fault = RequestFault("required" if detail == NO_TOKEN else "invalid", detail, header="Authorization")
    return Problem("unauthenticated", detail, [fault], {"WWW-Authenticate": challenge})


def _problem_of_throttling(exc: drf.Throttled) -> Problem:
    seconds = max(1, int(exc.wait or 1))
    detail = f"The token has reached its limit of requests per minute. Try again in {seconds} s."
    return Problem("too-many-requests", detail, headers={"Retry-After": str(seconds)})


def _of_framework(exc: drf.APIException) -> Problem:
    by_status = {400: "malformed", 403: "forbidden", 404: "not-found", 405: "method-not-allowed"}
    by_status |= {406: "not-acceptable", 415: "unsupported-media-type"}
    return Problem(by_status.get(exc.status_code, "malformed"), str(exc.detail))


def _too_general(exc: SearchTooGeneral) -> Problem:
    return Problem("too-general", str(exc), [RequestFault("too-general", str(exc), parameter="q")])


def unavailable(exc: BaseException) -> Problem:
    """Return the problem for an outage. `in_doubt` is true if the write may have been committed."""
    code = "disk-full" if database_away.is_full(exc) else "unavailable"
    headers = {"Retry-After": str(database_away.retry_after(exc))}
    extensions = {"in_doubt": True} if database_away.is_in_doubt(exc) else {}
    return Problem(code, database_away.sentence(exc), headers=headers, extensions=extensions)


# The order matters: the first class that matches an exception translates it.
_TRANSLATIONS: tuple[tuple[type[BaseException], Callable[[Any], Problem]], ...] = (
    # zones
    (zones.InTrash, _in_trash),
    (zones.Unknown, _unknown),
    (zones.NotInTrash, _simply("not-found")),
    (zones.RevisionUnknown, _simply("not-found")),
    (zones.Locked, _simply("locked")),
    (zones.ApprovalNeeded, _simply("approval-needed")),
    (zones.Frozen, _simply("frozen")),
    (zones.HookRefused, _simply("hook-refused")),
    (zones.RightMissing, _right_missing),
    (zones.Forbidden, _simply("forbidden")),
    (zones.RevisionMoved, _problem_of_moved_revision),
    (zones.NameTaken, _simply("name-taken")),
    (zones.NamesTaken, _simply("name-taken")),
    (zones.NameOfOthers, _simply("forbidden")),
    (zones.NameRefused, lambda exc: bad_value("/name", str(exc), "name-refused")),
    (zones.SettingsRefused, _of_field),
    (zones.ExpiryRefused, lambda exc: bad_value("/remove_at", str(exc))),
    (zones.LockRefused, _of_field),
    (accounts.NotFound, _simply("not-found")),
    (zones.RuleRefused, _of_field),
    (zones.NothingToPublish, _simply("nothing-to-publish")),
    (zones.Conflicts, _conflicts),
    (zones.RuleViolations, lambda exc: violations_at(exc, lambda violation: None)),
    (zones.GuardHolds, _guard),
    (zones.MassDeletion, _mass_deletion),
    (zones.QuotaExceeded, _simply("quota-exceeded")),
    (zones.PublishingOnHold, _simply("publishing-held", Retry_After="60")),
    (zones.TakenBack, _taken_back),
    (zones.NotSigned, _simply("not-signed")),
    (zones.DnssecRefused, _simply("dnssec-refused")),
    (zones.TemplateRefused, _of_fields),
    (zones.PolicyRefused, _of_fields),
    (zones.ZoneError, _simply("conflict")),  # CannotResolve, CannotUndo, CannotClone, DraftRefused
    # accounts
    (accounts.RoleRefused, _of_fields),
    (accounts.ProviderRefused, _of_fields),
    (accounts.DirectoryRefused, _of_fields),
    (accounts.NotYours, _simply("forbidden")),
    (accounts.AboveYou, _simply("forbidden")),
    (accounts.TokenQuotaExceeded, _simply("quota-exceeded")),
    (accounts.AccountRefused, _of_fields),
    (accounts.TokenRefused, _of_fields),
    (accounts.TeamRefused, _of_fields),
    (accounts.GrantRefused, _of_fields),
    (accounts.AccountError, _simply("conflict")),  # LastAdministrator, TokenDead, invitations
    # webhooks
    (webhooks.WebhookRefused, _of_fields),
    (webhooks.AddressRefused, _of_value(ADDRESS_REFUSED)),
    (webhooks.WebhookError, _simply("source-away")),  # NoAnswer, NotTold
    # evidence
    (evidence.DestinationRefused, _of_fields),
    (evidence.EvidenceError, _simply("conflict")),
    # secondaries
    (secondaries.SecondaryRefused, _of_fields),
    (secondaries.KeylessRefused, _of_field),
    (secondaries.SecondaryError, _simply("conflict")),  # CertificateRefused, TransferRefused
    # catalogs
    (catalogs.CatalogRefused, _of_fields),
    (catalogs.CatalogError, _simply("conflict")),  # NothingKept
    # primaries
    (primaries.PrimariesRefused, _of_fields),
    (primaries.PrimaryError, _simply("conflict")),  # NotTransferred, TakeOverRefused
    # transfer
    (transfer.QuotaExceeded, _simply("quota-exceeded")),
    (transfer.UploadRefused, _of_upload),
    (transfer.SourceAway, _simply("source-away")),
    (transfer.ServerRefused, _of_server),
    (transfer.SourceRefused, _of_value("bad-source")),
    (transfer.PassphraseRefused, lambda exc: bad_value("/keys_passphrase", str(exc))),
    (transfer.TransferError, _simply("conflict")),  # WrongState, KeyLocked
    # fleet
    (fleet.NameTaken, _simply("name-taken")),
    (fleet.BadNode, _of_field),
    (fleet.GroupRefused, _of_field),
    (fleet.WrongDecision, _of_field),
    (fleet.BadRequest, _of_value("bad-csr")),
    (fleet.FleetError, _simply("conflict")),  # WrongState, CodeRefused
    # invalid names and rdata without a pointer
    (replication.BadName, _of_value("bad-name")),
    (replication.BadRdata, _of_value("bad-rdata")),
    (replication.BadRRset, _of_value("bad-rrset")),
    (replication.Transient, _simply("unavailable", Retry_After="1")),
    (replication.ReplicationError, _simply("conflict")),
    # the framework
    (drf.ValidationError, _validation),
    (drf.AuthenticationFailed, _problem_of_credentials),
    (drf.NotAuthenticated, _problem_of_credentials),
    (drf.Throttled, _problem_of_throttling),
    (drf.APIException, _of_framework),
    (Http404, lambda exc: Problem("not-found", "There is no resource at this URL.")),
    (DjangoDenied, lambda exc: Problem("forbidden", "The token is not allowed to do this.")),
    (RequestDataTooBig, lambda exc: Problem("too-large", "The body is larger than the panel accepts.")),
    (SuspiciousOperation, lambda exc: Problem("malformed", "The request cannot be read.")),
    (UnreadablePostError, lambda exc: Problem("malformed", "The request ended before the body was complete.")),
    # the database
    (SearchTooGeneral, _too_general),
    (DataError, lambda exc: invalid([RequestFault("out-of-range", "A value is outside the storable range.")])),
)
