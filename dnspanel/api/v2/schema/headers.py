"""Add response headers to the OpenAPI document: their descriptions, and the headers of each operation. Pure.

Most headers follow from the kind of operation. A test checks that real responses have exactly the declared headers.
"""

import tomllib
from pathlib import Path
from typing import Any

Schema = dict[str, Any]

_READ: Schema = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())
HEADERS: Schema = _READ["headers"]
_TO_TOKENS = ["Panel-Version", *(name for name in HEADERS if name.startswith("RateLimit"))]
# Error statuses that are stored for an `Idempotency-Key`. The key is stored only after the token was accepted.
_REMEMBERED = {400, 403, 404, 409, 412, 413, 415, 422, 428}
# Reads with an ETag although no operation writes to their URL.
_TAGGED_READS = {"getMe", "getMyQuotas", "getRequest", "getTemplateVersion", "getZoneNameServers"}
# POST operations whose response has the ETag of the changed resource or of the dry run.
_TAGGED_ACTS = frozenset(_READ["tagged_acts"])
# POST operations that create a resource whose URL is not below their own path.
_LOCATED_ACTS = {"createServiceAccount", "createTransferredZone", "rotateToken"}
_UNTAGGED_WRITES = {"uploadImportFile"}
_FILES = {"downloadExport", "downloadImportFaults"}
_RESUMED = {"downloadExport"}  # supports Range requests


def declare_headers(document: Schema) -> None:
    """Declare the headers of every response. Add `HEADERS` as components of the document."""
    document["components"]["headers"] = HEADERS
    paths = document["paths"]
    for path, operations in paths.items():
        created = next((each for each in paths if each.rpartition("/")[0] == path and each.endswith("}")), "")
        creates = "get" in paths.get(created, {})
        for method, operation in operations.items():
            for status, response in operation["responses"].items():
                if "$ref" in response:
                    continue
                names = _names(operations, method, operation, status, creates=creates)
                if names:
                    references = {name: {"$ref": f"#/components/headers/{name}"} for name in sorted(names)}
                    response["headers"] = references | response.get("headers", {})


def problem_headers(status: int) -> Schema:
    """Return the headers that a problem response with this status can have."""
    names = {"WWW-Authenticate"} if status == 401 else {*_TO_TOKENS}
    names |= {"Retry-After"} if status in {409, 429, 503, 507} else set()
    names |= {"Idempotency-Replayed"} if status in _REMEMBERED else set()
    names |= {"ETag"} if status == 412 else set()
    return {name: {"$ref": f"#/components/headers/{name}"} for name in sorted(names)}


def _names(operations: Schema, method: str, operation: Schema, status: str, *, creates: bool) -> set[str]:
    """Return a response's header names. `creates` is True if a POST to this path creates an object with its own URL."""
    name, parameters = operation["operationId"], {each["name"] for each in operation.get("parameters", [])}
    found = {*_TO_TOKENS} if operation["security"] else set()
    if status == "304":
        return found | {"ETag"}
    if status[0] != "2":
        return found | ({"Content-Range"} if status == "416" else set())
    if name in _FILES:
        found.add("Content-Disposition")
    if name in _RESUMED:
        found |= {"Accept-Ranges", "ETag"} | ({"Content-Range"} if status == "206" else set())
    if method != "get":
        found.add("Idempotency-Replayed")
    if "wait" in parameters:
        found.add("Retry-After")
        found |= {"Location", "Preference-Applied"} if method != "get" else set()
    if method == "get" and "cursor" in parameters:
        found.add("Link")
    if (method == "post" and creates) or name in _LOCATED_ACTS or (method != "get" and status == "202"):
        found.add("Location")
    if _is_tagged(operations, method, name, parameters, creates=creates) and status != "204":
        found.add("ETag")
    return found


def _is_tagged(operations: Schema, method: str, name: str, parameters: set[str], *, creates: bool) -> bool:
    if method == "get":
        is_written = bool(operations.keys() & {"put", "patch", "delete"}) and "cursor" not in parameters
        return is_written or "If-None-Match" in parameters or name in _TAGGED_READS
    if method == "post":
        return creates or name in _TAGGED_ACTS
    return method in {"put", "patch"} and name not in _UNTAGGED_WRITES
