"""API resources to list and read publications (the log of all published changes), and to wait for the nodes."""

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import HttpResponse
from django.utils import timezone
from rest_framework.request import Request

from dnspanel.accounts.actors.actors import Actor, Right
from dnspanel.api.v2.http import accepted
from dnspanel.api.v2.http.pages import cut, page_answer, page_request
from dnspanel.api.v2.http.problems import Problem, bad_choice, bad_number
from dnspanel.api.v2.http.view import V2View, answer, api_operation, query_parameter
from dnspanel.api.v2.schema.fields import PAGED, page_of
from dnspanel.api.v2.schema.publication_serializers import (
    PublicationPageSerializer,
    PublishedZoneSerializer,
    WatchedPublicationSerializer,
)
from dnspanel.api.v2.schema.query_parameters import WAIT, WAIT_FOR
from dnspanel.api.v2.schema.zone_serializers import LARGEST_SEQUENCE
from dnspanel.api.waiting import wait_for_nodes, wait_until
from dnspanel.zones.errors import TakenBack
from dnspanel.zones.models import LogHead, Publication, Revision
from dnspanel.zones.rights.access import zones_within_reach

_FEED = [
    *PAGED,
    query_parameter(
        "after",
        "Only publications after this sequence.",
        {"type": "integer", "minimum": 0, "maximum": LARGEST_SEQUENCE},
    ),
    query_parameter(
        "order", "Order by sequence. Default: `desc`, newest first.", {"type": "string", "enum": ["asc", "desc"]}
    ),
    query_parameter(
        "expand",
        "`zones` adds the first 100 zones to each publication. `listPublicationZones` lists all zones.",
        {"type": "string", "enum": ["zones"]},
    ),
    query_parameter(
        "wait",
        "Seconds to wait for a publication if the page would be empty.",
        {"type": "integer", "minimum": 0, "maximum": 60},
    ),
]


class PublicationList(V2View):
    @api_operation("listPublications", {200: PublicationPageSerializer}, *_FEED)
    def get(self, request: Request) -> HttpResponse:
        """List publications.

        Lists publications in zones that the token can read, newest first. To use the list as a feed of changes, request
        `?order=asc&after=SEQUENCE&expand=zones&wait=30`. Then repeat the request with `after` set to the `up_to` of the
        response.

        The feed has no gaps, even for a token that sees only some zones. After a response, no new publication appears
        with a sequence up to `up_to`. If `epoch` changes, the panel was restored from a backup, so read all zones
        again.
        """
        page = page_request(request, int)
        after, is_ascending, with_zones = _after(request), _is_ascending(request), _expands_zones(request)
        visible = publications_visible_to(self.actor).filter(sequence__gt=after)
        seconds = accepted.requested_wait(request)
        waited = wait_until(visible.exists, seconds) if seconds else False
        head = LogHead.objects.values("epoch", "sequence").first()  # read first: the page has all up to it
        if page.after:
            key = {"sequence__gt" if is_ascending else "sequence__lt": page.after[0]}
            visible = visible.filter(**key)
        visible = visible.order_by("sequence" if is_ascending else "-sequence")
        rows, more = cut(list(visible[: page.limit + 1]), page.limit)
        items = [accepted.listed_publication_json(publication, self.actor) for publication in rows]
        if with_zones:
            zones = accepted.zones_of_publications(rows, self.actor)
            items = [{**item, **zones[item["sequence"]]} for item in items]
        up_to = max((row.sequence for row in rows), default=after)
        if head and not (more and is_ascending):
            up_to = max(up_to, head["sequence"])
        epoch = str(head["epoch"]) if head else None
        found = page_answer(request, items, (rows[-1].sequence,) if more else None, up_to=up_to, epoch=epoch)
        if waited is None:  # too many requests are already waiting
            found["Retry-After"] = "1"
        return found


class PublicationZones(V2View):
    @api_operation("listPublicationZones", {200: page_of(PublishedZoneSerializer)}, *PAGED)
    def get(self, request: Request, sequence: int) -> HttpResponse:
        """List the zones of a publication.

        Lists the zones that the publication changed and that the token can read, by name. Each zone has its new
        revision and serial.
        """
        page = page_request(request, str, int)
        revisions = accepted.visible_revisions(publication_for(self.actor, sequence), self.actor)
        if page.after:
            name, zone_id = page.after
            revisions = revisions.filter(Q(zone__name__gt=name) | Q(zone__name=name, zone_id__gt=zone_id))
        columns = ("zone__name", "zone_id", "number", "serial", "kind")
        rows, more = cut(list(revisions.values_list(*columns)[: page.limit + 1]), page.limit)
        items = [accepted.published_zone_json(zone, *row) for zone, _, *row in rows]
        return page_answer(request, items, rows[-1][:2] if more else None)


class PublicationDetail(V2View):
    @api_operation("getPublication", {200: WatchedPublicationSerializer}, WAIT, WAIT_FOR)
    def get(self, request: Request, sequence: int) -> HttpResponse:
        """Read a publication.

        Returns the publication's state on every node. With `wait`, the response is sent when all nodes have the
        publication, or when the time is over. With `wait_for=all`, the request also waits for secondaries. If the
        publication was taken back, `wait` returns 422 with the reason. `shadowed` lists RRsets that nodes don't serve,
        because another zone contains their names.
        """
        publication = publication_for(self.actor, sequence)
        seconds, with_secondaries = accepted.requested_wait(request), accepted.waits_for_secondaries(request)
        if seconds:
            _wait(publication, self.actor, seconds, with_secondaries=with_secondaries)
        shadowed = accepted.shadowed_json(publication, self.actor)
        found = accepted.publication_json(publication, self.actor, timezone.now(), with_secondaries=with_secondaries)
        return answer({**found, "shadowed": shadowed})


def _wait(publication: Publication, actor: Actor, seconds: int, *, with_secondaries: bool) -> None:
    """Wait until the nodes, and if requested the secondaries, have the publication, but at most `seconds`.

    Raise TakenBack if the publication was taken back. The error includes the reason only if the actor is allowed to see
    it.
    """
    try:
        wait_for_nodes(publication, seconds, with_secondaries=with_secondaries)
    except TakenBack as exc:
        raise exc if accepted.may_know_reason(publication, actor) else TakenBack(exc.sequence, "") from exc


def publications_visible_to(actor: Actor) -> QuerySet[Publication]:
    """Select publications that changed at least one zone that the actor can read, including deleted zones."""
    publications = Publication.objects.select_related("author", "token")
    if actor.may_everywhere(Right.READ):
        return publications
    visible = Revision.objects.filter(publication=OuterRef("pk"), zone__in=zones_within_reach(actor, Right.READ))
    return publications.filter(Exists(visible))


def publication_for(actor: Actor, sequence: int) -> Publication:
    """Return the publication with this sequence. Raise Problem (404) unless it exists and the actor can see it."""
    found = publications_visible_to(actor).filter(sequence=sequence).first() if sequence < 2**63 else None
    if found is None:
        raise Problem("not-found", f"There is no publication {sequence}.")
    return found


def _after(request: Request) -> int:
    typed = request.query_params.get("after", "0")
    if not (typed.isascii() and typed.isdecimal() and len(typed) < 20 and int(typed) <= LARGEST_SEQUENCE):
        raise bad_number("after", typed, f"Use a sequence, a whole number from 0 to {LARGEST_SEQUENCE}.")
    return int(typed)


def _is_ascending(request: Request) -> bool:
    typed: str = request.query_params.get("order", "desc")
    if typed not in ("asc", "desc"):
        raise bad_choice("order", typed, ("asc", "desc"))
    return typed == "asc"


def _expands_zones(request: Request) -> bool:
    typed: str | None = request.query_params.get("expand")
    if typed not in (None, "zones"):
        raise bad_choice("expand", typed, ("zones",))
    return typed == "zones"
