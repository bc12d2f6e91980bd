"""The recorder of examples for the OpenAPI document, from requests of tests. It runs if RECORD_EXAMPLES is set.

It keeps one successful exchange (2xx) of each operation: the longest below a limit, in any order of tests. An example
in the file stays if it is as long and still matches the document. Values that differ between runs are replaced: present
times, UUIDs, secrets and the panel's address.
"""

import json
import os
import re
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl
from uuid import NAMESPACE_URL, uuid5

from django.http.response import HttpResponseBase

from dnspanel import __version__
from dnspanel.api.v2.schema.examples import FILE
from tests.dnspanel.api.described import ROOT, fits, operation_of
from tests.people import NOW

IS_RECORDING = bool(os.environ.get("RECORD_EXAMPLES"))
LONGEST = 2500  # the longest example that is worth reading, in characters
MOST_ITEMS = 2
PANEL = "https://panel.example.net"
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+(?:Z|\+00:00)")
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
_SECRETS = {"secret", "key", "private_key", "link", "password", "client_secret"}
_SECRET = re.compile(r"(?=[A-Za-z+/_-]*[0-9])[A-Za-z0-9+/_-]{16}[A-Za-z0-9+/=_-]+")
_ADDRESS = re.compile(r"http://(?:testserver|127\.0\.0\.1:\d+)(?=/)")
_PREFIX = re.compile(r"dnsp_\w{6}(?!\w)")
_found: dict[str, dict[str, Any]] = {}


def note(method: str, path: str, query: str, sent: bytes, response: HttpResponseBase) -> None:
    """Keep this exchange if it is the best example of its operation so far."""
    operation = operation_of(method, path)
    if operation is None or method == "HEAD" or not 200 <= response.status_code < 300:
        return
    name, entry = operation["operationId"], _exchange(path, query, sent, response)
    if name not in _found or _rank(entry) > _rank(_found[name]):
        _found[name] = entry


def note_event(name: str, body: dict[str, Any]) -> None:
    """Keep the body of a delivered event if it is the best example of its kind so far."""
    entry = {"request": _short(body)}
    if IS_RECORDING and (name not in _found or _rank(entry) > _rank(_found[name])):
        _found[name] = entry


def write() -> None:
    """Write the kept examples to the file, unless the file already has better ones."""
    known = json.loads(FILE.read_text())
    for name, found in _found.items():
        entry = _alike(name, found)
        if name not in known or not fits(name, known[name]) or _rank(entry) > _rank(known[name]):
            known[name] = entry
    FILE.write_text(json.dumps(known, indent=1, sort_keys=True, ensure_ascii=False) + "\n")


def _rank(entry: dict[str, Any]) -> tuple[bool, int, str]:
    text = json.dumps(entry, sort_keys=True)
    return "request" in entry, len(text) if len(text) <= LONGEST else LONGEST - len(text), text


def _exchange(path: str, query: str, sent: bytes, response: HttpResponseBase) -> dict[str, Any]:
    entry: dict[str, Any] = {"path": path, "status": str(response.status_code)}
    if query:
        entry["query"] = dict(parse_qsl(query))
    if sent and (body := _json(sent)) is not None:
        entry["request"] = _short(body)
    if response.headers.get("Content-Type", "").startswith("application/json") and path != f"{ROOT}/openapi.json":
        entry["answer"] = _short(json.loads(response.content))  # type: ignore[attr-defined]
    return entry


def _json(text: bytes) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _short(value: Any) -> Any:
    """Return the value with only the first MOST_ITEMS items of each list."""
    if isinstance(value, dict):
        return {name: _short(each) for name, each in value.items()}
    return [_short(each) for each in value[:MOST_ITEMS]] if isinstance(value, list) else value


def _alike(name: str, entry: dict[str, Any]) -> dict[str, Any]:
    """Return the exchange with fixed values in place of those that differ between runs."""
    text = json.dumps(_without_secrets(entry))
    text = _ADDRESS.sub(PANEL, text)
    text = _PREFIX.sub("dnsp_x1y2z3", text).replace(__version__, "1.0.0")
    for place, found in enumerate(dict.fromkeys(_UUID.findall(text))):
        text = text.replace(found, str(uuid5(NAMESPACE_URL, f"{name} {place}")))
    alike: dict[str, Any] = json.loads(_TIME.sub(lambda match: _shifted(match[0]), text))
    return alike


def _shifted(text: str) -> str:
    """Move a present time to the same distance from NOW, rounded to 15 minutes. Return other times unchanged."""
    if ".000000" in text:
        return text
    distance = datetime.fromisoformat(text.replace("Z", "+00:00")) - datetime.now(UTC)
    if abs(distance) > timedelta(days=3700):
        return text
    then = NOW + timedelta(minutes=15 * round(distance.total_seconds() / 900))
    return then.isoformat(timespec="microseconds").replace("+00:00", "Z")


def _without_secrets(value: Any, name: str = "") -> Any:
    if isinstance(value, dict):
        return {key: _without_secrets(each, key) for key, each in value.items()}
    if isinstance(value, list):
        return [_without_secrets(each, name) for each in value]
    if isinstance(value, str) and (name in _SECRETS or value.startswith(("dnsp_", "whsec_"))):
        if _UUID.fullmatch(value):  # a draft's key
            return value
        parts = value.split("/") if value.startswith("http") else [value]
        return "/".join(_SECRET.sub(lambda match: _stand_in(match[0]), part) for part in parts)
    return value


def _stand_in(secret: str) -> str:
    """Return a fake secret with the same prefix."""
    start = next((each for each in ("dnsp_", "whsec_") if secret.startswith(each)), "")
    return start + "EXAMPLE" * 4
