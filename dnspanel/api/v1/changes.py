"""Parse a PATCH, or a PUT with RRsets, into a patch. Error messages are worded like PowerDNS's."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from dnspanel.api.v1.attributes import Comment, CommentKey, comment_text
from dnspanel.api.v1.content import content_for_client
from dnspanel.api.v1.rrsets import RRsetInput, read_key, read_rrset, title
from dnspanel.api.v1.view import Refusal, text_in
from dnspanel.zones.errors import RuleViolations
from dnspanel.zones.models import Zone
from dnspanel.zones.plan.merge import Changes
from dnspanel.zones.publishing import zone_patches
from dnspanel.zones.rules.violations import Severity, Violation
from replication.dns import names, rdata, rdtypes
from replication.dns.rrset import RRset, notes_of_values

DEFAULT_TTL = 3600  # PowerDNS's `default-ttl`


@dataclass(frozen=True, slots=True)
class PatchAndComments:
    """A patch and its RRsets' full comment lists. The patch itself has only one comment per RRset."""

    patch: zone_patches.Patch
    comments: Mapping[CommentKey, Sequence[Comment]]


def read_patch(body: Mapping[str, Any], zone: Zone, now: datetime) -> PatchAndComments:
    """Parse the body of a PATCH. Raise Refusal (422) if any part is invalid.

    Deletions of the zone's SOA, and of RRsets outside the zone, have no effect.
    """
    rrsets = body.get("rrsets")
    if not isinstance(rrsets, list):
        raise Refusal(422, "No rrsets given in update request")
    steps: list[tuple[tuple[str, int], zone_patches.Step]] = []
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
            continue  # it cannot exist, so nothing is left to delete
        says_what = changetype != "DELETE"
        rrset_input = read_rrset(value, key, zone.name, now) if says_what else RRsetInput(*key, None, None, ())
        step = reader(rrset_input)
        steps.append((key, _unless_lost(step) if key == (zone.name, rdtypes.SOA) else step))
        if rrset_input.comments is not None:
            comments[key] = rrset_input.comments
    return PatchAndComments(zone_patches.patch_of_steps(zone, steps), comments)


def read_content_of_zone(rrsets: Sequence[Any], zone: Zone, now: datetime) -> PatchAndComments:
    """Return the changes that make these RRsets the zone's only ones.

    Raise Refusal (422) if an RRset is invalid, or if the SOA is missing.
    """
    inputs = read_rrsets(rrsets, zone.name, now)
    if not any(each.records and each.key == (zone.name, rdtypes.SOA) for each in inputs):
        raise Refusal(422, f"Must give SOA record for zone {zone.name} when replacing all of its RRsets")

    def decide(current: zone_patches.CurrentRRsets) -> Changes:
        results: dict[tuple[str, int], RRset | None] = dict.fromkeys(current)
        for each in inputs:
            results[each.key] = _replacement(each)(current.get(each.key))
        return results

    comments = {each.key: each.comments for each in inputs if each.comments is not None}
    return PatchAndComments(zone_patches.Patch(zone, decide, None), comments)


def read_rrsets(rrsets: Sequence[Any], zone: str, now: datetime) -> list[RRsetInput]:
    """Parse all RRsets of a zone. Raise Refusal (422) if an RRset is invalid or occurs twice."""
    inputs: dict[tuple[str, int], RRsetInput] = {}
    for value in rrsets:
        value = value if isinstance(value, dict) else {}
        each = read_rrset(value, read_key(value), zone, now)
        if each.key in inputs:
            raise Refusal(422, f"Duplicate {each.title}")
        inputs[each.key] = each
    return list(inputs.values())


def _unless_lost(step: zone_patches.Step) -> zone_patches.Step:
    """Return a step that keeps the current RRset if the given step would delete it. Used for the zone's SOA.

    PowerDNS deletes the SOA and then stops serving the zone. Some clients delete all records that they don't list, even
    the SOA (DNSControl without `SOA()`, Terraform's destroy). They would treat a rejection as a failure. RFC 2136,
    section 3.4.2.4, also ignores such a deletion.
    """
    return lambda current: step(current) or current


def _replacement(given: RRsetInput) -> zone_patches.Step:
    """Return the step for REPLACE. It sets the RRset, or only its comment if the client sent no record list.

    An empty record list deletes the RRset. Raise Refusal (422) if both lists are missing, or if records have no TTL.
    """
    if given.records is None and given.comments is None:
        raise Refusal(422, f"No change for {given.title}")
    text = None if given.comments is None else comment_text(given.comments)
    if given.records is None:
        return lambda current: _set_comment(given, current, text or "")
    if not given.records:
        return zone_patches.remove_rrset
    if given.ttl is None:
        raise Refusal(422, "Key 'ttl' not an Integer or not present")
    made = given.rrset(given.ttl, text or "")
    if text is not None:
        return lambda current: made if current is None else with_its_notes(made, current)
    return lambda current: made if current is None else with_its_comment(made, current)


def with_its_comment(made: RRset, current: RRset) -> RRset:
    """Return the new RRset with the current comment, tags and value comments. Used if the client sent no comments."""
    commented = made if made.comment == current.comment else replace(made, comment=current.comment)
    return with_its_notes(commented, current)


def with_its_notes(made: RRset, current: RRset) -> RRset:
    """Return the new RRset with the current tags and the comments of unchanged values, because PowerDNS has neither.

    If the client sends a value in its displayed form, this form replaces the stored spelling. Otherwise, the
    publication would keep the stored spelling, as it does for clients that don't send spellings.
    """
    if not current.notes:
        return made
    plain = {value: content_for_client(made.type, value) for value, _ in current.notes.spellings if value in made.rdata}
    notes = notes_of_values(current.notes, made.type, made.rdata)
    return replace(made, notes=notes.with_spellings(plain | dict(made.notes.spellings)))


def _set_comment(given: RRsetInput, current: RRset | None, text: str) -> RRset | None:
    if current is None:
        if text:
            raise Refusal(422, f"{given.title}: there are no records that a comment could stand at")
        return None
    return replace(current, comment=text)


def _extension(given: RRsetInput) -> zone_patches.Step:
    """Return the EXTEND step, which adds one record to an RRset and keeps its TTL.

    Raise Refusal (422) unless exactly one record is given.
    """
    made = _one_record(given).rrset(DEFAULT_TTL if given.ttl is None else given.ttl, comment_text(given.comments or ()))
    return zone_patches.add_records(made)


def _pruning(given: RRsetInput) -> zone_patches.Step:
    """Return the PRUNE step, which removes a record. Raise Refusal (422) unless exactly one record is given."""
    return zone_patches.without(tuple(_one_record(given).records or ()))


def _one_record(given: RRsetInput) -> RRsetInput:
    if given.records is None or len(given.records) != 1:
        raise Refusal(422, f"{given.title}: exactly one record must be given")
    return given


_CHANGES: dict[str, Callable[[RRsetInput], zone_patches.Step]] = {
    "REPLACE": _replacement,
    "DELETE": lambda given: zone_patches.remove_rrset,
    "EXTEND": _extension,
    "PRUNE": _pruning,
}


@contextmanager
def named_violations(beside: str = "pre-existing") -> Iterator[None]:
    """Convert RuleViolations within the block to a Refusal (422) for the first error, or else the first warning.

    `beside` describes the RRset that a rejected RRset conflicts with.
    """
    try:
        yield
    except RuleViolations as exc:
        worst = next((v for v in exc.violations if v.severity == Severity.ERROR), exc.violations[0])
        raise Refusal(422, _describe(worst, beside)) from exc


def _describe(violation: Violation, beside: str) -> str:
    subject = title(violation.name, violation.type)
    if violation.code in _CLASHES:
        return f"{subject}: Conflicts with {beside} RRset: {violation.message}"
    if violation.code == "dname-beside-ns":
        return f"{subject}: Cannot have both NS and DNAME except in zone apex"
    if violation.code == "not-in-zone":
        return f"{subject}: Name is out of zone"
    if violation.code in _ONLY_AT_APEX:
        return f"Record {violation.name} IN {rdata.type_to_text(violation.type)} is only allowed at apex"
    if violation.code == "ds-at-apex":
        return f"Record {violation.name} IN DS is not allowed at apex"
    if violation.code.endswith("-single"):
        return f"{subject} has more than one record"
    return f"{subject}: {violation.message}"


_ONLY_AT_APEX = frozenset(("soa-not-apex", "dnskey-not-apex"))
_CLASHES = frozenset(("cname-alone", "cname-at-apex", "alias-beside", "dname-below"))
