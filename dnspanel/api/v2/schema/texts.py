"""Descriptions in the OpenAPI document: of responses by status, and of path variables. Pure."""

from collections.abc import Collection, Mapping
from typing import Any

Schema = Mapping[str, Any]

# Variables whose descriptions can't be derived from the path.
_VARIABLES = {
    "zone_name": "Name of the zone; the dot at the end is optional.",
    "owner": "Owner name of the RRset: relative to the zone, or absolute with a dot at the end; `@` is the apex.",
    "type_name": "Type of the records, such as `A` or `MX`.",
    "zone_id": "Id of the deleted zone, from `listDeletedZones`.",
    "tag": "Key tag of the DNSKEY record.",
    "code": "The `code` of a problem.",
    "act": "Action to carry out.",
    "sequence": "Sequence of the publication, from the answer to a write.",
}
# The meaning of each 2xx status, unless a view describes it.
_WRITTEN = {
    "200": "Published and on every node within `wait` seconds. If nothing had to change, `publication` is null.",
    "201": "Created, and on every node within `wait` seconds.",
    "202": "Published; the nodes are receiving the change. `Location` is the URL of the publication.",
}


def variable_text(path: str, name: str, lists: Mapping[str, str]) -> str:
    """Return the description of a path variable. `lists` maps each path to the operation that lists its objects."""
    if name in _VARIABLES:
        return _VARIABLES[name]
    above = path.partition("/{" + name + "}")[0]
    noun = _noun(above)
    source = f", from `{lists[above]}`" if above in lists else ""
    kind = {"name": "Name", "number": "Number", "key": "UUID"}.get(name, "Id")
    return f"{kind} of the {noun}{source}."


def answer_text(method: str, status: str, statuses: Collection[str], schema: Schema | None) -> str:
    """Return the description of a 2xx response. `statuses` are all statuses of the operation.

    `schema` is the schema of the body, or None if the response has no body.
    """
    if status == "204":
        return "Done, without a body."
    if "202" in statuses and len({"200", "201"} & set(statuses)):
        return _WRITTEN[status]
    if status == "202":
        return "Accepted; the work continues in the background. Read the resource again to see its progress."
    what = str((schema or {}).get("description", "")).strip().partition("\n")[0]
    if "items" in (schema or {}).get("properties", {}):
        what = "The items, or a page of them."
    if status == "201":
        return f"Created. {what}".strip()
    return what or ("The content." if method == "get" else "Done.")


def _noun(path: str) -> str:
    """Return the last segment of a path as a singular noun: `name server set` for `/api/v2/name-server-sets`."""
    last = [part for part in path.split("/") if not part.startswith("{")][-1]
    one = last.removesuffix("ies") + "y" if last.endswith("ies") else last.removesuffix("s")
    return one.replace("-", " ")
