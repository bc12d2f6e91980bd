"""The schema of problems (RFC 9457), with all members of all problem types. Pure."""

from typing import Any

from dnspanel.api.v2.http.problem_types import PROBLEM_TYPES

Schema = dict[str, Any]
REFERENCE = "#/components/schemas"
_TEXT: Schema = {"type": "string"}
_COUNT: Schema = {"type": "integer"}


def problem_schemas() -> dict[str, Schema]:
    """Return the components that describe a problem, by name.

    `code` is any string, because a client with a closed list of codes would fail on the first new one.
    """
    codes = ", ".join(f"`{code}`" for code in sorted(PROBLEM_TYPES))
    always = {
        "type": {"type": "string", "format": "uri-reference", "description": "Address of the page about this kind."},
        "title": {**_TEXT, "description": "The kind in words."},
        "status": {**_COUNT, "description": "The status of the answer."},
        "detail": {**_TEXT, "description": "What happened, for people."},
        "code": {**_TEXT, "description": f"The kind, for programs. More kinds can come; today: {codes}."},
        "errors": {
            "type": "array",
            "items": _reference("ProblemError"),
            "description": "What is wrong, value by value.",
        },
    }
    sometimes = {
        "zone": {**_TEXT, "description": "The zone that it is about."},
        "right": {**_TEXT, "description": "`forbidden`: the right that is missing in `zone`."},
        "trash": {"allOf": [_reference("ProblemTrash")], "description": "`not-found`: where the deleted zone is."},
        "base": _version("what was read, as far as it is known"),
        "theirs": _version("what there is now"),
        "mine": _version("what was sent"),
        "conflicts": _list_of("Conflict", "`changed-by-others`: each RRset that others changed."),
        "violations": _list_of("Violation", "`rules-violated`: each rule that would be broken."),
        "reasons": {"type": "array", "items": _TEXT, "description": "`needs-confirmation`, `taken-back`: why."},
        "deleted_lately": {**_COUNT, "description": "`needs-confirmation`: zones that the token deleted lately."},
        "existing": {**_COUNT, "description": "`needs-confirmation` of a deletion: zones that there are."},
        "zones": _list_of("ProblemZone", "`needs-confirmation`: the first zones that it is about."),
        "left_out": {**_COUNT, "description": "`needs-confirmation`: zones that `zones` leaves out."},
        "totals": {"allOf": [_reference("ProblemTotals")], "description": "`needs-confirmation`: sums over all zones."},
        "sequence": {**_COUNT, "description": "`taken-back`: the publication that was taken back."},
        "limit": {**_TEXT, "description": "`too-large` of an upload: the name of the limit, such as `entries`."},
        "offset": {**_COUNT, "description": "`conflict` of an upload: the size so far, where to go on."},
        "in_doubt": {"type": "boolean", "description": "`unavailable`: true where the write may have been saved."},
    }
    return {
        "Problem": {
            "type": "object",
            "description": "What went wrong (RFC 9457). Decide by `code`; some kinds have more members.",
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
                "gone_at": {"type": "string", "format": "date-time", "description": "When it is deleted for good."},
                "url": {**_TEXT, "description": "POST to `/restore` below it restores the zone."},
            },
        },
    }


def _guarded_zone() -> Schema:
    return {
        "type": "object",
        "description": "A zone of which so much changes that it must be confirmed.",
        "required": ["zone", "reasons", "removed", "rrsets"],
        "properties": {
            "zone": _TEXT,
            "reasons": {"type": "array", "items": _TEXT, "description": "Why it must be confirmed."},
            "removed": {**_COUNT, "description": "RRsets that would be deleted."},
            "rrsets": {**_COUNT, "description": "RRsets that the zone has."},
        },
    }


def _totals() -> Schema:
    return {
        "type": "object",
        "description": "What all zones that wait for confirmation lose and have.",
        "required": ["zones", "removed", "rrsets"],
        "properties": {
            "zones": _COUNT,
            "removed": {**_COUNT, "description": "RRsets that would be deleted."},
            "rrsets": {**_COUNT, "description": "RRsets that the zones have."},
        },
    }


def _problem_error() -> Schema:
    return {
        "type": "object",
        "description": "What is wrong with one value: at `pointer`, `parameter` or `header`.",
        "required": ["code", "detail"],
        "properties": {
            "code": {**_TEXT, "description": "For programs; more can come."},
            "detail": _TEXT,
            "pointer": {**_TEXT, "description": "JSON pointer into the body that was sent."},
            "parameter": {**_TEXT, "description": "Name of a query parameter."},
            "header": {**_TEXT, "description": "Name of a header."},
        },
    }


def _reference(name: str) -> Schema:
    return {"$ref": f"{REFERENCE}/{name}"}


def _list_of(name: str, description: str) -> Schema:
    return {"type": "array", "items": _reference(name), "description": description}


def _version(what: str) -> Schema:
    description = f"`precondition-failed`: {what}, in the form of the resource; null: absent or not known."
    return {"type": ["object", "null"], "additionalProperties": {}, "description": description}
