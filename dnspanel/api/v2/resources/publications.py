"""Publications: the log of everything that was published, each waitable and undoable as a whole."""

from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpResponse
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from dnspanel.accounts.actors import Actor
from dnspanel.accounts.grants import Right
from dnspanel.api.v2.http.accepted import (
    listed_publication_json,
    may_know_reason,
    publication_json,
    requested_wait,
    shadowed_json,
    waits_for_secondaries,
)
from dnspanel.api.v2.http.answers import actor_in, answer
from dnspanel.api.v2.http.pages import cut, page_answer, page_request
from dnspanel.api.v2.http.problems import Problem
from dnspanel.api.v2.http.view import V2View
from dnspanel.api.v2.schema.fields import PAGED, page_of
from dnspanel.api.v2.schema.zone_serializers import (
    WAIT,
    WAIT_FOR,
    ListedPublicationSerializer,
    WatchedPublicationSerializer,
)
from dnspanel.api.waiting import wait_for_nodes
from dnspanel.zones.access import zones_within_reach
from dnspanel.zones.errors import TakenBack
from dnspanel.zones.models import Publication, Revision


class PublicationList(V2View):
    """Everything that was published, the newest first."""

    @extend_schema(parameters=PAGED, responses={200: page_of(ListedPublicationSerializer)})
    def get(self, request: Request) -> HttpResponse:
        """List publications

        Everything that was published, the newest first.
        """
        page, actor = page_request(request, int), actor_in(request)
        publications = publications_visible_to(actor).order_by("-sequence")
        if page.after:
            publications = publications.filter(sequence__lt=page.after[0])
        rows, more = cut(list(publications[: page.limit + 1]), page.limit)
        items = [listed_publication_json(publication, actor) for publication in rows]
        return page_answer(request, items, (rows[-1].sequence,) if more else None)


class PublicationDetail(V2View):
    """One publication and its state per node."""

    @extend_schema(parameters=[WAIT, WAIT_FOR], responses={200: WatchedPublicationSerializer})
    def get(self, request: Request, sequence: int) -> HttpResponse:
        """Watch a publication

        Its state per node. With `wait`, answers when all nodes answer with
        it, or when that time is over; with `wait_for=all`, when secondaries do
        too. Of one that was taken back, `wait` answers 422 with the reason. `shadowed` has the RRsets that they
        answer from another zone instead.
        """
        actor = actor_in(request)
        publication = publication_for(actor, sequence)
        seconds, with_secondaries = requested_wait(request), waits_for_secondaries(request)
        if seconds:
            _wait(publication, actor, seconds, with_secondaries)
        shadowed = shadowed_json(publication, actor)
        found = publication_json(publication, actor, timezone.now(), with_secondaries=with_secondaries)
        return answer({**found, "shadowed": shadowed})


def _wait(publication: Publication, actor: Actor, seconds: int, with_secondaries: bool) -> None:
    """Wait for the publication. Raise TakenBack if it was taken back, with the reason only for who may know it."""
    try:
        wait_for_nodes(publication, seconds, with_secondaries=with_secondaries)
    except TakenBack as exc:
        raise exc if may_know_reason(publication, actor) else TakenBack(exc.sequence, "") from exc


def publications_visible_to(actor: Actor) -> QuerySet[Publication]:
    """Those that changed a zone this actor may know about, deleted ones included."""
    publications = Publication.objects.select_related("author", "token")
    if actor.may_everywhere(Right.READ):
        return publications
    visible = Revision.objects.filter(publication=OuterRef("pk"), zone__in=zones_within_reach(actor, Right.READ))
    return publications.filter(Exists(visible))


def publication_for(actor: Actor, sequence: int) -> Publication:
    """The publication of this sequence; raises Problem (404)."""
    found = publications_visible_to(actor).filter(sequence=sequence).first() if sequence < 2**63 else None
    if found is None:
        raise Problem("not-found", f"There is no publication {sequence}.")
    return found
