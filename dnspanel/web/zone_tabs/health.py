"""Views for the tab with a zone's problems, and a button for each that puts its fix into the draft."""

from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from dnspanel.texts import gettext, ngettext
from dnspanel.web.editor.table import default_ttl
from dnspanel.web.editor.zone_head import render_zone
from dnspanel.web.frame.layout import PanelRequest, say_done
from dnspanel.web.frame.row_diffs import DisplayDiff
from dnspanel.web.frame.rows import capitalize, rrset_query
from dnspanel.zones.builders.catalogue import BUILDERS
from dnspanel.zones.log.history import diff
from dnspanel.zones.publishing.zone_health import Finding, draft_fix, health_of
from dnspanel.zones.rights import access
from replication.dns import names, rdata

MOST_ROWS = 60


@require_http_methods(["GET", "HEAD", "POST"])
def zone_health(request: PanelRequest, zone_name: str) -> HttpResponse:
    """Show the zone's problems, with the reader's draft. A POST puts the fix of one problem into the draft."""
    is_fix = request.method == "POST"
    zone = (access.zone_for_editing if is_fix else access.zone_for_reading)(request.user, zone_name)
    now = timezone.now()
    health = health_of(zone=zone, author=request.user, ttl=default_ttl(request, zone), now=now)
    if is_fix:
        chosen = [each for each in health.findings if each.key == request.POST.get("fix") and each.is_fixable]
        count = sum(draft_fix(zone=zone, author=request.user, finding=each, now=now) for each in chosen)
        drafted = ngettext("{count} change added to your draft.", "{count} changes added to your draft.", count)
        say_done(request, drafted.format(count=count) if chosen else gettext("This problem is already fixed."))
        return redirect("zone-health", zone.name)
    rows = [_row(zone.name, finding) for finding in health.findings[:MOST_ROWS]]
    context = {"health": health, "rows": rows, "more": len(health.findings) - len(rows)}
    return render_zone(request, zone, "health", "zone_tabs/health.html", context)


def _row(zone: str, finding: Finding) -> dict[str, object]:
    """Return a problem with its texts, the changes that fix it, and the key of the form for its records, if any."""
    about = finding.violation
    form = BUILDERS.get(about.code.partition("-")[0])
    return {
        "finding": finding,
        "title": "PTR" if finding.pairs else f"{names.owner_text(about.name, zone)} {rdata.type_to_text(about.type)}",
        "query": rrset_query(about.name, about.type),
        "message": capitalize(about.message, name=about.name),
        "diffs": [DisplayDiff(zone, diff(change)) for change in finding.changes],
        "form": form.key if form else "",
    }
