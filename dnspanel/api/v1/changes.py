"""What a PATCH, or a PUT with RRsets, asks for, as a patch; and its refusal in PowerDNS's words."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from dnspanel.api.v1.attributes import Comment, CommentKey, comment_text
from dnspanel.api.v1.rrsets import Said, read_key, read_rrset, title
from dnspanel.api.v1.view import Refusal, text_in
from dnspanel.zones.direct import Changes, CurrentRRsets, Patch, Step, extended, patch_of_steps, removed, without
from dnspanel.zones.errors import RuleViolations
from dnspanel.zones.models import Zone
from dnspanel.zones.rules import Severity, Violation
from replication.dns import names, rdtypes
from replication.dns.rrset import RRset

DEFAULT_TTL = 3600  # PowerDNS's `default-ttl`


@dataclass(frozen=True, slots=True)
class Asked:
    """A patch, and the comments in full that stand beside the texts which it publishes."""

    patch: Patch
    comments: Mapping[CommentKey, Sequence[Comment]]


def read_patch(body: Mapping[str, Any], zone: Zone, now: datetime) -> Asked:
    """What the body of a PATCH asks for; raises Refusal (422), and then nothing of it is done."""
    rrsets = body.get("rrsets")
    if not isinstance(rrsets, list):
        raise Refusal(422, "No rrsets given in update request")
    steps: list[tuple[tuple[str, int], Step]] = []
    comments: dict[CommentKey, Sequence[Comment]] = {}
    seen = set()
    for value in rrsets:
        value = value if isinstance(value, dict) else {}
        changetype = text_in(value, "changetype").upper()
        key = read_key(value)
        reader = _CHANGES.get(changetype)
        if reader is None:
            raise Refusal(422, "Changetype not understood")
        if (key, changetype) in seen and changetype in {"DELETE", "REPLACE"}:
            raise Refusal(422, f"Duplicate {title(*key)} with changetype: {changetype}")
        seen.add((key, changetype))
        if changetype == "DELETE" and not names.is_within(key[0], zone.name):
            continue  # it is not there, as wanted
        said = Said(*key, None, None, ()) if changetype == "DELETE" else read_rrset(value, zone.name, now)
        steps.append((key, reader(said)))
        if said.comments is not None:
            comments[key] = said.comments
    return Asked(patch_of_steps(zone, steps), comments)


def read_content_of_zone(rrsets: Sequence[Any], zone: Zone, now: datetime) -> Asked:
    """The zone is to hold exactly these RRsets. Raises Refusal (422)."""
    said = said_once(rrsets, zone.name, now)
    if not any(each.records and each.key == (zone.name, rdtypes.SOA) for each in said):
        raise Refusal(422, f"Must give SOA record for zone {zone.name} when replacing all of its RRsets")

    def decide(there: CurrentRRsets) -> Changes:
        wanted: dict[tuple[str, int], RRset | None] = dict.fromkeys(there)
        for each in said:
            wanted[each.key] = _replacement(each)(there.get(each.key))
        return wanted

    comments = {each.key: each.comments for each in said if each.comments is not None}
    return Asked(Patch(zone, decide, None), comments)


def said_once(rrsets: Sequence[Any], zone: str, now: datetime) -> list[Said]:
    """What is said of each RRset of a whole zone; raises Refusal (422), also for one that comes twice."""
    said: dict[tuple[str, int], Said] = {}
    for value in rrsets:
        each = read_rrset(value if isinstance(value, dict) else {}, zone, now)
        if each.key in said:
            raise Refusal(422, f"Duplicate {each.title}")
        said[each.key] = each
    return list(said.values())


def _replacement(said: Said) -> Step:
    """REPLACE: records, comments or both; no records means that the RRset goes."""
    if said.records is None and said.comments is None:
        raise Refusal(422, f"No change for {said.title}")
    text = None if said.comments is None else comment_text(said.comments)
    if said.records is None:
        return lambda now: _commented(said, now, text or "")
    if not said.records:
        return removed
    if said.ttl is None:
        raise Refusal(422, "Key 'ttl' not an Integer or not present")
    made = said.rrset(said.ttl, text or "")
    if text is not None:
        return lambda now: made
    return lambda now: made if now is None else said_comment_stays(made, now)


def said_comment_stays(made: RRset, now: RRset) -> RRset:
    """The new records with the comment that the RRset has: a client that says nothing of comments loses none."""
    return RRset(made.name, made.type, made.ttl, made.rdata, made.disabled, now.comment)


def _commented(said: Said, now: RRset | None, text: str) -> RRset | None:
    if now is None:
        if text:
            raise Refusal(422, f"{said.title}: there are no records that a comment could stand at")
        return None
    return RRset(now.name, now.type, now.ttl, now.rdata, now.disabled, text)


def _extension(said: Said) -> Step:
    """EXTEND: one record is there besides the others; their TTL stays."""
    made = _one_record(said).rrset(DEFAULT_TTL if said.ttl is None else said.ttl, comment_text(said.comments or ()))
    return extended(made)


def _pruning(said: Said) -> Step:
    """PRUNE: one record is not there any more."""
    return without(tuple(_one_record(said).records or ()))


def _one_record(said: Said) -> Said:
    if said.records is None or len(said.records) != 1:
        raise Refusal(422, f"{said.title}: exactly one record must be given")
    return said


_CHANGES: dict[str, Callable[[Said], Step]] = {
    "REPLACE": _replacement,
    "DELETE": lambda said: removed,
    "EXTEND": _extension,
    "PRUNE": _pruning,
}


@contextmanager
def named_violations(beside: str = "pre-existing") -> Iterator[None]:
    """Broken rules become a Refusal (422) that names the first RRset at fault."""
    try:
        yield
    except RuleViolations as exc:
        worst = next((v for v in exc.violations if v.severity == Severity.ERROR), exc.violations[0])
        raise Refusal(422, _in_words(worst, beside)) from exc


def _in_words(violation: Violation, beside: str) -> str:
    said = title(violation.name, violation.type)
    if violation.code in _CLASHES:
        return f"{said}: Conflicts with {beside} RRset: {violation.message}"
    if violation.code == "dname-beside-ns":
        return f"{said}: Cannot have both NS and DNAME except in zone apex"
    if violation.code == "not-in-zone":
        return f"{said}: Name is out of zone"
    if violation.code == "soa-not-apex":
        return f"Record {violation.name} IN SOA is only allowed at apex"
    if violation.code.endswith("-single"):
        return f"{said} has more than one record"
    return f"{said}: {violation.message}"


_CLASHES = frozenset(("cname-alone", "cname-at-apex", "alias-beside", "dname-below"))
