"""Views that show a publication's progress to the nodes, and that draft its inverse or repeat it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from dnspanel.accounts.actors.actors import Permission, Right, can
from dnspanel.fleet.models import Isolation, Node
from dnspanel.fleet.node_health import Word
from dnspanel.fleet.reads.arrivals import NodeArrival, usual_ms
from dnspanel.fleet.reads.node_counts import NodeCounts, count_nodes
from dnspanel.fleet.reads.rollout_status import arrivals_by_stage
from dnspanel.fleet.reads.summary import encoded_by_schema
from dnspanel.publish.encoding.stall import stalls
from dnspanel.publish.models import FirstSealing
from dnspanel.publish.reading.schemas import schemas_in_use
from dnspanel.texts import gettext
from dnspanel.web.editor.history import lanes
from dnspanel.web.frame.layout import PanelRequest, actor_for, is_fragment, is_in_drawer, reporting, say_done
from dnspanel.zones.errors import CannotUndo, RightMissing
from dnspanel.zones.models import Channel, Publication, Revision, RevisionKind
from dnspanel.zones.names import nesting
from dnspanel.zones.publishing import failed, pieces, restore_zones, revision
from dnspanel.zones.requests import request_lists
from dnspanel.zones.rights import access
from replication.dns import rdata
from replication.wire.protocol import Unanswered

# The page polls every SWIFT_MS until SWIFT_SECONDS after the publication, and then every two seconds.
SWIFT_MS = 300
SWIFT_SECONDS = 15
MOST_REVISIONS = 50
MOST_LACKING = 10
MOST_SHADOWED = 20

_TONES = {Word.REJECTING: "bad", Word.OFFLINE: "bad", Word.STALE: "bad", Word.LATE: "warn"}


@dataclass(frozen=True, slots=True)
class DisplayReach:
    """A node with its state in words, and the milliseconds until it received the publication, or None."""

    name: str
    tone: str
    has_it: bool
    ms: int | None
    message: str
    usual_ms: int | None  # the median of the publications before, as soon as all nodes have this one
    lane: lanes.Lane | None


@dataclass(frozen=True, slots=True)
class DisplayShadowed:
    """An RRset in the publication that isn't served, because a child zone answers for its name."""

    shadowed: nesting.Shadowed

    @property
    def zone(self) -> str:
        return self.shadowed.zone.name

    @property
    def name(self) -> str:
        return self.shadowed.name

    @property
    def type(self) -> str:
        return rdata.type_to_text(self.shadowed.type)

    @property
    def by(self) -> str:
        return self.shadowed.by


@dataclass(frozen=True, slots=True)
class DisplayStage:
    """Nodes that receive a publication together, and the reason why the stage waits, or "".

    If no group waits for another, there is one stage without a name. `nodes` has at most MOST_LANES nodes by name:
    those without the publication, and the slowest of the others. `rest` counts the nodes that are left out.
    """

    name: str
    is_ring0: bool
    nodes: list[DisplayReach]
    rest: int
    waits: str


@dataclass(frozen=True, slots=True)
class Progress:
    """A publication's progress from encoding to the nodes' answers."""

    publication: Publication
    is_ready: bool
    ready_ms: int | None  # None: not ready, or the time is unknown
    ready_lane: lanes.Lane | None
    stall: str
    stages: list[DisplayStage]
    counts: NodeCounts
    seconds: str  # until the last node that has the publication got it; empty if a time is unknown
    is_swift: bool
    isolation: Isolation | None  # if the publication failed: how it was reverted
    lacking: list[str]  # sentences about ALIAS and LUA records that a node can't resolve

    @property
    def channel(self) -> str:
        """The publication's channel, or "" for web and system, where the author's name is enough."""
        quiet = {Channel.WEB, Channel.SYSTEM}
        return "" if self.publication.channel in quiet else str(Channel(self.publication.channel).label)

    @property
    def has_medians(self) -> bool:
        return any(node.usual_ms is not None for stage in self.stages for node in stage.nodes)

    @property
    def is_everywhere(self) -> bool:
        return self.counts.is_everywhere and not self.lacking

    @property
    def ready_class(self) -> str:
        """The CSS class of the step "Ready for the nodes"."""
        return "is-done" if self.is_ready else "is-now"

    @property
    def answered_class(self) -> str:
        """The CSS class of the step "Answered by the nodes"."""
        if self.is_everywhere:
            return "is-done"
        return "is-now" if self.is_ready else ""


@require_safe
def publication(request: PanelRequest, sequence: int) -> HttpResponse:
    """Show a publication's progress. htmx fetches only the changing part until all nodes have the publication.

    The drawer in the editor shows the page without its frame.
    """
    found = _publication(request, sequence)
    # Technical details are only for people who manage nodes.
    sees_log = can(request.user, Permission.NODES)
    context: dict[str, object] = {
        "progress": _progress(
            found,
            _revisions(request, found),
            timezone.now(),
            stall=_stall(request, found, in_full=sees_log),
            in_full=sees_log,
        ),
        "sees_nodes": can(request.user, Permission.FLEET),
        "sees_log": sees_log,
    }
    in_drawer = is_in_drawer(request) and request.htmx.target != "progress"
    if is_fragment(request) and not in_drawer:
        return render(request, "editor/_progress.html", context)
    readable = _revisions(request, found)
    revisions, zones = list(readable[: MOST_REVISIONS + 1]), readable.count()
    context |= {
        "in_drawer": in_drawer,
        "revisions": revisions[:MOST_REVISIONS],
        "zones": zones,
        "has_more": zones > MOST_REVISIONS,
        "only": revisions[0] if zones == 1 else None,
        "shadowed": [DisplayShadowed(each) for each in nesting.shadowed_by_publication(revisions)[:MOST_SHADOWED]],
        "is_removed": not found.revisions.exists(),
        "may_undo": not found.failed_reason
        and (
            any(_can_undo(request, each) for each in _undone_alone(found, revisions))
            or _has_restorable_zones(request, found)
        ),
        "may_restore": _has_restorable_zones(request, found),
        "gone": restore_zones.gone_for_good(found)[:MOST_LACKING] if _sees_all(request) else [],
        "may_draft_again": bool(found.failed_reason) and any(_can_undo(request, each) for each in revisions),
        "address": request.build_absolute_uri(request.path),
        "behind": request_lists.request_behind(found),
        "ticket": request_lists.ticket_link(found.reason, [each.zone for each in revisions]),
    }
    return render(request, "editor/_drawer_progress.html" if in_drawer else "editor/progress.html", context)


def _publication(request: PanelRequest, sequence: int) -> Publication:
    """Return the publication with this sequence number.

    Raise Unknown if it doesn't exist, or if the person can't read any of its zones, including zones in the trash.
    """
    access.require(request.user, Permission.READ)
    found = Publication.objects.select_related("author", "token").filter(sequence=sequence).first()
    if found is None or not (_sees_all(request) or _revisions(request, found).exists()):
        raise access.Unknown(f"publication {sequence}")
    return found


def _revisions(request: PanelRequest, found: Publication) -> QuerySet[Revision]:
    """Return the publication's revisions of zones that the person is allowed to read, sorted by zone name."""
    revisions = found.revisions.select_related("zone").order_by("zone__name")
    if _sees_all(request):
        return revisions
    return revisions.filter(zone__in=access.zones_within_reach(request.user, Right.READ))


def _sees_all(request: PanelRequest) -> bool:
    return actor_for(request).may_everywhere(Right.READ)


def _can_undo(request: PanelRequest, each: Revision) -> bool:
    is_live = each.kind == RevisionKind.CHANGE and each.zone.deleted_at is None
    return is_live and access.may_edit_here(request.user, each.zone)


def _undone_alone(found: Publication, revisions: Sequence[Revision]) -> list[Revision]:
    """Return the revisions to revert, except changes to zones that the same large write created.

    A large write is published in parts, and reverting a zone's creation also removes the contents from later parts.
    """
    if found.part_of is None:
        return list(revisions)
    created = Revision.objects.filter(publication__part_of=found.part_of, kind=RevisionKind.CREATE)
    new = set(created.values_list("zone_id", flat=True))
    return [each for each in revisions if each.kind == RevisionKind.CREATE or each.zone_id not in new]


def _has_restorable_zones(request: PanelRequest, found: Publication) -> bool:
    """Return True if a zone that the publication deleted is in the trash and the person can restore it."""
    deleted = found.revisions.filter(kind=RevisionKind.DELETE, zone__sequence=found.sequence)
    mine = access.zones_within_reach(request.user, Right.DELETE_ZONE).exclude(deleted_at=None)
    return mine.filter(pk__in=deleted.values("zone")).exists()


def _progress(
    found: Publication, revisions: QuerySet[Revision], now: datetime, *, stall: str, in_full: bool
) -> Progress:
    is_swift = (now - found.at).total_seconds() < SWIFT_SECONDS
    arrived = arrivals_by_stage(found, now=now)
    counts = count_nodes((node.node, node.has_it) for stage in arrived for node in stage.nodes)
    having = [node for stage in arrived if not stage.is_ring0 for node in stage.nodes if node.has_it]
    times = [node.ms for node in having if node.ms is not None]
    ready_ms = _ready_ms(found)
    rows = [_most_interesting(stage.nodes) for stage in arrived]
    # The page polls until all nodes have the publication. Only then is the median worth its query.
    is_done = counts.is_everywhere and not found.failed_reason
    usual = usual_ms(found, [node.node.pk for nodes in rows for node in nodes]) if is_done else {}
    scale = lanes.Scale.of(ready_ms, [*usual.values(), *(node.ms for nodes in rows for node in nodes)])
    stages = [
        DisplayStage(
            stage.name if in_full or not stage.is_ring0 else gettext("canary name server"),
            stage.is_ring0,
            [_display(node, scale, usual.get(node.node.pk), is_swift=is_swift, in_full=in_full) for node in nodes],
            len(stage.nodes) - len(nodes),
            stage.waits if in_full or not stage.waits else gettext("updated later"),
        )
        for stage, nodes in zip(arrived, rows, strict=True)
    ]
    return Progress(
        publication=found,
        is_ready=bool(having) or ready_ms is not None or _is_encoded(found),
        ready_ms=ready_ms,
        ready_lane=scale.ready_lane,
        stall=stall,
        stages=stages,
        counts=counts,
        seconds=f"{max(times) / 1000:.2f}" if times and len(times) == len(having) else "",
        is_swift=is_swift,
        isolation=Isolation.objects.filter(failed=found.sequence).first() if found.failed_reason else None,
        lacking=_lacking([node.node for stage in arrived if not stage.is_ring0 for node in stage.nodes], revisions),
    )


def _stall(request: PanelRequest, found: Publication, *, in_full: bool) -> str:
    """Return why the publication hasn't reached the nodes yet, or "" if it isn't held up.

    Unless `in_full` is True, the text doesn't name a zone that the person isn't allowed to see.
    """
    stall = next((each for each in stalls() if each.sequence <= found.sequence), None)
    if stall is None:
        return ""
    readable = access.zones_within_reach(request.user, Right.READ)
    if in_full or readable.filter(name=stall.zone_name).exists():
        return str(stall.message)
    return gettext("An earlier revision cannot be prepared for the nodes. Administrators can view the reason.")


def _lacking(nodes: Sequence[Node], revisions: QuerySet[Revision]) -> list[str]:
    """Return sentences about ALIAS and LUA records in these revisions' zones that a node can't resolve."""
    found = [(node.name, Unanswered._make(each)) for node in nodes for each in node.unanswered]
    if not found:
        return []
    named = revisions.filter(zone__name__in={each.zone for _, each in found})
    zones = set(named.values_list("zone__name", flat=True))
    listed = [(node, each) for node, each in found if each.zone in zones][:MOST_LACKING]
    return [
        gettext("{node} cannot answer {name} {type}: {problem}.").format(
            node=node, name=each.name, type=each.type, problem=each.problem
        )
        for node, each in listed
    ]


def _ready_ms(found: Publication) -> int | None:
    """Return the milliseconds until the slowest schema first sealed the publication, or None if this is unknown."""
    sealings = FirstSealing.objects.filter(epoch=found.epoch, last__gte=found.sequence).order_by("last")
    firsts = [sealings.filter(schema=schema).values_list("at", flat=True).first() for schema in schemas_in_use()]
    known = [at for at in firsts if at is not None]
    is_sealed = 0 < len(known) == len(firsts)
    return max(0, round((max(known) - found.at).total_seconds() * 1000)) if is_sealed else None


def _is_encoded(found: Publication) -> bool:
    return min(encoded_by_schema(found.epoch, ()).values(), default=0) >= found.sequence


def _most_interesting(nodes: Sequence[NodeArrival]) -> list[NodeArrival]:
    """Return the MOST_LANES nodes that lack the publication or got it last, in the given order."""
    last = sorted(nodes, key=lambda node: (node.has_it, -(node.ms or 0)))[: lanes.MOST_LANES]
    chosen = {node.node.pk for node in last}
    return [node for node in nodes if node.node.pk in chosen]


def _display(
    node: NodeArrival, scale: lanes.Scale, usual: float | None, *, is_swift: bool, in_full: bool
) -> DisplayReach:
    if node.has_it:
        ms = None if node.ms is None else round(node.ms)
        return DisplayReach(
            name=node.node.name,
            tone="ok",
            has_it=True,
            ms=ms,
            message=gettext("in sync"),
            usual_ms=None if usual is None or ms is None else round(usual),
            lane=scale.lane(node.ms, usual),
        )
    is_on_its_way = is_swift and node.word in (Word.LIVE, Word.CATCHING_UP, Word.LATE)
    tone = "quiet" if is_on_its_way else _TONES.get(node.word, "quiet")
    message = node.message if in_full else str(node.word)
    message = gettext("in progress") if is_on_its_way else message
    return DisplayReach(node.node.name, tone, has_it=False, ms=None, message=message, usual_ms=None, lane=None)


@require_POST
def publication_undo(request: PanelRequest, sequence: int) -> HttpResponse:
    """Add the inverse of this publication, including all parts of a large write, to the draft.

    Skip zones that the user isn't allowed to edit, and revisions that can't be reverted. If the user can restore zones
    that the publication deleted, redirect to the page that restores them.
    """
    access.require(request.user, Permission.EDIT)
    found = _publication(request, sequence)
    undone: dict[str, None] = {}
    revisions = [each for part in pieces.parts_of(found) for each in _revisions(request, part)]
    for each in _undone_alone(found, revisions):
        if each.kind == RevisionKind.DELETE:
            continue
        if not access.may_edit_here(request.user, each.zone):
            continue
        try:
            revision.undo_revisions(revisions=[each], author=request.user, now=timezone.now())
        except (CannotUndo, RightMissing) as exc:
            messages.error(request, f"{each.zone.name}: {exc}")
        else:
            undone[each.zone.name] = None
    restores = f"{reverse('zone-restore-many')}?{urlencode({'publication': sequence})}"
    deleted = _has_restorable_zones(request, found)
    if not undone:
        return redirect(restores if deleted else reverse("publication", args=[sequence]))
    what = gettext("Undo publication {sequence}").format(sequence=sequence)
    where = next(iter(undone)) if len(undone) == 1 else gettext("{undone:,} zones").format(undone=len(undone))
    say_done(
        request,
        gettext("Draft created for {where}: {what}. Nothing changes until you publish it."),
        what=what,
        where=where,
    )
    if deleted:
        return redirect(restores)
    review = reverse("zone-review", args=list(undone)) if len(undone) == 1 else reverse("changes")
    return redirect(f"{review}?{urlencode({'reason': what})}")


@require_POST
def publication_again(request: PanelRequest, sequence: int) -> HttpResponse:
    """Add this reverted publication's changes to the draft again, except those that the user isn't allowed to make."""
    access.require(request.user, Permission.EDIT)
    found = _publication(request, sequence)
    with reporting(request, CannotUndo, RightMissing):
        if not failed.draft_again(publication=found, author=request.user, now=timezone.now()):
            messages.warning(request, gettext("Changes that you aren’t allowed to make were left out."))
        say_done(
            request,
            gettext("The changes are back in your draft. Fix the cause of the failure before you publish them again."),
        )
        return redirect("changes")
    return redirect("publication", sequence)
