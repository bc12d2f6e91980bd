"""Encode an action as bytes, and compute the hash that chains it to all earlier actions. Pure.

    content = SHA-256 of the action as JSON: sorted keys, no spaces, UTF-8, times in UTC with microseconds
    hash(n) = SHA-256 of hash(n-1) · number as 8 bytes · kind and id as text with a zero byte between · content
    hash(0) = SHA-256 of "dnspanel audit " and the cluster's UUID

An attacker who changes, removes or inserts an action must change every later hash too. The hashes contain no secret, so
anyone with write access to the database can compute a new chain. The chain was not replaced if it still contains an
earlier hash that was stored elsewhere (in an export, in the logs, on paper).
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

ENTRY, PUBLICATION = "entry", "publication"
PRUNED = "pruned"  # consecutive links whose acts were removed, see prune_links


def first_hash(cluster: UUID) -> bytes:
    """Return hash(0), the start of the chain."""
    return hashlib.sha256(b"dnspanel audit " + str(cluster).encode()).digest()


def next_hash(before: bytes, *, number: int, kind: str, ref: int, content: bytes) -> bytes:
    """Return the hash of action `number`. `before` is the previous action's hash."""
    return hashlib.sha256(before + number.to_bytes(8, "big") + f"{kind}\0{ref}".encode() + content).digest()


def content_of(act: Mapping[str, Any]) -> bytes:
    """Return the hash of an action's content."""
    return hashlib.sha256(_json(act)).digest()


class RunningDigest:
    """A hash of a row and its dependent rows that doesn't need all rows in memory."""

    def __init__(self, head: Mapping[str, Any]) -> None:
        self._hash = hashlib.sha256(_json(head))

    def add(self, row: Iterable[Any]) -> None:
        self._hash.update(b"\n" + _json(list(row)))

    @property
    def text(self) -> str:
        return self._hash.hexdigest()


def _json(value: Any) -> bytes:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=_text)
    return text.encode("utf-8", "surrogatepass")


def _text(value: Any) -> str:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="microseconds")
    return str(value)
