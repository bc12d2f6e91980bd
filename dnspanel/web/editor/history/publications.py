"""The view that lists everyone's publications, and the rows of the list."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from dnspanel.accounts.actors.actors import Permission
from dnspanel.database.statement_time import searching_for
from dnspanel.fleet.reads.queries import NodeStatus
from dnspanel.web.editor.history.days import day_of
from dnspanel.web.frame.forms import id_in
from dnspanel.web.frame.layout import PanelRequest, is_fragment
from dnspanel.web.frame.read_once import statuses_of
from dnspanel.web.frame.sync import Sync, sync_of
from dnspanel.zones.log.publications import PublicationFilters, PublicationRow, publication_page
from dnspanel.zones.models import Channel
from dnspanel.zones.rights import access

PUBLICATIONS_PER_PAGE = 50
LONGEST_NAME = 1100  # of a zone, escapes included
_FIELDS = ("author", "channel", "zone", "since", "until")


@dataclass(frozen=True, slots=True)
class DisplayPublication:
    """A publication for display in a list, with the number of nodes that already serve it."""

    row: PublicationRow
    sync: Sync

    @property
    def channel(self) -> str:
        return str(Channel(self.row.channel).label)


def display_publications(rows: Sequence[PublicationRow], statuses: Sequence[NodeStatus]) -> list[DisplayPublication]:
    return [DisplayPublication(row, sync_of(row.sequence, statuses, failed=row.failed_reason)) for row in rows]


@require_safe
def publication_list(request: PanelRequest) -> HttpResponse:
    """List publications of zones that the person is allowed to see. htmx fetches only the list or its next rows."""
    access.require(request.user, Permission.READ)
    typed = {name: request.GET.get(name, "").strip()[:LONGEST_NAME] for name in _FIELDS}
    filters = PublicationFilters(
        author=typed["author"],
        channel=typed["channel"] if typed["channel"] in Channel.values else "",
        zone=typed["zone"],
        since=day_of(typed["since"]),
        until=day_of(typed["until"], last=True),
    )
    with searching_for("".join(typed.values())):
        page = publication_page(
            person=request.user,
            filters=filters,
            before=id_in(request.GET.get("before", "")),
            limit=PUBLICATIONS_PER_PAGE,
        )
    query = request.GET.copy()
    query.pop("before", None)
    context = {
        "publications": display_publications(page.rows, statuses_of(request)),
        "next_before": page.next_before,
        "looked_until": page.looked_until,
        "typed": typed,
        "query": query.urlencode(),
        "is_filtered": any(typed.values()),
        "is_first": "before" not in request.GET,
        "channels": Channel.choices,
    }
    if not is_fragment(request):
        return render(request, "editor/publications.html", context)
    target = request.htmx.target
    part = "editor/_publication_rows.html" if target == "more-publications" else "editor/_publication_list.html"
    return render(request, part, context)
