"""API resource that restores many zones from the trash, chosen by name, id, search or publication."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.http import HttpResponse
from django.utils import timezone
from drf_spectacular.utils import PolymorphicProxySerializer
from rest_framework.request import Request

from dnspanel.accounts.actors.actors import Actor, Right
from dnspanel.api.v2.http.accepted import answer_publication, moved_by
from dnspanel.api.v2.http.dry_run import is_dry_run
from dnspanel.api.v2.http.etag import condition_in, require, tag_of
from dnspanel.api.v2.http.problems import Problem, bad_value
from dnspanel.api.v2.http.view import V2View, actor_in, answer, api_operation, form_id_of
from dnspanel.api.v2.resources.many_zones import EXAMPLES, search_in
from dnspanel.api.v2.schema.fields import read
from dnspanel.api.v2.schema.many_serializers import (
    ManyZonesPreviewSerializer,
    RestorationsSerializer,
    RestorationsWrittenSerializer,
)
from dnspanel.api.v2.schema.query_parameters import CHANGING
from dnspanel.database.statement_time import searching_for
from dnspanel.zones.acting import Acting
from dnspanel.zones.lists.selection import TooMany
from dnspanel.zones.models import Channel, Publication, Zone
from dnspanel.zones.publishing import restore_zones
from dnspanel.zones.publishing.many_settings import MOST_ZONES, ZonesOutcome
from dnspanel.zones.rights import access

MOST_REFUSALS = 1_000
_SELECTING = ("zones", "ids", "q", "publication", "deleted_since")
Refusals = Sequence[tuple[str, str]]


class Restorations(V2View):
    conditional = True

    @api_operation(
        "restoreZones",
        {
            202: RestorationsWrittenSerializer,
            200: PolymorphicProxySerializer(
                "RestorationsWrittenOrPreview", [RestorationsWrittenSerializer, ManyZonesPreviewSerializer], None
            ),
        },
        *CHANGING,
        request=RestorationsSerializer,
    )
    def post(self, request: Request) -> HttpResponse:
        """Restore zones.

        Restores the zones that match all given conditions, with higher serials. Needs the `delete-zone` right for each
        zone. One publication restores up to 1,000 zones with 50,000 RRsets in total. A larger restoration takes several
        publications, which are listed in `publications`.

        A zone that cannot be restored stays in the trash and is listed in `outcome` with the reason. All other zones
        are restored. With `dry_run` nothing is restored. To restore exactly the zones of a dry run, send its `ETag` as
        `If-Match`.
        """
        body = read(RestorationsSerializer, request.data)
        zones = select_zones(selection_in(body), self.actor)
        unknown = _unknown(body, zones, self.actor)
        is_dry, condition = is_dry_run(request), condition_in(request)
        if is_dry or condition.match:
            preview = restore_zones.preview_restore(
                zones=zones, author=self.actor, now=timezone.now(), reason=body["reason"]
            )
            tag = tag_of([[zone.pk, zone.revision] for zone in preview.changed])
            counts = _outcome_json(preview, unknown)
            require(condition, tag, theirs=counts, mine=request.data)
            if is_dry:
                examples = [zone.name for zone in preview.changed[:EXAMPLES]]
                return answer({**counts, "examples": examples, "reasons": []}, headers={"ETag": tag})
        done = restore_zones.restore_zones(
            zones=zones, acting=Acting(self.actor, Channel.API, timezone.now(), body["reason"], form_id_of(request))
        )
        return answer_restored(request, done, unknown)


def selection_in(body: Mapping[str, Any]) -> restore_zones.TrashSelection:
    """Return the zone selection in the body. Raise Problem if the selection is empty."""
    if not any(name in body for name in _SELECTING):
        raise bad_value("/q", f"Send at least one of {', '.join(_SELECTING)}.", "required")
    return restore_zones.TrashSelection(
        ids=tuple(body.get("ids", ())),
        names=tuple(body.get("zones", ())),
        search=search_in(body["q"]) if "q" in body else "",
        publication=body.get("publication"),
        deleted_since=body.get("deleted_since"),
    )


def select_zones(selection: restore_zones.TrashSelection, actor: Actor) -> list[Zone]:
    """Return the zones in the trash that match the selection. Raise Problem if there are too many."""
    try:
        with searching_for(selection.search):
            return restore_zones.selected_from_trash(selection, actor)
    except TooMany as exc:
        raise Problem("too-large", f"More than {MOST_ZONES} zones match. Narrow the search.") from exc


def answer_restored(
    request: Request, done: restore_zones.Restored, unknown: Refusals = (), before: Publication | None = None
) -> HttpResponse:
    """Return the response with the restored zones and the refused ones.

    `before` is an earlier publication of the same write, which undid record changes.
    """
    last = done.last or before
    zones = [] if last is None else moved_by(last, actor_in(request))
    body = {"zones": zones, "warnings": [], "outcome": _outcome_json(done.outcome, unknown)}
    return answer_publication(request, last, body)


def zones_gone_for_good(publication: Publication, actor: Actor) -> Refusals:
    """Return the zones that a publication deleted and that are no longer in the trash, each with the reason.

    The result is empty unless the actor can read every zone.
    """
    if not actor.may_everywhere(Right.READ):
        return ()
    return [(name, "The zone was permanently deleted.") for name in restore_zones.gone_for_good(publication)]


def _unknown(body: Mapping[str, Any], zones: Sequence[Zone], actor: Actor) -> Refusals:
    """Return the requested names and ids that aren't in the trash, with the reason. Skip zones that exist."""
    missing = set(body.get("zones", ())) - {zone.name for zone in zones}
    live = access.zones_visible_to(actor).filter(name__in=missing).values_list("name", flat=True) if missing else ()
    lost = set(body.get("ids", ())) - {zone.pk for zone in zones}
    back = access.zones_visible_to(actor).filter(pk__in=lost).values_list("pk", flat=True) if lost else ()
    refused = sorted(missing - set(live)) + [str(id) for id in sorted(lost - set(back))]
    return [(name, "The zone is not in the trash.") for name in refused]


def _outcome_json(outcome: ZonesOutcome, unknown: Refusals) -> dict[str, Any]:
    refusals = [*unknown, *((zone.name, reason) for zone, reason in outcome.refused)]
    return {
        "changed": len(outcome.changed),
        "changed_rrsets": outcome.rrsets,
        "unchanged": outcome.unchanged,
        "refused": len(refusals),
        "refusals": [{"zone": name, "reason": reason} for name, reason in refusals[:MOST_REFUSALS]],
    }
