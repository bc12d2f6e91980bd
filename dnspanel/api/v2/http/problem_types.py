"""Every kind of problem that API v2 answers with: the stable codes that clients decide by.

A problem's `type` is the address of its kind below `/api/v2/problems/`, where
the kind explains itself. A code, once published, keeps its meaning.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ProblemType:
    """One kind of problem."""

    code: str
    status: int
    title: str
    meaning: str  # what happened, and what a client does about it


_ALL = (
    ProblemType(
        "malformed", 400, "The request cannot be read", "The body is not JSON, or a text in it cannot be stored."
    ),
    ProblemType(
        "bad-cursor", 400, "Not a cursor of this list", "Follow `next` as it was given, with the same filters."
    ),
    ProblemType("bad-header", 400, "A header cannot be read", "`errors` names the header."),
    ProblemType("unauthenticated", 401, "A valid token is needed", "Send a token as `Authorization: Bearer …`."),
    ProblemType("forbidden", 403, "The token may not do this", "The token or its owner lacks a permission or right."),
    ProblemType("locked", 403, "Somebody locked it", "`detail` says why, and who may still change it."),
    ProblemType(
        "approval-needed",
        403,
        "Others have to approve this first",
        "`detail` says who. Put the change into the draft and ask by `POST /requests`, or say the ticket in the"
        " reason.",
    ),
    ProblemType(
        "frozen", 403, "Nothing is published there just now", "`detail` says until when, and why. Drafts are kept."
    ),
    ProblemType(
        "hook-refused", 403, "A publish hook did not let it pass", "`detail` says what it answered. Drafts are kept."
    ),
    ProblemType("not-found", 404, "There is nothing here", "It does not exist, or the token may not know about it."),
    ProblemType(
        "method-not-allowed", 405, "The method does not fit the resource", "The header `Allow` lists those that do."
    ),
    ProblemType("not-acceptable", 406, "Only JSON is spoken here", "Accept `application/json`."),
    ProblemType("conflict", 409, "The state of the resource does not allow this", "Read it again, then decide."),
    ProblemType("name-taken", 409, "The name is taken", "There is something else of this name already."),
    ProblemType(
        "under-way", 409, "The same request is under way", "Ask again after `Retry-After` seconds for its answer."
    ),
    ProblemType(
        "changed-by-others",
        409,
        "Others changed the same records meanwhile",
        "Each of `conflicts` has base, theirs and mine. Resolve them, then publish again.",
    ),
    ProblemType(
        "needs-confirmation",
        409,
        "So large a change must be confirmed",
        '`reasons` says why. Send the same again with `"confirm": true` if it is meant.',
    ),
    ProblemType(
        "quota-exceeded",
        409,
        "A quota is used up",
        "`detail` says whose and of what. Remove what is not needed any more, or ask an administrator for more;"
        " `/me/quotas` lists what is used and allowed.",
    ),
    ProblemType(
        "not-signed", 409, "The zone is not signed", "What is wanted needs keys that sign: sign the zone first."
    ),
    ProblemType(
        "dnssec-refused",
        409,
        "The zone cannot be signed in this way",
        "Resolvers that validate would answer nothing of it, or it has this key, or too many. `detail` says which.",
    ),
    ProblemType("nothing-to-publish", 409, "There is nothing to publish", "The draft holds nothing that differs."),
    ProblemType(
        "precondition-failed",
        412,
        "The resource is not what the condition says",
        "It changed since it was read, or exists against `If-None-Match: *`. Where the versions are known, `base` is"
        " what was read, `theirs` what there is now and `mine` what was sent.",
    ),
    ProblemType("too-large", 413, "The request is too large", "`detail` names the limit."),
    ProblemType("unsupported-media-type", 415, "Bodies are JSON", "Send `Content-Type: application/json`."),
    ProblemType(
        "invalid", 422, "Some values are not usable", "Each of `errors` points at a value and says what is wrong."
    ),
    ProblemType(
        "rules-violated",
        422,
        "The zone would break rules",
        "Each of `errors` names a rule. Warnings can be accepted with `accept_warnings`.",
    ),
    ProblemType(
        "taken-back",
        422,
        "The name servers could not answer with the change, so it was taken back",
        "The publication `sequence` was saved, the canary could not answer with it, and no other node got it."
        " `reasons` says what PowerDNS could not answer: change that value and send the request again.",
    ),
    ProblemType(
        "key-reused", 422, "The idempotency key belongs to another request", "Use a new key for a new request."
    ),
    ProblemType(
        "too-general",
        422,
        "The search would look through too much",
        "Look for something longer, or for a full name or value. `detail` says what it lacks.",
    ),
    ProblemType(
        "condition-needed", 428, "This token must say what it changes", "Send `If-Match` or `If-None-Match: *`."
    ),
    ProblemType("too-many-requests", 429, "The token has used up its minute", "Wait `Retry-After` seconds."),
    ProblemType("broken", 500, "The panel made a mistake", "It is in the log, with the time. A retry may work."),
    ProblemType("source-away", 502, "The other server does not answer", "The panel asked a server and got no answer."),
    ProblemType(
        "publishing-held",
        503,
        "Nothing is published at present",
        "Nodes may hold what the panel does not know, after a restored backup. Drafts are kept. It lasts until a person"
        " has decided; try again after `Retry-After` seconds.",
    ),
    ProblemType("unavailable", 503, "The panel cannot do this just now", "Try again after `Retry-After` seconds."),
)

PROBLEM_TYPES = {kind.code: kind for kind in _ALL}
