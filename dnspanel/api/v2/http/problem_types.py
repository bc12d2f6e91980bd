"""Define all problem types of API v2, with the stable codes for clients.

A problem's `type` is a URL below `/api/v2/problems/` with an explanation. A published code never changes its meaning.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ProblemType:
    code: str
    status: int
    title: str
    cause: str  # what happened
    remedy: str  # what a client can do

    @property
    def meaning(self) -> str:
        """The cause and the remedy as one string."""
        return f"{self.cause} {self.remedy}"


_ALL = (
    ProblemType(
        "malformed",
        400,
        "The request cannot be read",
        "The body is not JSON, has the same member twice, or contains text that cannot be stored.",
        "`detail` says where. Send one JSON value in UTF-8.",
    ),
    ProblemType(
        "bad-cursor",
        400,
        "Not a cursor of this list",
        "The `cursor` is not from this list.",
        "Follow `next`, or send `next_cursor` unchanged with the same filters. Omit `cursor` to start again.",
    ),
    ProblemType(
        "bad-header",
        400,
        "A header cannot be read",
        "A header has an invalid value, or the resource does not support the header.",
        "`errors` names the header and the expected value.",
    ),
    ProblemType(
        "unauthenticated",
        401,
        "A valid token is needed",
        "No token was sent, or the token is unknown, expired, revoked, or not allowed from your address.",
        "Send a valid token as `Authorization: Bearer dnsp_…` or `X-API-Key: dnsp_…`. Create tokens under Access.",
    ),
    ProblemType(
        "forbidden",
        403,
        "The token is not allowed to do this",
        "The token or its owner lacks a permission or right.",
        "`right` is the missing right for `zone`, if known. Use a token with this right, or ask an administrator.",
    ),
    ProblemType(
        "locked",
        403,
        "The record or zone is locked",
        "Someone locked the record or zone that the request changes.",
        "`detail` gives the reason, and who can still change the record or zone.",
    ),
    ProblemType(
        "approval-needed",
        403,
        "Others have to approve this first",
        "An approval rule covers the zone.",
        "`detail` says who can approve. Add the change to the draft and send `POST /requests`, or name the ticket in"
        " `reason`.",
    ),
    ProblemType(
        "frozen",
        403,
        "A freeze is in force",
        "These zones are frozen. Nothing can be published in them.",
        "`detail` gives the end of the freeze and the reason. Drafts are kept: publish them afterwards.",
    ),
    ProblemType(
        "hook-refused",
        403,
        "A publish hook refused the change",
        "A publish hook, which checks changes before they are published, refused this change.",
        "`detail` contains the hook's answer. Change the request, or ask the owner of the hook. Drafts are kept.",
    ),
    ProblemType(
        "not-found",
        404,
        "There is nothing here",
        "The resource does not exist, or the token is not allowed to see it.",
        "Check the URL. For a deleted zone, `trash` shows where to restore the zone.",
    ),
    ProblemType(
        "method-not-allowed",
        405,
        "The method does not fit the resource",
        "The resource does not have this method.",
        "The header `Allow` lists the methods of the resource.",
    ),
    ProblemType(
        "not-acceptable",
        406,
        "Answers are JSON",
        "The header `Accept` asks for another media type.",
        "Send `Accept: application/json`, or `*/*`.",
    ),
    ProblemType(
        "conflict",
        409,
        "The state of the resource does not allow this",
        "The resource has changed, or its state does not allow the request.",
        "Read the resource again, then decide.",
    ),
    ProblemType(
        "name-taken",
        409,
        "The name is taken",
        "Another object has this name.",
        "Use another name, or rename the other object.",
    ),
    ProblemType(
        "under-way",
        409,
        "The same request is under way",
        "The first request with this Idempotency-Key is still running.",
        "Send the request again after `Retry-After` seconds, with the same key, to get its answer.",
    ),
    ProblemType(
        "changed-by-others",
        409,
        "Others changed the same records",
        "Others published changes to records that your draft also changes.",
        "Each of `conflicts` has `base`, `theirs` and `mine`. Resolve the conflicts, then publish again.",
    ),
    ProblemType(
        "needs-confirmation",
        409,
        "So large a change must be confirmed",
        "The change deletes a lot, and could be a mistake.",
        '`reasons` explains why. To confirm, send the request again with `"confirm": true` or `?confirm=true`.',
    ),
    ProblemType(
        "quota-exceeded",
        409,
        "A quota is used up",
        "The request needs more than a quota allows.",
        "`detail` names the quota and its owner. Delete what you no longer need, or ask an administrator for a higher"
        " quota. `GET /me/quotas` lists usage and limits.",
    ),
    ProblemType(
        "not-signed",
        409,
        "The zone is not signed",
        "The request needs a signed zone.",
        "Sign the zone first: send `PATCH /zones/ZONE/dnssec` with `signed`.",
    ),
    ProblemType(
        "dnssec-refused",
        409,
        "The zone cannot be signed in this way",
        "Validating resolvers would fail for the zone, or the zone already has this key or too many keys.",
        "`detail` gives the reason, and what is possible.",
    ),
    ProblemType(
        "nothing-to-publish",
        409,
        "There is nothing to publish",
        "The draft has no difference to the published zones.",
        "Change the draft first.",
    ),
    ProblemType(
        "precondition-failed",
        412,
        "The resource is not what the condition says",
        "The resource has changed since it was read, or exists although `If-None-Match: *` was sent.",
        "`base` is the version that you read, `theirs` the current version and `mine` the one that you sent, if known."
        " Decide, then send the request again with the new `ETag`. If many clients write at once, wait a random time of"
        " up to a second first, or use `extend` and `prune`, which need no condition.",
    ),
    ProblemType(
        "too-large",
        413,
        "The request is too large",
        "The body, or the change that it requests, exceeds a limit.",
        "`detail` names the limit. Split the request.",
    ),
    ProblemType(
        "unsupported-media-type",
        415,
        "Bodies are JSON",
        "The header `Content-Type` names another media type.",
        "Send `Content-Type: application/json`. `detail` names the accepted media types.",
    ),
    ProblemType(
        "invalid",
        422,
        "Some values are not usable",
        "A member, a value or a query parameter is unknown, missing or invalid.",
        "Each of `errors` points at a value and says what is allowed. Nothing was changed.",
    ),
    ProblemType(
        "rules-violated",
        422,
        "The zone would break rules",
        "With this change, the zone would break rules of DNS or of the panel.",
        "Each of `errors` names a rule, and each of `violations` a record. Change these records. Warnings can be"
        " accepted with `accept_warnings`.",
    ),
    ProblemType(
        "taken-back",
        422,
        "The name servers could not answer with the change, so it was taken back",
        "The canary could not answer with the publication `sequence`. No other node received it.",
        "`reasons` shows what PowerDNS could not answer. Change that value, then send the request again.",
    ),
    ProblemType(
        "key-reused",
        422,
        "The idempotency key belongs to another request",
        "This Idempotency-Key was sent with another request in the last 24 hours.",
        "Use a new key for a new request.",
    ),
    ProblemType(
        "too-general",
        422,
        "The search would look through too much",
        "The search is too general: no index of the database can answer it.",
        "Search for a longer text, or for a full name or value. `detail` says what the search needs.",
    ),
    ProblemType(
        "condition-needed",
        428,
        "This token must say what it changes",
        "The token is allowed to write only with a condition.",
        "Send `If-Match` with the `ETag` of what you read, or `If-None-Match: *` to create only.",
    ),
    ProblemType(
        "too-many-requests",
        429,
        "The token has used up its minute",
        "The token has reached its limit of requests per minute.",
        "Wait `Retry-After` seconds. `RateLimit-Remaining` in every answer is the number of requests left.",
    ),
    ProblemType(
        "broken",
        500,
        "The panel made a mistake",
        "The panel has a bug. The panel's log has details.",
        "Send the request again once, with the same Idempotency-Key. If it fails again, tell an administrator.",
    ),
    ProblemType(
        "source-away",
        502,
        "The other server does not answer",
        "The panel asked another server and got no answer.",
        "`detail` names the server. Check its address, and that it accepts requests from the panel.",
    ),
    ProblemType(
        "publishing-held",
        503,
        "Publishing is on hold",
        "After a restored backup, nodes can have changes that the panel does not know.",
        "Publishing continues after someone has decided which changes to keep. Drafts are kept. Try again after"
        " `Retry-After` seconds.",
    ),
    ProblemType(
        "unavailable",
        503,
        "The panel cannot do this just now",
        "A part of the panel, such as its database, cannot be reached.",
        "Try again after `Retry-After` seconds, with the same Idempotency-Key.",
    ),
    ProblemType(
        "disk-full",
        507,
        "A disk of the panel is full",
        "The panel or its database has no space to store the request.",
        "Ask an administrator to free space, or delete old imports and exports. Then send the request again, or resume"
        " the upload.",
    ),
)

PROBLEM_TYPES = {kind.code: kind for kind in _ALL}
