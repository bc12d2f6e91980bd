"""Create entity tags, and check the conditions that clients send (If-Match, If-None-Match), under a lock for writes.

A zone's tag consists of its revision and a digest of its settings. An RRset's tag consists of the zone's revision at
the time of the read and a digest of the RRset. For an RRset, `If-Match` compares only the digest, so other changes to
the zone don't matter. If the digest differs, the revision identifies the version that the client read. The 412 response
can then show this version (`base`), the current one (`theirs`) and the sent one (`mine`).

Resources without revisions, such as users, teams, tokens and hooks, are small and rarely written. A resource's tag is
therefore a digest of the response, and writers of the same resource wait for each other. The lock belongs to the
database session instead of a transaction, because some functions must open the outermost transaction themselves.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from zlib import crc32

from django.http import HttpResponse
from rest_framework.request import Request

from dnspanel.advisory_locks import Lock, hold_lock
from dnspanel.api.v2.http.answers import answer
from dnspanel.api.v2.http.problems import Problem, RequestFault
from dnspanel.api.v2.http.representation import optional_rrset_json
from dnspanel.zones.models import Change, Zone
from dnspanel.zones.store.stored_changes import rrset_before
from dnspanel.zones.values import soa
from replication.codec.keys import relative_key
from replication.dns import rdtypes
from replication.dns.rrset import RRset

_TAGS = re.compile(r'\s*(?:W/)?"[\x21\x23-\x7e]*"\s*(?:,\s*(?:W/)?"[\x21\x23-\x7e]*"\s*)*')
_TAG = re.compile(r'(?:W/)?"([\x21\x23-\x7e]*)"')
_VERSIONED = re.compile(r"([0-9]{1,9})-([0-9a-f]{16})")


@dataclass(frozen=True, slots=True)
class Condition:
    """A request's condition, from `If-Match` and `If-None-Match`. An empty condition always holds."""

    match_any: bool = False  # If-Match: *
    match: tuple[str, ...] = ()
    none_match_any: bool = False  # If-None-Match: *, create only
    none_match: tuple[str, ...] = ()

    @property
    def wants_match(self) -> bool:
        return self.match_any or bool(self.match)

    def holds(self, tag: str | None) -> bool:
        """Return True if the condition holds for a resource with this tag (None if the resource doesn't exist)."""
        if tag is None:
            return not self.wants_match
        value = tag.strip('"')
        if self.none_match_any or value in self.none_match:
            return False
        return not self.match or value in self.match

    @property
    def revision(self) -> int | None:
        """The revision that the client read, in the first `If-Match` tag that has one, or None if no tag does."""
        found = next(filter(None, map(_VERSIONED.fullmatch, self.match)), None)
        return int(found[1]) if found else None


def condition_in(request: Request) -> Condition:
    """Parse the request's condition. Raise Problem if a header has an invalid tag."""
    match_any, match = _read(request, "If-Match")
    none_match_any, none_match = _read(request, "If-None-Match")
    return Condition(match_any, match, none_match_any, none_match)


def tag_of(value: Any) -> str:
    """Return a JSON value's tag."""
    return f'"{_digest(value)}"'


def zone_tag(revision: int, tags: Iterable[str], team_id: int | None, default_ttl: int | None = None) -> str:
    """Return a zone's ETag, made from its revision and a digest of these settings."""
    return f'"{revision}-{_settings_digest(tuple(tags), team_id, default_ttl)}"'


def rrset_tag(rrset: RRset, revision: int) -> str:
    """Return the tag of an RRset, read at this revision of its zone."""
    return f'"{revision}-{_rrset_digest(rrset)}"'


def require(condition: Condition, tag: str | None, *, theirs: Any = None, mine: Any = None) -> None:
    """Raise Problem (412) with the current state unless the condition holds. The caller must lock the resource.

    `theirs` is the current state or a function that returns it.
    """
    if not condition.holds(tag):
        detail = "The resource already exists." if condition.none_match_any and tag else "If-Match does not match."
        base = None if condition.revision is None else {"revision": condition.revision}
        states = {"base": base, "theirs": theirs() if callable(theirs) else theirs, "mine": mine}
        raise Problem("precondition-failed", detail, headers={"ETag": tag} if tag else {}, extensions=states)


def require_rrset(condition: Condition, zone: Zone, key: tuple[str, int], current: RRset | None, mine: Any) -> None:
    """Raise Problem (412) with base, theirs and mine unless the condition holds. The caller must lock the zone."""
    if _holds_for(condition, current):
        return
    base = _rrset_at(zone, key, condition.revision, current)
    states = {"base": optional_rrset_json(base), "theirs": optional_rrset_json(current), "mine": mine}
    if condition.none_match_any and current is not None:
        detail = f"The RRset at {key[0]} already exists."
    else:
        detail = (
            f"The RRset at {key[0]} has changed since it was read." if current else f"There is no RRset at {key[0]}."
        )
    revision = Zone.objects.values_list("revision", flat=True).get(pk=zone.pk)
    headers = {"ETag": rrset_tag(current, revision)} if current else {}
    raise Problem("precondition-failed", detail, headers=headers, extensions=states)


def fresh_enough(request: Request, tag: str) -> HttpResponse | None:
    """Return a 304 response if the client already has this version, or None. Only for reads with `If-None-Match`."""
    condition = condition_in(request)
    if condition.none_match_any or tag.strip('"') in condition.none_match:
        response = HttpResponse(status=304, headers={"ETag": tag})
        del response["Content-Type"]
        return response
    return None


def _holds_for(condition: Condition, current: RRset | None) -> bool:
    if current is None:
        return not condition.wants_match
    digest = _rrset_digest(current)
    if condition.none_match_any or any(tag.endswith(digest) for tag in condition.none_match):
        return False
    return not condition.match or any(tag.partition("-")[2] == digest for tag in condition.match)


def _rrset_at(zone: Zone, key: tuple[str, int], revision: int | None, current: RRset | None) -> RRset | None:
    """Return the RRset at this revision of the zone, or None if it didn't exist or `revision` is None."""
    if revision is None:
        return None
    name, type_ = key
    since = Change.objects.filter(
        revision__zone=zone, revision__number__gt=revision, owner_key=relative_key(name, zone.name), type=type_
    )
    first = since.order_by("revision__number").first()
    return rrset_before(first) if first else current


@lru_cache(maxsize=1024)
def _settings_digest(tags: tuple[str, ...], team_id: int | None, default_ttl: int | None) -> str:
    return _digest([sorted(tags), team_id, default_ttl])


def _rrset_digest(rrset: RRset) -> str:
    """Return an RRset's digest. It doesn't cover an SOA's serial, which changes automatically."""
    shape = soa.with_serial(rrset, soa.NO_SERIAL) if rrset.type == rdtypes.SOA else rrset
    return _digest([shape.name, shape.type, shape.to_json()])


def _digest(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
    return hashlib.blake2s(text.encode(), digest_size=8).hexdigest()


def _read(request: Request, header: str) -> tuple[bool, tuple[str, ...]]:
    """Return a flag (True if the header is `*`) and the header's tags without `W/`.

    A weak tag equals the strong one, even in If-Match. RFC 9110 doesn't allow this, but proxies that compress responses
    (nginx, CDNs) make tags weak. The panel's tags identify the state of a resource, not the bytes of a response.
    """
    text = request.headers.get(header, "").strip()
    if text in {"", "*"}:
        return text == "*", ()
    if not _TAGS.fullmatch(text):
        fault = RequestFault("invalid", 'Send the ETag unchanged, with its quotation marks, or "*".', header=header)
        raise Problem("bad-header", f"The value of {header} is invalid.", [fault])
    return False, tuple(_TAG.findall(text))


@contextmanager
def conditional_write(request: Request, resource: str, as_it_is: Callable[[], Any]) -> Iterator[None]:
    """Lock the resource against other writes through API v2. Raise Problem (412) unless the request's condition holds.

    The problem contains the current resource and the sent body. `base` is null, because the version behind a digest
    isn't stored.
    """
    condition = condition_in(request)
    with hold_lock(Lock.RESOURCE, crc32(resource.encode()), wait=True):
        if condition.wants_match or condition.none_match_any or condition.none_match:
            theirs = as_it_is()
            tag = tag_of(theirs)
            if not condition.holds(tag):
                details = {"base": None, "theirs": theirs, "mine": request.data if request.data else None}
                detail = "The resource has changed since it was read."
                raise Problem("precondition-failed", detail, headers={"ETag": tag}, extensions=details)
        yield


def answer_with_tag(value: Any, status: int = 200, **headers: str) -> HttpResponse:
    """Return a response with the tag for later conditional writes. Keyword arguments are headers such as `Location`."""
    return answer(value, status, headers={"ETag": tag_of(value), **headers})


class SecretOnce(HttpResponse):
    """A response whose content is stored for retries without the secret. `with_secret` is sent the first time."""

    with_secret: bytes = b""


def once(value: dict[str, Any], *, secret: str, status: int = 201, **headers: str) -> HttpResponse:
    """Return a response with `value`. In the copy stored for retries, the member named by `secret` is null."""
    plain = answer_with_tag(value | {secret: None}, status, **headers)
    response = SecretOnce(plain.content, status=status, headers=dict(plain.headers))
    response.with_secret = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    return response
