"""Find a publication that makes ring 0's PowerDNS fail, by querying each changed RRset.

A server that doesn't answer at all is no evidence, because it can just be down. The server must answer for the position
zone, before and after, and fail twice for an RRset that the publication changed. If only signatures or proofs are
invalid, as the agent reports after several checks, the cause is a change to the zone's signing. If no publication
changed the signing and the untouched part of the zone is valid, the cause is a change to the zone's content. In all
other cases no publication is the cause (`bogus_zones`).
"""

import contextlib
import copy
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

import dns.exception
import dns.rcode
from django.db.models import Max

from dnspanel.fleet.models import Isolation, Node
from dnspanel.fleet.rollout import bogus_zones, take_back
from dnspanel.texts import gettext
from dnspanel.zones.models import Change, Publication, Revision, RevisionKind, RRset, Zone
from dnspanel.zones.rules.neighbourhood import ancestors_within
from dnspanel.zones.store.stored_changes import rrset_after
from replication import verify
from replication.dns import names, rdata, rdtypes
from replication.errors import BadBytes, NotServed
from replication.store.applying import POSITION_ZONE
from replication.wire.position import Position, parse_position

# At most this many RRsets are queried, those of the newest publication first.
MOST_SUSPECTS = 400
# This many signed zones of a snapshot are validated, with this many RRsets of each.
MOST_ZONES = 64
MOST_IN_ZONE = 4
ASK_SECONDS = 1.0
# A PowerDNS that crashed is back within this time. Otherwise the query does not count as the cause of the crash.
BACK_SECONDS = 8.0
_PAUSE_SECONDS = 0.1
_TIMES = 2
_SERVFAIL = dns.rcode.to_text(dns.rcode.SERVFAIL)
_COMPUTED = frozenset({rdtypes.ALIAS, rdtypes.LUA})


@dataclass(frozen=True, slots=True)
class Suspect:
    """An RRset that a publication set, or deleted if `rdata` is empty."""

    sequence: int
    name: str
    type: int
    ttl: int = 0
    rdata: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.name} {rdata.type_to_text(self.type)}"

    @property
    def expectation(self) -> verify.Expectation:
        wires = frozenset(rdata.to_wire(self.type, text) for text in self.rdata)
        return verify.Expectation(self.name, self.type, self.ttl, wires)


def examine(*, node: Node, error: NotServed, now: datetime) -> Publication | None:
    """Find and revert the publication that ring 0 can't serve. Return the reverting publication.

    Return None if PowerDNS doesn't answer at all or now answers correctly, or if no publication is the cause.
    """
    server = _Server(str(node.dns_address), node.dns_port)
    position = server.position(BACK_SECONDS)
    if position is None:
        return None
    found = culprit(suspects(after=node.acked, up_to=position, accused=_accused_name(error)), error, server)
    if found is None:
        return _examine_signing(node, error, position, now)
    suspect, failure = found
    reason = gettext("PowerDNS failed to answer a query for {suspect}: {failure}.").format(
        failure=failure, suspect=suspect
    )
    return take_back.isolate(node=node, sequence=suspect.sequence, reason=reason, now=now)


def examine_snapshot(*, node: Node, position: Position, now: datetime) -> NotServed | None:
    """Check the data that ring 0 received in a snapshot and return the fault. If a publication is the cause, revert it.

    The RRsets that publications changed since ring 0's ack are checked, and the validation of changed signed zones. The
    agent itself checks only a sample of all zones and doesn't know publications. Return None if no fault is found, or
    if no publication is the cause and the zone needs no proof from now on. Also return None for a node that has never
    acknowledged anything, because no other node waits for it. Raise NotServed if PowerDNS doesn't answer.

    If a fault is returned, the caller must not acknowledge the snapshot, because other nodes would then get it. This
    also applies if nothing was reverted because the fault has been corrected.
    """
    if node.epoch is None:
        return None
    if node.epoch != position.epoch:  # the node has acknowledged nothing in this epoch
        first = Publication.objects.filter(epoch=position.epoch).order_by("sequence").values_list("sequence").first()
        node = copy.copy(node)
        node.acked = first[0] - 1 if first else position.sequence
    server = _Server(str(node.dns_address), node.dns_port)
    expected = gettext("the published data")
    question = gettext("the snapshot at sequence {sequence}").format(sequence=position.sequence)
    if server.position(BACK_SECONDS) is None:
        raise NotServed(question=question, expected=expected, found=gettext("none"))
    wrong_answer = NotServed(question=question, expected=expected, found=gettext("another sequence"))
    if blamed := culprit(suspects(after=node.acked, up_to=position.sequence), wrong_answer, server):
        suspect, failure = blamed
        reason = gettext("PowerDNS failed to answer a query for {suspect}: {failure}.").format(
            failure=failure, suspect=suspect
        )
        take_back.isolate(node=node, sequence=suspect.sequence, reason=reason, now=now)
        return NotServed(question=str(suspect), expected=expected, found=failure)
    found: NotServed | None = None
    passed = set(bogus_zones.names_of(node))
    for zone in _signed_and_changed(node, position.sequence):
        if zone.name in passed:
            continue
        questions = [*bogus_zones.questions_of(zone), *_changed_in(zone, node, position.sequence)]
        complaint = bogus_zones.complaint(node, zone, questions, now)
        if complaint is None:
            continue
        is_back = _examine_signing(node, complaint, position.sequence, now) is not None
        if is_back or not bogus_zones.let_pass(node=node, error=complaint, now=now, is_exhausted=True):
            found = found or complaint
    return found


def _signed_and_changed(node: Node, up_to: int) -> list[Zone]:
    """Return signed zones that publications since the node's ack have changed: the last MOST_ZONES, newest first."""
    since = Revision.objects.filter(publication__gt=node.acked, publication__lte=up_to, zone__deleted_at=None)
    newest = since.filter(zone__signing__is_signed=True).values("zone").annotate(last=Max("publication"))
    ids = [row["zone"] for row in newest.order_by("-last")[:MOST_ZONES]]
    zones = Zone.objects.in_bulk(ids)
    return [zones[id_] for id_ in ids]


def _changed_in(zone: Zone, node: Node, up_to: int) -> list[tuple[str, int]]:
    """Return (name, type) of RRsets changed since the ack, newest first: at most MOST_IN_ZONE, no computed types."""
    changes = Change.objects.filter(
        revision__zone=zone, revision__publication__gt=node.acked, revision__publication__lte=up_to
    ).exclude(type__in=_COMPUTED)
    return list(changes.order_by("-revision__publication").values_list("name", "type")[:MOST_IN_ZONE])


def _examine_signing(node: Node, error: NotServed, position: int, now: datetime) -> Publication | None:
    """Revert the publication that made the zone's signatures invalid. Return the reverting publication, or None.

    The cause is the publication that created or restored the zone, else the change of its signing, else its newest
    change that can be reverted. Nothing is reverted if untouched data is invalid too, or if the fault is gone.
    """
    zone = bogus_zones.zone_of(error)
    if zone is None:
        return None
    reason = gettext("{name} doesn’t validate: {error}.").format(name=zone.name, error=error)
    if (brought := bogus_zones.brought_by(node, zone)) is not None:
        return take_back.isolate(node=node, sequence=brought, reason=reason, now=now)
    inverse = take_back.isolate_signing(node=node, zone=zone, up_to=position, reason=reason, now=now)
    if inverse is not None or bogus_zones.fails_besides(node=node, zone=zone, now=now):
        return inverse
    if not bogus_zones.fails_still(node=node, zone=zone, error=error, now=now):
        return None
    return _take_back_newest(node, zone, position, reason, now)


def _take_back_newest(node: Node, zone: Zone, position: int, reason: str, now: datetime) -> Publication | None:
    """Revert the newest publication that changed the zone and can still be reverted. Return the revert, or None."""
    changed = Publication.objects.filter(
        sequence__gt=node.acked, sequence__lte=position, failed_reason="", revisions__zone=zone
    )
    inverses = Isolation.objects.filter(failed__gt=node.acked).values("inverse")
    for sequence in changed.exclude(sequence__in=inverses).order_by("-sequence").values_list("sequence", flat=True):
        if inverse := take_back.isolate(node=node, sequence=sequence, reason=reason, now=now):
            return inverse
    return None


def culprit(found: Sequence[Suspect], error: NotServed, server: "_Server") -> tuple[Suspect, str] | None:
    """Return the first suspect that fails, and its failure, or None. The RRset in the agent's error is queried first.

    One unreadable row makes PowerDNS answer SERVFAIL for every type at the row's name. In this case, the name's newest
    change is queried first, not the type that the agent happened to query.
    """
    accused, is_of_name = _accused_name(error), error.found == _SERVFAIL
    order = sorted(found, key=lambda each: (each.name != accused, not is_of_name and str(each) != error.question))
    for suspect in order:
        is_accused = str(suspect) == error.question
        if failure := server.failure(suspect, must_equal=is_accused):
            return suspect, failure
    return None


def suspects(*, after: int, up_to: int, accused: str = "") -> list[Suspect]:
    """Return the RRsets changed by publications after `after`, up to and including `up_to`: the newest MOST_SUSPECTS.

    Each RRset appears once, as last set or deleted, because this is the answer that the server should give. RRsets at
    the `accused` name are included first.
    """
    found: dict[tuple[str, int], Suspect] = {}
    of_name = (
        [*_suspects_of_changes(after, up_to, accused), *_suspects_of_new_zones(after, up_to, accused)]
        if accused
        else []
    )
    every = [*_suspects_of_changes(after, up_to), *_suspects_of_new_zones(after, up_to)]
    for some in (of_name, every):
        for suspect in sorted(some, key=lambda each: -each.sequence):
            found.setdefault((suspect.name, suspect.type), suspect)
    return list(found.values())[:MOST_SUSPECTS]


def _accused_name(error: NotServed) -> str:
    """Return the name that the agent queried, or "" if the error is about something else."""
    name = error.question.partition(" ")[0]
    return name if name.endswith(".") else ""


def _suspects_of_changes(after: int, up_to: int, name: str = "") -> Iterator[Suspect]:
    changes = Change.objects.filter(
        revision__publication__gt=after, revision__publication__lte=up_to, revision__kind=RevisionKind.CHANGE
    )
    if name:
        changes = changes.filter(name=name)
    for change in changes.select_related("revision").order_by("-revision__publication")[:MOST_SUSPECTS]:
        rrset = rrset_after(change)
        if change.type not in _COMPUTED:
            ttl, served = (rrset.ttl, rrset.served) if rrset else (0, ())
            yield Suspect(change.revision.publication_id, change.name, change.type, ttl, served)


def _suspects_of_new_zones(after: int, up_to: int, name: str = "") -> Iterator[Suspect]:
    """Yield the RRsets of created or restored zones that no publication after `after` has changed."""
    kinds = (RevisionKind.CREATE, RevisionKind.RESTORE)
    revisions = Revision.objects.filter(
        publication__gt=after, publication__lte=up_to, kind__in=kinds, zone__deleted_at=None
    )
    if name:
        revisions = revisions.filter(zone__name__in=[name, *ancestors_within(name, names.ROOT)])
    of_zone = dict(revisions.order_by("-publication").values_list("zone_id", "publication_id")[:MOST_SUSPECTS])
    since = Change.objects.filter(revision__publication__gt=after, revision__zone__in=list(of_zone))
    changed = set(since.values_list("name", "type"))
    rrsets = RRset.objects.filter(zone__in=list(of_zone), **({"name": name} if name else {}))
    for rrset in rrsets.exclude(type__in=_COMPUTED)[:MOST_SUSPECTS]:
        if (rrset.name, rrset.type) in changed:
            continue
        served = tuple(text for text in rrset.rdata if text not in rrset.disabled)
        yield Suspect(of_zone[rrset.zone_id], rrset.name, rrset.type, rrset.ttl, served)


class _Server:
    """The PowerDNS of ring 0, queried over DNS."""

    def __init__(self, address: str, port: int) -> None:
        self._address, self._port = address, port

    def position(self, seconds: float) -> int | None:
        """Return the sequence in the server's answer for the position zone, or None if no answer arrives in time."""
        deadline = time.monotonic() + seconds
        while True:
            with contextlib.suppress(NotServed, OSError, dns.exception.DNSException, BadBytes):
                answer = verify.ask(self._address, self._port, POSITION_ZONE, rdtypes.TXT, ASK_SECONDS)
                for rrset in answer.answer:
                    return parse_position(b"".join(rrset[0].strings).decode("ascii", "replace")).sequence
            if time.monotonic() > deadline:
                return None
            time.sleep(_PAUSE_SECONDS)

    def failure(self, suspect: Suspect, *, must_equal: bool) -> str:
        """Query this RRset several times. Return the last failure if every query fails, or else "".

        The result is also "" if the server doesn't answer for the position zone either. Wrong content counts only if
        `must_equal` is True: the agent, which knows the right answers for delegations and wildcards, reported this
        RRset.
        """
        failure = ""
        for _ in range(_TIMES):
            failure = self._fails(suspect.expectation, must_equal=must_equal)
            if not failure or self.position(BACK_SECONDS) is None:
                return ""
        return failure

    def _fails(self, expectation: verify.Expectation, *, must_equal: bool) -> str:
        try:
            answer = verify.ask(self._address, self._port, expectation.name, expectation.type, ASK_SECONDS)
        except (NotServed, OSError, dns.exception.DNSException):
            return gettext("no answer")
        if answer.rcode() == dns.rcode.SERVFAIL:
            return gettext("SERVFAIL")
        difference = expectation.difference(answer) if must_equal else None
        return gettext("wrong answer ({difference})").format(difference=difference) if difference else ""
