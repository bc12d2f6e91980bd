"""Encode audit log entries as syslog messages (RFC 5424) and OpenTelemetry log records. Pure.

Each form contains the entry's JSON line as in an export, and fields for searches.

    <PRI>1 TIMESTAMP HOSTNAME dnspanel - ACTION [dnspanel@32473 number="412" hash="…" …] {"action": …}

The facility is 13, "log audit". 32473 is the enterprise number for documentation (RFC 5612). The line is ASCII, so it
needs no byte order mark. In a message longer than LONGEST, the details are replaced by their size in bytes. The hash is
still the hash of the full entry.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from dnspanel.zones.audit.audit_trail import GONE, Act, document_of

APP = "dnspanel"
SD_ID = "dnspanel@32473"
_AUDIT = 13
_CRITICAL, _WARNING, _INFORMATIONAL = 2, 4, 6
# RFC 5425: receivers should accept messages of this length. They may cut longer messages anywhere.
LONGEST = 8_192
_LONGEST_HOSTNAME, _LONGEST_MSGID = 255, 32
_LONGEST_TEXT = 255
_BAD_ENDS = ("refused", "failed", "replayed", "locked", "no", "silent")
# Severity numbers in OpenTelemetry logs.
_OTLP = {_CRITICAL: (21, "FATAL"), _WARNING: (13, "WARN"), _INFORMATIONAL: (9, "INFO")}


@dataclass(frozen=True, slots=True)
class Sender:
    """The identity of the sending panel: the host of its URL, the cluster's UUID, and its version."""

    host: str
    cluster: str
    version: str


def syslog_message(act: Act, sender: Sender) -> bytes:
    """Encode the audit log entry as one syslog message (RFC 5424) in UTF-8, of at most LONGEST bytes."""
    head = (
        f"<{_AUDIT * 8 + _severity(act)}>1 {_timestamp(act.at)} {_printable(sender.host, _LONGEST_HOSTNAME)} {APP} - "
    )
    head += f"{_printable(act.action, _LONGEST_MSGID)} {_structured_data(act)} "
    beginning = head.encode("utf-8", "replace")
    return beginning + json_line(act, LONGEST - len(beginning))


def frame_message(message: bytes) -> bytes:
    """Frame a message for syslog over TLS, with octet counting (RFC 5425)."""
    return b"%d %s" % (len(message), message)


def log_record(act: Act, observed: datetime) -> dict[str, Any]:
    """Convert the audit log entry to an OTLP LogRecord in protobuf's JSON encoding. 64-bit numbers are strings."""
    number, text = _OTLP[_severity(act)]
    return {
        "timeUnixNano": _nanoseconds(act.at),
        "observedTimeUnixNano": _nanoseconds(observed),
        "severityNumber": number,
        "severityText": text,
        "eventName": f"{APP}.audit.{act.action}",
        "body": {"stringValue": json_line(act, LONGEST).decode()},
        "attributes": _attributes({f"{APP}.audit.{name}": value for name, value in _values(act)}),
    }


def logs_request(records: Sequence[dict[str, Any]], sender: Sender) -> bytes:
    """Encode an ExportLogsServiceRequest with these records, as JSON."""
    resource = {
        "service.name": APP,
        "service.version": sender.version,
        "service.instance.id": sender.cluster,
        "host.name": sender.host,
    }
    scope = {"name": f"{APP}.audit", "version": sender.version}
    resource_logs = {
        "resource": {"attributes": _attributes(resource)},
        "scopeLogs": [{"scope": scope, "logRecords": list(records)}],
    }
    return json.dumps({"resourceLogs": [resource_logs]}, separators=(",", ":")).encode()


def json_line(act: Act, most: int) -> bytes:
    """Encode the entry as one line of ASCII JSON, as in an export. Shorten it if it is longer than `most` bytes.

    First, replace the details with their size. If that isn't enough, cut off long targets, tokens, actions and names.
    """
    line = _json(document_of(act))
    if len(line) > most:
        act = replace(act, details={"left_out_bytes": len(_json(act.details))})
        line = _json(document_of(act))
    if len(line) > most:
        short = replace(act, target=act.target[:_LONGEST_TEXT], token=act.token[:_LONGEST_TEXT])
        line = _json(document_of(replace(short, action=act.action[:_LONGEST_TEXT], user=act.user[:_LONGEST_TEXT])))
    return line


def _json(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True).encode()


def _values(act: Act) -> Iterator[tuple[str, str | int]]:
    """Yield the names and values of the entry's searchable fields. Skip empty values."""
    found: tuple[tuple[str, str | int | None], ...] = (
        ("number", act.number),
        ("hash", act.hash),
        ("kind", act.kind),
        ("id", act.id),
        ("action", act.action),
        ("user", act.user),
        ("token_id", act.token_id),
        ("address", act.address),
        ("request_id", act.request_id),
        ("session", act.session),
    )
    yield from ((name, value) for name, value in found if value is not None and value != "")


def _structured_data(act: Act) -> str:
    pairs = (f'{name}="{_escape_value(str(value))}"' for name, value in _values(act))
    return f"[{SD_ID} {' '.join(pairs)}]"


def _escape_value(text: str) -> str:
    r"""Escape and shorten a PARAM-VALUE: put a backslash before \, " and ], and use spaces for control characters."""
    plain = "".join(character if character.isprintable() else " " for character in text[:_LONGEST_TEXT])
    return plain.replace("\\", "\\\\").replace('"', '\\"').replace("]", "\\]")


def _printable(text: str, longest: int) -> str:
    """Convert the text to a header field: at most `longest` printable ASCII characters, or "-" if the text is empty."""
    return "".join(character if "!" <= character <= "~" else "-" for character in text)[:longest] or "-"


def _severity(act: Act) -> int:
    if act.action == GONE:
        return _CRITICAL
    return _WARNING if act.action.rpartition(".")[2] in _BAD_ENDS else _INFORMATIONAL


def _timestamp(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _nanoseconds(at: datetime) -> str:
    return str((at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1) * 1000)


def _attributes(values: Mapping[str, str | int]) -> list[dict[str, Any]]:
    return [{"key": name, "value": _any_value(value)} for name, value in values.items()]


def _any_value(value: str | int) -> dict[str, str]:
    return {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}


def batch(sizes: Iterable[int], most: int) -> int:
    """Return the number of leading messages that fit into `most` bytes. A first message that is larger counts too."""
    total, count = 0, 0
    for size in sizes:
        total += size
        if count and total > most:
            break
        count += 1
    return count
