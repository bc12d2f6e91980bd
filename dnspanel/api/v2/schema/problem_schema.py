"""OpenAPI schema for problems (RFC 9457), with all fields of all problem types. Pure."""

from typing import Any

from dnspanel.api.v2.http.problem_types import PROBLEM_TYPES

Schema = dict[str, Any]
REFERENCE = "#/components/schemas"
_TEXT: Schema = {"type": "string"}
_COUNT: Schema = {"type": "integer"}


def problem_schemas() -> dict[str, Schema]:
    """Return the components that describe a problem, keyed by name.

    `code` can be any string, because a client with a closed list of codes would fail on the first new one.
    """
    codes = ", ".join(f"`{code}`" for code in sorted(PROBLEM_TYPES))
    always = {
        "type": {"type": "string", "format": "uri-reference", "description": "URL of the page about this kind."},
        "title": {**_TEXT, "description": "The kind of problem in words."},
        "status": {**_COUNT, "description": "The HTTP status of the answer."},
        "detail": {**_TEXT, "description": "What went wrong, as text for people."},
        "code": {**_TEXT, "description": f"The kind, for programs. New codes can be added. Current codes: {codes}."},
        "errors": {
            "type": "array",
            "items": _reference("ProblemError"),
            "description": "One error for each invalid value.",
        },
    }
    sometimes = {
        "zone": {**_TEXT, "description": "The affected zone."},
        "right": {**_TEXT, "description": "`forbidden`: the missing right for `zone`."},
        "trash": {"allOf": [_reference("ProblemTrash")], "description": "`not-found`: the deleted zone in the trash."},
        "base": _version("the version that you read, if known"),
        "theirs": _version("the current version"),
        "mine": _version("the version that you sent"),
        "conflicts": _list_of("Conflict", "`changed-by-others`: the RRsets that others also changed."),
        "violations": _list_of("Violation", "`rules-violated`: the rules that the change would break."),
        "reasons": {"type": "array", "items": _TEXT, "description": "`needs-confirmation`, `taken-back`: the reasons."},
        "deleted_lately": {**_COUNT, "description": "`needs-confirmation`: zones that the token recently deleted."},
        "existing": {**_COUNT, "description": "`needs-confirmation` of a deletion: number of existing zones."},
        "zones": _list_of("ProblemZone", "`needs-confirmation`: the first of the affected zones."),
        "left_out": {**_COUNT, "description": "`needs-confirmation`: number of zones that `zones` omits."},
        "totals": {"allOf": [_reference("ProblemTotals")], "description": "`needs-confirmation`: totals of all zones."},
        "sequence": {**_COUNT, "description": "`taken-back`: sequence of the reverted publication."},
        "limit": {**_TEXT, "description": "`too-large` of an upload: name of the limit, such as `entries`."},
        "offset": {**_COUNT, "description": "`conflict` of an upload: current size of the file. Continue there."},
        "in_doubt": {"type": "boolean", "description": "`unavailable`: true if the write was possibly saved."},
    }
    return {
        "Problem": {
            "type": "object",
            "description": "A problem (RFC 9457). Decide by `code`. Some kinds have more members.",
            "required": list(always),
            "properties": always | sometimes,
        },
        "ProblemZone": _guarded_zone(),
        "ProblemTotals": _totals(),
        "ProblemError": _problem_error(),
        "ProblemTrash": {
            "type": "object",
            "description": "A deleted zone that can be restored.",
            "required": ["deleted_at", "gone_at", "url"],
            "properties": {
                "deleted_at": {"type": "string", "format": "date-time"},
                "gone_at": {"type": "string", "format": "date-time", "description": "Time of permanent deletion."},
                "url": {**_TEXT, "description": "The deleted zone. POST to `/restore` below this URL restores it."},
            },
        },
    }


def _guarded_zone() -> Schema:
    return {
        "type": "object",
        "description": "A zone with so many changes that they need confirmation.",
        "required": ["zone", "reasons", "removed", "rrsets"],
        "properties": {
            "zone": _TEXT,
            "reasons": {"type": "array", "items": _TEXT, "description": "Why the changes need confirmation."},
            "removed": {**_COUNT, "description": "Number of RRsets that would be deleted."},
            "rrsets": {**_COUNT, "description": "Number of RRsets in the zone."},
        },
    }


def _totals() -> Schema:
    return {
        "type": "object",
        "description": "Totals of all zones that need confirmation.",
        "required": ["zones", "removed", "rrsets"],
        "properties": {
            "zones": _COUNT,
            "removed": {**_COUNT, "description": "Number of RRsets that would be deleted."},
            "rrsets": {**_COUNT, "description": "Number of RRsets in the zones."},
        },
    }


def _problem_error() -> Schema:
    return {
        "type": "object",
        "description": "An error in one value, at `pointer`, `parameter` or `header`.",
        "required": ["code", "detail"],
        "properties": {
            "code": {**_TEXT, "description": "The kind of error, for programs. New codes can be added."},
            "detail": _TEXT,
            "pointer": {**_TEXT, "description": "JSON pointer to the value in the request body."},
            "parameter": {**_TEXT, "description": "Name of the query parameter."},
            "header": {**_TEXT, "description": "Name of the header."},
        },
    }


def _reference(name: str) -> Schema:
    return {"$ref": f"{REFERENCE}/{name}"}


def _list_of(name: str, description: str) -> Schema:
    return {"type": "array", "items": _reference(name), "description": description}


def _version(what: str) -> Schema:
    description = f"`precondition-failed`: {what}, in the format of the resource; null: absent or unknown."
    return {"type": ["object", "null"], "additionalProperties": {}, "description": description}
