"""Show the answers of nodes and public resolvers for a record or for a revision's records, on request."""

from itertools import zip_longest

from django.conf import settings
from django.http import HttpResponse
from django.views.decorators.http import require_http_methods

from dnspanel.fleet.lookups.public_answers import MOST_RECORDS, MOST_RESOLVERS, ServerAnswer, look_up_answers
from dnspanel.fleet.lookups.turns import Busy, turn
from dnspanel.web.editor.history.history import revision_of
from dnspanel.web.editor.rrsets import Key, require_rrset
from dnspanel.web.editor.zone_head import render_zone
from dnspanel.web.frame.layout import PanelRequest
from dnspanel.zones.lists.rrset_pages import rrset_rows
from dnspanel.zones.models import Zone
from dnspanel.zones.rights import access
from dnspanel.zones.rules.computed_types import COMPUTED
from replication.dns import rdtypes


@require_http_methods(["GET", "HEAD", "POST"])
def zone_answers(request: PanelRequest, zone_name: str) -> HttpResponse:
    """Show a record, or the first records that a revision changed. A POST queries nodes and resolvers for them."""
    zone = access.zone_for_reading(request.user, zone_name)
    keys = _keys(request, zone)
    rows = rrset_rows(zone=zone, author=request.user, keys=keys)
    served = {(row.change.name, row.change.type): row.change.before for row in rows}
    records = [(*key, () if (rrset := served.get(key)) is None else rrset.served) for key in keys]
    error = ""
    answers: list[list[ServerAnswer]] = []
    if request.method == "POST":
        try:
            with turn():
                answers = look_up_answers(records)
        except Busy as exc:
            error = str(exc)
    context: dict[str, object] = {
        "records": list(zip_longest(records, answers)),
        "has_looked": bool(answers),
        "resolvers": settings.PUBLIC_RESOLVERS[:MOST_RESOLVERS],
        "most_records": MOST_RECORDS,
        "error": error,
    }
    return render_zone(request, zone, "history", "editor/public_answers.html", context, 503 if error else 200)


def _keys(request: PanelRequest, zone: Zone) -> list[Key]:
    """Return the record in the URL, or the first records of the revision in the URL. Leave out computed types."""
    number = request.GET.get("revision", "")
    if not number.isdecimal() or len(number) > 9:
        keys = [require_rrset(request, zone)]
    else:
        changes = revision_of(zone, int(number)).changes.exclude(type__in=(*COMPUTED, rdtypes.SOA))
        keys = [(row.name, row.type) for row in changes.order_by("owner_key", "type")[:MOST_RECORDS]]
    return [key for key in keys if key[1] not in COMPUTED]
