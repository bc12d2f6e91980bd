"""Return the response to a write: the publication and its progress. Delay it if the client asked to wait."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import F, QuerySet, Window
from django.db.models.functions import RowNumber
from django.http import HttpResponse
from django.utils import timezone
from rest_framework.request import Request

from dnspanel import rehearsal
from dnspanel.accounts.actors.actors import Actor, Permission, Right, actor_form
from dnspanel.api.v2.http.answers import actor_in, answer
from dnspanel.api.v2.http.dry_run import plans_answer
from dnspanel.api.v2.http.problems import bad_choice, bad_number
from dnspanel.api.v2.http.representation import moved_json, publication_url, time_json, violation_json
from dnspanel.api.v2.http.visibility import filter_visible
from dnspanel.api.waiting import LONGEST_WAIT, proofs_of, wait_for_nodes
from dnspanel.fleet.models import Node, NodeState
from dnspanel.fleet.reads.arrivals import arrivals
from dnspanel.secondaries.arrival import secondaries_lacking
from dnspanel.zones.models import Publication, Revision, RevisionKind
from dnspanel.zones.names import nesting
from dnspanel.zones.plan.plan import ZonePlan
from dnspanel.zones.publishing import pieces
from dnspanel.zones.publishing.failed import raise_if_taken_back
from dnspanel.zones.publishing.zone_patches import Outcome
from dnspanel.zones.rights.access import may_know_author, visibility_of, zones_within_reach
from replication.dns import rdata

MOST_ZONES = 100
_PREFER_WAIT = re.compile(r'(?:^|[,;])\s*wait\s*=\s*"?([0-9]{1,5})"?\s*(?=$|[,;])', re.IGNORECASE)


def answer_outcome(
    request: Request,
    outcome: Outcome,
    *,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    extensions: Mapping[str, Any] | None = None,
) -> HttpResponse:
    """Return the response to a write with zones and warnings, or a dry run's plans. See `answer_publication`."""
    if (rehearsed := rehearsal.under_way()) is not None:
        return plans_answer(request, rehearsed, {})
    zones = [moved_json(plan) for plan in outcome.plans]
    if outcome.publication is not None and not outcome.plans:  # published by an earlier attempt
        zones = moved_by(outcome.publication, actor_in(request))
    body = {"zones": zones, "warnings": _warnings(outcome.plans, actor_in(request)), **(extensions or {})}
    changed = [plan for plan in outcome.plans if plan.changes]
    published = [
        published_zone_json(plan.zone.name, plan.zone.revision + 1, plan.serial, RevisionKind.CHANGE)
        for plan in sorted(changed, key=lambda plan: plan.zone.name)[:MOST_ZONES]
    ]
    return answer_publication(
        request, outcome.publication, body, status=status, headers=headers, zones=published or None
    )


def answer_publication(
    request: Request,
    publication: Publication | None,
    body: Mapping[str, Any],
    *,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    zones: list[dict[str, Any]] | None = None,
) -> HttpResponse:
    """Return a response with this publication. The status is 202 while a node doesn't have it yet, otherwise `status`.

    With `wait_for=all`, secondaries count too. `zones` are the published zones if the caller knows them. If nothing was
    published, the status is 200. In a dry run, return the plans instead. If the client waits, raise TakenBack as soon
    as the publication is reverted.
    """
    if (rehearsed := rehearsal.under_way()) is not None:
        refusals = {"refusals": body["outcome"]["refusals"]} if "outcome" in body else {}
        return plans_answer(request, rehearsed, refusals)
    named = dict(headers or {})
    body = {"publications": sequences_of(publication), **body}
    if publication is None:
        return answer({"publication": None, **body}, 200, headers=named)
    seconds, with_secondaries = requested_wait(request), waits_for_secondaries(request)
    if seconds is not None:
        waited = wait_for_nodes(publication, seconds, with_secondaries=with_secondaries)
        # Retry-After shows that the request did not wait at all, unlike after a timeout.
        named |= {"Retry-After": "1"} if waited is None else {"Preference-Applied": f"wait={seconds}"}
    published = publication_json(
        publication,
        actor_in(request),
        timezone.now(),
        is_new=not seconds,
        zones=zones,
        with_secondaries=with_secondaries,
    )
    named.setdefault("Location", publication_url(publication.sequence))
    has_arrived = published["everywhere"] and published["at_secondaries"] is not False
    return answer({"publication": published, **body}, status if has_arrived else 202, headers=named)


def accepted_before(request: Request, form_id: UUID) -> HttpResponse | None:
    """Return the response to a retry if an earlier attempt published the change. Otherwise, return None.

    Raise TakenBack if the publication has been reverted since then.
    """
    publication = Publication.objects.select_related("author", "token").filter(form_id=form_id).first()
    if publication is None:
        return None
    raise_if_taken_back(publication)
    body = {"zones": moved_by(publication, actor_in(request)), "warnings": []}
    return answer_publication(request, publication, body, headers={"Idempotency-Replayed": "true"})


def requested_wait(request: Request) -> int | None:
    """Return the seconds to wait (`wait` or `Prefer`), or None if both are missing. Raise Problem for a bad `wait`."""
    typed = request.query_params.get("wait")
    if typed is not None:
        if not (typed.isascii() and typed.isdecimal() and len(typed) < 4 and int(typed) <= LONGEST_WAIT):
            raise bad_number("wait", typed, f"`wait` must be a whole number of seconds from 0 to {LONGEST_WAIT:.0f}.")
        return int(typed)
    preferred = _PREFER_WAIT.search(request.headers.get("Prefer", ""))  # an invalid preference is ignored
    return min(int(preferred[1]), int(LONGEST_WAIT)) if preferred else None


def waits_for_secondaries(request: Request) -> bool:
    """Return True if the client also waits for secondaries (`wait_for=all`). Raise Problem if the value is unknown."""
    word = str(request.query_params.get("wait_for", "nodes"))
    if word not in ("nodes", "all"):
        raise bad_choice("wait_for", word, ("nodes", "all"))
    return word == "all"


def publication_json(
    publication: Publication,
    actor: Actor,
    now: datetime,
    *,
    is_new: bool = False,
    zones: list[dict[str, Any]] | None = None,
    with_secondaries: bool = False,
) -> dict[str, Any]:
    """Return a publication with its state on each node. If `is_new` is True, no node can have confirmed it yet.

    Nodes and secondaries are named only if the actor is allowed to see nodes. Otherwise, they are only counted.
    """
    lacking = secondaries_lacking(publication) if with_secondaries else []
    may_name = Permission.FLEET in actor.permissions
    nodes = _reach_json(publication, now, is_new=is_new) if may_name else None
    answering = [node["state"] == "answers" for node in nodes] if nodes is not None else proofs_of(publication)
    return {
        **listed_publication_json(publication, actor),
        "zones": published_zones(publication, actor) if zones is None else zones,
        "everywhere": bool(answering) and all(answering),
        "reached": sum(answering),
        "of": len(answering),
        "nodes": nodes,
        "at_secondaries": not lacking if with_secondaries else None,
        "secondaries_lacking": [one.text for one in lacking] if with_secondaries and may_name else None,
    }


def listed_publication_json(publication: Publication, actor: Actor) -> dict[str, Any]:
    """Return a publication's JSON form for a list. The caller must have loaded the author and the token.

    Author, token and reason are included only if the actor is allowed to see them.
    """
    knows = may_know_author(actor, publication.token_id)
    username = publication.author.username if publication.author else None
    return {
        "sequence": publication.sequence,
        "epoch": str(publication.epoch),
        "at": time_json(publication.at),
        "actor": actor_form(username, publication.token) if knows else None,
        "channel": str(publication.channel),
        "reason": publication.reason if knows else "",
        "url": publication_url(publication.sequence),
        "part_of": publication.part_of,
        "taken_back": _taken_back_json(publication, actor),
    }


def _taken_back_json(publication: Publication, actor: Actor) -> dict[str, Any] | None:
    """Return a reversal's time, sequence and reason ("" if the actor can't see it), or None without a reversal."""
    if not publication.failed_reason:
        return None
    return {
        "at": None if publication.failed_at is None else time_json(publication.failed_at),
        "sequence": publication.taken_back_in,
        "reason": publication.failed_reason if may_know_reason(publication, actor) else "",
    }


def may_know_reason(publication: Publication, actor: Actor) -> bool:
    """Return True if the actor is allowed to read the reason why a publication was reverted.

    The reason can contain an RRset from any of the publication's zones.
    """
    if actor.token is not None and actor.token.pk == publication.token_id:
        return True
    if not may_know_author(actor, publication.token_id):
        return False
    revisions = Revision.objects.filter(publication=publication.sequence)
    return actor.may_everywhere(Right.READ) or visible_revisions(publication, actor).count() == revisions.count()


def published_zones(publication: Publication, actor: Actor) -> list[dict[str, Any]]:
    """Return at most MOST_ZONES of the publication's zones that are visible to the actor, including deleted zones."""
    rows = visible_revisions(publication, actor).values_list("zone__name", "number", "serial", "kind")
    return [published_zone_json(*row) for row in rows[:MOST_ZONES]]


def published_zone_json(zone: str, revision: int, serial: int, kind: str) -> dict[str, Any]:
    """Return the JSON form of a zone's revision in a publication."""
    return {"zone": zone, "revision": revision, "serial": serial, "kind": kind}


def shadowed_json(publication: Publication, actor: Actor) -> list[dict[str, str]]:
    """Return up to MOST_ZONES published RRsets that nodes don't serve, because another zone answers for their names."""
    revisions = list(visible_revisions(publication, actor).select_related("zone")[:MOST_ZONES])
    found = nesting.shadowed_by_publication(revisions)
    visible = {one.zone.pk: visibility_of(actor, one.zone) for one in found}
    return [
        {"zone": one.zone.name, "name": one.name, "type": rdata.type_to_text(one.type), "answering_zone": one.by}
        for one in found
        if filter_visible([one], visible[one.zone.pk])
    ][:MOST_ZONES]


def sequences_of(publication: Publication | None) -> list[int]:
    """Return the sequences of all publications in the write that ended with `publication`, or [] if it is None."""
    if publication is None or publication.part_of is None:
        return [] if publication is None else [publication.sequence]
    return [part.sequence for part in pieces.parts_of(publication)]


def moved_by(publication: Publication, actor: Actor) -> list[dict[str, Any]]:
    """Return the new revision and serial of each visible zone changed by the write that ended with `publication`.

    This is for callers that no longer have the write's plans. The result has at most MOST_ZONES zones.
    """
    names = ("zone__name", "number", "serial", "added", "changed", "removed")
    keys = ("zone", "revision", "serial", "added", "changed", "removed")
    found: dict[str, dict[str, Any]] = {}
    for part in pieces.parts_of(publication):
        for row in visible_revisions(part, actor).values_list(*names)[:MOST_ZONES]:
            moved = dict(zip(keys, row, strict=True))
            before = found.get(moved["zone"], {})
            counts = {key: moved[key] + before.get(key, 0) for key in ("added", "changed", "removed")}
            found[moved["zone"]] = moved | counts
    return list(found.values())[:MOST_ZONES]


def zones_of_publications(publications: Sequence[Publication], actor: Actor) -> dict[int, dict[str, Any]]:
    """Return each publication's first visible zones and the flag `more_zones`, keyed by sequence. Uses one query."""
    sequences = [publication.sequence for publication in publications]
    ranked = _seen_by(actor, Revision.objects.filter(publication__in=sequences)).annotate(
        place=Window(RowNumber(), partition_by=F("publication_id"), order_by=["zone__name", "zone_id"])
    )
    rows = ranked.filter(place__lte=MOST_ZONES + 1).order_by("publication_id", "place")
    found: dict[int, dict[str, Any]] = {sequence: {"zones": [], "more_zones": False} for sequence in sequences}
    columns = ("publication_id", "zone__name", "number", "serial", "kind")
    for sequence, zone, number, serial, kind in rows.values_list(*columns):
        of_one = found[sequence]
        if len(of_one["zones"]) == MOST_ZONES:
            of_one["more_zones"] = True
        else:
            of_one["zones"].append(published_zone_json(zone, number, serial, kind))
    return found


def visible_revisions(publication: Publication, actor: Actor) -> "QuerySet[Revision]":
    """Return the publication's revisions that are visible to the actor, sorted by zone name."""
    return _seen_by(actor, Revision.objects.filter(publication=publication.sequence)).order_by("zone__name", "zone_id")


def _seen_by(actor: Actor, revisions: "QuerySet[Revision]") -> "QuerySet[Revision]":
    if actor.may_everywhere(Right.READ):
        return revisions
    return revisions.filter(zone__in=zones_within_reach(actor, Right.READ))


def _reach_json(publication: Publication, now: datetime, *, is_new: bool) -> list[dict[str, Any]]:
    if is_new:
        active = Node.objects.filter(state=NodeState.ACTIVE, is_ring0=False)
        names = active.order_by("name").values_list("name", flat=True)
        return [{"node": name, "state": "pending", "reached_at": None, "ms": None, "detail": ""} for name in names]
    return [
        {
            "node": one.node.name,
            "state": "answers" if one.has_it else "pending",
            "reached_at": None if one.arrived_at is None else time_json(one.arrived_at),
            "ms": None if one.ms is None else round(one.ms, 3),
            "detail": one.message,
        }
        for one in arrivals(publication, now=now)
    ]


def _warnings(plans: Sequence[ZonePlan], actor: Actor) -> list[dict[str, Any]]:
    """Return the visible rule violations that don't prevent the change."""
    return [
        violation_json(violation)
        for plan in plans
        if plan.violations
        for violation in filter_visible(plan.violations, visibility_of(actor, plan.zone))
    ]
