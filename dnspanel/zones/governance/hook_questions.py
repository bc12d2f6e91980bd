"""The question to a publish hook about a publication: stable JSON, with a digest of the whole publication. Pure.

    {"event": "publication.ask", "digest": "…", "actor": {"kind": "user", "user": "alice", "token": null},
     "channel": "web", "reason": "…", "complete": true, "zones": [
       {"zone": "example.com.", "kind": "change", "revision": 8, "count": 1, "changes": [
        {"name": "www.example.com.", "type": "A", "before": null, "after": {"ttl": 300, …}}]}]}

A test question also contains `"test": true`. The digest covers everything, even changes that a long question omits, but
not serials, which change automatically.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any

from dnspanel.accounts.actors.actors import Author, actor_form_of
from dnspanel.zones.governance.parts import Part
from dnspanel.zones.models import PublishHook, RevisionKind, Zone
from dnspanel.zones.values import soa
from replication.dns import rdtypes
from replication.dns.rrset import Change, RRset

# The most that a question lists. Further changes are counted, and `complete` is then false.
MOST_CHANGES = 1_000
MOST_CHARACTERS = 500_000


@dataclass(frozen=True, slots=True)
class Question:
    """A question to one hook: the JSON in `body`, and the zones it is about (id → name)."""

    hook: PublishHook
    digest: str
    body: bytes
    zones: Mapping[int, str]


@dataclass(frozen=True, slots=True)
class HookAnswer:
    """A hook's answer. If no valid answer came in time, `allow` is None and `reason` says why.

    `fault` contains the details, with the hook's host, for people who govern the hook.
    """

    allow: bool | None
    reason: str = ""
    ticket: str = ""
    fault: str = field(default="", compare=False)
    ms: float = field(default=0.0, compare=False)

    @property
    def word(self) -> str:
        """The answer for the audit log and `HookReply`: yes, no or silent."""
        return "silent" if self.allow is None else "yes" if self.allow else "no"


@dataclass(frozen=True, slots=True)
class Publisher:
    actor: Mapping[str, Any]  # `actor_form`
    channel: str
    reason: str


def question_of(hook: PublishHook, parts: Sequence[tuple[Zone, Part]], publisher: Publisher) -> Question:
    """Return the question to a hook about parts of a publication. Changes beyond the limits are only counted.

    The hook must cover each zone or its parent zone.
    """
    told: list[dict[str, Any]] = []
    full = sha256()
    full.update(_json([publisher.actor, publisher.channel, publisher.reason]).encode())
    room, characters, complete = MOST_CHANGES, MOST_CHARACTERS, True
    for zone, part in parts:
        number = 1 if part.kind == RevisionKind.CREATE else zone.revision + 1
        head = {"zone": zone.name, "kind": part.kind, "revision": number}
        # For a change, the changes below are enough. For a deletion or restore, the revision determines the content.
        full.update(f"\n{_json({**head, 'revision': None if part.kind == RevisionKind.CHANGE else number})}".encode())
        listed, count = [], 0
        for change in _changes(part.changes):
            text = _json(change)
            full.update(f"\n{text}".encode())
            count += 1
            if room and characters >= len(text):
                listed.append(change)
                room, characters = room - 1, characters - len(text)
            else:
                complete, room = False, 0
        told.append({**head, "count": count, "changes": listed})
    digest = full.hexdigest()
    body = {
        "event": "publication.ask",
        "digest": digest,
        "actor": publisher.actor,
        "channel": publisher.channel,
        "reason": publisher.reason,
        "complete": complete,
        "zones": told,
    }
    zones = {zone.pk: zone.name for zone, _ in parts}
    return Question(hook, digest, _json(body).encode("utf-8", "replace"), zones)


def example_question(hook: PublishHook, author: Author) -> Question:
    """Return a test question about a zone that doesn't exist. It is used to check whether the hook answers."""
    after = {"ttl": 300, "rdata": ["192.0.2.1"], "disabled": [], "comment": ""}
    change = {"name": "www.example.com.", "type": "A", "before": None, "after": after}
    body = {
        "event": "publication.ask",
        "test": True,
        "digest": sha256(b"dnspanel: a test of a publish hook").hexdigest(),
        "actor": actor_form_of(author),
        "channel": "test",
        "reason": "A test: nothing is published.",
        "complete": True,
        "zones": [{"zone": "example.com.", "kind": "change", "revision": 2, "count": 1, "changes": [change]}],
    }
    return Question(hook, str(body["digest"]), _json(body).encode(), {})


def creation(rrsets: Iterable[RRset]) -> list[Change]:
    """Return a new zone's RRsets as changes, in a fixed order."""
    return sorted((Change(r.name, r.type, None, r) for r in rrsets), key=lambda change: change.key)


def _changes(changes: Iterable[Change]) -> Iterable[dict[str, Any]]:
    for change in changes:
        if not soa.same(change.before, change.after):
            yield {
                "name": change.name,
                "type": rdtypes.type_to_text(change.type),
                "before": _content(change.before),
                "after": _content(change.after),
            }


def _content(rrset: RRset | None) -> Any:
    """Return the RRset as JSON. Omit an SOA's serial, which isn't decided yet and can change while the hook answers."""
    if rrset is None:
        return None
    rrset = replace(rrset, notes=rrset.notes.without_spellings)
    return (soa.with_serial(rrset, soa.NO_SERIAL) if rrset.type == rdtypes.SOA else rrset).to_json()


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
