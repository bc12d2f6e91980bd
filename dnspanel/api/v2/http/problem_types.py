"""All problem types of API v2, with the stable codes that clients use.

A problem's `type` is a URL below `/api/v2/problems/`, where the problem type is explained. A published code keeps its
meaning.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ProblemType:
    """A problem type: its code, status and title, the cause, and the remedy."""

    code: str
    status: int
    title: str
    cause: str  # what happened
    remedy: str  # what a client can do

    @property
    def meaning(self) -> str:
        """The cause and the remedy as one text."""
        return f"{self.cause} {self.remedy}"


_ALL = (
    ProblemType(
        "malformed",
        400,
        "The request cannot be read",
        "The body is not JSON, names a member twice, or has a text that cannot be stored.",
        "`detail` says where. Send one JSON value in UTF-8.",
    ),
    ProblemType(
        "bad-cursor",
        400,
        "Not a cursor of this list",
        "The `cursor` was made up, or comes from another list.",
        "Follow `next` or send `next_cursor` as it was given, with the same filters. Leave `cursor` out to begin anew.",
    ),
    ProblemType(
        "bad-header",
        400,
        "A header cannot be read",
        "A header has a value of another form, or does not fit the resource.",
        "`errors` names the header and says what it must be.",
    ),
    ProblemType(
        "unauthenticated",
        401,
        "A valid token is needed",
        "No token was sent, or the token is unknown, expired, revoked, or not allowed from your address.",
        "Send a valid token as `Authorization: Bearer dnsp_…` or `X-API-Key: dnsp_…`. Tokens are created under Access.",
    ),
    ProblemType(
        "forbidden",
        403,
        "The token is not allowed to do this",
        "The token or its owner lacks a permission or right.",
        "`right` and `zone` say which, where that is known. Use a token with this right, or ask an administrator.",
    ),
    ProblemType(
        "locked",
        403,
        "The record or zone is locked",
        "Somebody locked what the request changes.",
        "`detail` says why, and who can still change it.",
    ),
    ProblemType(
        "approval-needed",
        403,
        "Others have to approve this first",
        "An approval rule covers the zone.",
        "`detail` says who approves. Put the change into the draft and ask by `POST /requests`, or name the ticket in"
        " the reason.",
    ),
    ProblemType(
        "frozen",
        403,
        "A freeze is in force",
        "Nothing is published in these zones during a freeze.",
        "`detail` says until when, and why. Drafts stay as they are: publish them afterwards.",
    ),
    ProblemType(
        "hook-refused",
        403,
        "A publish hook refused the change",
        "A program that checks changes before they are published refused this one.",
        "`detail` says what the hook answered. Change the request, or ask the owner of the hook. Drafts stay as they"
        " are.",
    ),
    ProblemType(
        "not-found",
        404,
        "There is nothing here",
        "It does not exist, or the token is not allowed to know about it.",
        "Check the address. `trash` says where a deleted zone can be restored.",
    ),
    ProblemType(
        "method-not-allowed",
        405,
        "The method does not fit the resource",
        "The resource does not have this method.",
        "The header `Allow` lists the methods that it has.",
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
        "The resource changed, or is not in a state in which this can be done.",
        "Read it again, then decide.",
    ),
    ProblemType(
        "name-taken",
        409,
        "The name is taken",
        "Something else has this name.",
        "Use another name, or change what has it.",
    ),
    ProblemType(
        "under-way",
        409,
        "The same request is under way",
        "The first request with this Idempotency-Key is not finished.",
        "Send the request again after `Retry-After` seconds, with the same key, to get its answer.",
    ),
    ProblemType(
        "changed-by-others",
        409,
        "Others changed the same records",
        "Others published changes of records that your draft changes too.",
        "Each of `conflicts` has base, theirs and mine. Resolve them, then publish again.",
    ),
    ProblemType(
        "needs-confirmation",
        409,
        "So large a change must be confirmed",
        "The change deletes much, and could be a mistake.",
        '`reasons` says why. Send the request again with `"confirm": true` in the body, or `?confirm=true`.',
    ),
    ProblemType(
        "quota-exceeded",
        409,
        "A quota is used up",
        "The request needs more than a quota allows.",
        "`detail` says whose quota, and of what. Remove what is not needed, or ask an administrator for more;"
        " `/me/quotas` lists what is used and allowed.",
    ),
    ProblemType(
        "not-signed",
        409,
        "The zone is not signed",
        "The request needs keys that sign the zone.",
        "Sign the zone first: `PATCH /zones/ZONE/dnssec` with `signed`.",
    ),
    ProblemType(
        "dnssec-refused",
        409,
        "The zone cannot be signed in this way",
        "Resolvers that validate would not answer for the zone, or the zone has this key, or too many.",
        "`detail` says which, and what is possible.",
    ),
    ProblemType(
        "nothing-to-publish",
        409,
        "There is nothing to publish",
        "The draft holds nothing that differs from what is published.",
        "Change the draft first.",
    ),
    ProblemType(
        "precondition-failed",
        412,
        "The resource is not what the condition says",
        "It changed since it was read, or exists against `If-None-Match: *`.",
        "Where the versions are known, `base` is what was read, `theirs` what there is now and `mine` what was sent."
        " Decide, then send the request again with the new `ETag`. Where many write at once, wait a random time of up"
        " to a second first, or use `extend` and `prune`, which need no condition.",
    ),
    ProblemType(
        "too-large",
        413,
        "The request is too large",
        "The body, or what it asks for, is larger than is taken at once.",
        "`detail` names the limit. Split the request.",
    ),
    ProblemType(
        "unsupported-media-type",
        415,
        "Bodies are JSON",
        "The header `Content-Type` names another media type.",
        "Send `Content-Type: application/json`. `detail` says what this operation takes.",
    ),
    ProblemType(
        "invalid",
        422,
        "Some values are not usable",
        "A member, a value or a query parameter is unknown, missing, or cannot be used.",
        "Each of `errors` points at a value and says what is allowed. Nothing was done.",
    ),
    ProblemType(
        "rules-violated",
        422,
        "The zone would break rules",
        "With this change, the zone would break rules of DNS or of the panel.",
        "Each of `errors` names a rule, and each of `violations` the record. Change these. Warnings can be accepted"
        " with `accept_warnings`.",
    ),
    ProblemType(
        "taken-back",
        422,
        "The name servers could not answer with the change, so it was taken back",
        "The publication `sequence` was saved, the canary could not answer with it, and no other node got it.",
        "`reasons` says what PowerDNS could not answer: change that value and send the request again.",
    ),
    ProblemType(
        "key-reused",
        422,
        "The idempotency key belongs to another request",
        "This Idempotency-Key came with another request within 24 hours.",
        "Use a new key for a new request.",
    ),
    ProblemType(
        "too-general",
        422,
        "The search would look through too much",
        "No index can answer the search.",
        "Look for something longer, or for a full name or value. `detail` says what the search lacks.",
    ),
    ProblemType(
        "condition-needed",
        428,
        "This token must say what it changes",
        "The token was created with the duty to send conditions.",
        "Send `If-Match` with the `ETag` of what you read, or `If-None-Match: *` to create only.",
    ),
    ProblemType(
        "too-many-requests",
        429,
        "The token has used up its minute",
        "The token made all requests that it can make in a minute.",
        "Wait `Retry-After` seconds. `RateLimit-Remaining` of every answer says how many are left.",
    ),
    ProblemType(
        "broken",
        500,
        "The panel made a mistake",
        "The panel has a bug; its log has the time and the place.",
        "Send the request again once, with the same Idempotency-Key. If it fails again, tell an administrator.",
    ),
    ProblemType(
        "source-away",
        502,
        "The other server does not answer",
        "The panel asked another server and got no answer.",
        "`detail` names the server. Check its address, and that it lets the panel in.",
    ),
    ProblemType(
        "publishing-held",
        503,
        "Publishing is on hold",
        "After a restored backup, nodes can have changes that the panel does not know.",
        "Publishing goes on when a person has decided what holds. Drafts stay as they are. Try again after"
        " `Retry-After` seconds.",
    ),
    ProblemType(
        "unavailable",
        503,
        "The panel cannot do this just now",
        "A part of the panel, such as its database, cannot be reached.",
        "Try again after `Retry-After` seconds, with the same Idempotency-Key.",
    ),
)

PROBLEM_TYPES = {kind.code: kind for kind in _ALL}
