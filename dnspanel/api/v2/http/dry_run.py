"""Rehearse a write (`dry_run=true`) and describe its effects in the response.

A dry run fails with the same errors as the write. The exception is a write that needs `confirm`: the dry run succeeds,
and the response lists the reasons in `reasons`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import wraps
from http import HTTPStatus
from typing import Any

from django.http import HttpResponse
from rest_framework.request import Request

from dnspanel import rehearsal
from dnspanel.accounts.actors.actors import Actor, Right
from dnspanel.api.v2.http.answers import actor_in, answer
from dnspanel.api.v2.http.parameters import flag_in
from dnspanel.api.v2.http.problems import problem_of
from dnspanel.api.v2.http.representation import change_json, plan_json
from dnspanel.api.v2.http.visibility import filter_visible
from dnspanel.zones.errors import GuardHolds
from dnspanel.zones.log.sequence_log import NewRevision
from dnspanel.zones.models import RevisionKind
from dnspanel.zones.plan.plan import ZonePlan
from dnspanel.zones.publishing.revision import guarded_zones
from dnspanel.zones.rights.access import visibility_of, zones_within_reach
from dnspanel.zones.store.store_rrsets import rrsets_of_zones
from replication.dns.rrset import Change

# If created, restored and deleted zones have more RRsets than this in total, their RRsets are not listed.
MOST_CONTENT = 1_000
_MOVING = frozenset({RevisionKind.CREATE, RevisionKind.RESTORE, RevisionKind.DELETE})


def is_dry_run(request: Request) -> bool:
    """Return True if the request is a dry run. Raise Problem unless the parameter is `true` or `false`."""
    return flag_in(request, "dry_run", default=False)


def rehearse_writes(do: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Wrap a view's method so that its writes are rolled back after it has returned a response.

    The status is always 200. If the response has no content, it is replaced with the plans.
    """

    @wraps(do)
    def rehearse(request: Request, *args: Any, **kwargs: Any) -> HttpResponse:
        with rehearsal.rehearse() as under_way:
            response = do(request, *args, **kwargs)
            if response.status_code == HTTPStatus.NO_CONTENT:
                response = plans_answer(request, under_way, {})
        response.status_code = HTTPStatus.OK
        del response["Location"]  # the resource was not created
        return response

    return rehearse


def plans_answer(request: Request, rehearsed: rehearsal.Rehearsal, more: Mapping[str, Any]) -> HttpResponse:
    """Return a response with the rehearsed write's plans and the reasons for requiring confirmation."""
    actor = actor_in(request)
    plans = rehearsed.notes_of(ZonePlan)
    planned = {plan.zone.pk for plan in plans}
    others = [each for each in rehearsed.notes_of(NewRevision) if each.zone_id not in planned]
    body = {"plans": [*_plans_json(plans, actor), *_revisions_json(others, actor)], "reasons": reasons_in(rehearsed)}
    return answer({**body, **more})


def reasons_in(rehearsed: rehearsal.Rehearsal | None) -> list[str]:
    """Return the distinct reasons why a rehearsed write needs confirmation, or [] if `rehearsed` is None."""
    return _reasons([] if rehearsed is None else rehearsed.notes_of(Exception))


def _reasons(refusals: Sequence[Exception]) -> list[str]:
    problems = [problem for refusal in refusals if (problem := problem_of(refusal)) is not None]
    return list(dict.fromkeys(reason for problem in problems for reason in problem.extensions["reasons"]))


def plans_json(plans: Sequence[ZonePlan], actor: Actor) -> dict[str, Any]:
    """Return the plans as JSON, with the reasons for requiring confirmation. Omit RRsets that the actor can't see."""
    waiting = guarded_zones(plans)
    return {"plans": list(_plans_json(plans, actor)), "reasons": _reasons([GuardHolds(waiting)] if waiting else [])}


def _plans_json(plans: Sequence[ZonePlan], actor: Actor) -> Iterator[dict[str, Any]]:
    return (plan_json(plan, visibility_of(actor, plan.zone)) for plan in plans)


def _revisions_json(revisions: Sequence[NewRevision], actor: Actor) -> Iterator[dict[str, Any]]:
    """Yield the JSON form of revisions for zones without a plan. Omit zones that aren't visible to the actor."""
    zones = zones_within_reach(actor, Right.READ).in_bulk([each.zone_id for each in revisions])
    content = _content_of(revisions)
    for each in revisions:
        if each.zone_id not in zones:
            continue
        changes = filter_visible(content.get(each.zone_id, each.changes), visibility_of(actor, zones[each.zone_id]))
        yield {
            "zone": each.zone_name,
            "kind": str(each.kind),
            "revision": each.number,
            "serial": each.serial,
            "added": each.added,
            "changed": each.changed,
            "removed": each.removed,
            "changes": [change_json(change) for change in changes],
            "conflicts": [],
            "violations": [],
            "guard": [],
        }


def _content_of(revisions: Sequence[NewRevision]) -> Mapping[int, list[Change]]:
    """Return the RRsets of created and restored zones as additions, and those of deleted zones as removals.

    Return {} if there are more than MOST_CONTENT RRsets.
    """
    moving = {each.zone_id: each for each in revisions if each.kind in _MOVING}
    if sum(each.rrset_count for each in moving.values()) > MOST_CONTENT:
        return {}
    found = rrsets_of_zones(list(moving)) if moving else {}
    return {
        zone_id: [
            Change(*key, rrset, None) if moving[zone_id].kind == RevisionKind.DELETE else Change(*key, None, rrset)
            for key, rrset in rrsets.items()
        ]
        for zone_id, rrsets in found.items()
    }
