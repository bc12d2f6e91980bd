"""Convert zones, RRsets, changes and revisions to API v2's JSON, which `schema.zone_serializers` describes."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from dnspanel.accounts.actors.actors import Actor, actor_form
from dnspanel.api.v2.http.visibility import filter_visible
from dnspanel.zones.lists.rrset_pages import RRsetRow
from dnspanel.zones.log.history import HistoryRow
from dnspanel.zones.models import RevisionKind
from dnspanel.zones.plan.merge import Conflict
from dnspanel.zones.plan.plan import ZonePlan
from dnspanel.zones.rights.access import Visibility, may_know_author
from dnspanel.zones.rules.violations import Violation
from replication.dns import rdata
from replication.dns.rrset import Change, RRset

ROOT_URL = "/api/v2"


def time_json(at: datetime) -> str:
    """Format a time as in RFC 3339, in UTC with microseconds."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def code_of(word: str) -> str:
    """Convert a term from the panel's pages to an API code: lowercase, with hyphens for spaces."""
    return word.lower().replace(" ", "-")


def rrset_json(rrset: RRset) -> dict[str, Any]:
    """Return an RRset as JSON with its name and type, but without spellings."""
    if rrset.notes.spellings:
        rrset = replace(rrset, notes=rrset.notes.without_spellings)
    return {"name": rrset.name, "type": rdata.type_to_text(rrset.type), **rrset.to_json()}


def optional_rrset_json(rrset: RRset | None) -> dict[str, Any] | None:
    return None if rrset is None else rrset_json(rrset)


def zone_url(name: str) -> str:
    """Return a zone's URL. A slash in the name is escaped as in DNS, because it would split the path."""
    return f"{ROOT_URL}/zones/{_segment(name)}"


def rrset_url(zone_name: str, name: str, type: int) -> str:
    return f"{zone_url(zone_name)}/rrsets/{_segment(name)}/{rdata.type_to_text(type)}"


def trash_url(zone_id: int) -> str:
    return f"{ROOT_URL}/trash/{zone_id}"


def publication_url(sequence: int) -> str:
    return f"{ROOT_URL}/publications/{sequence}"


def violation_json(violation: Violation) -> dict[str, Any]:
    """Return a broken rule as JSON."""
    return {
        "severity": str(violation.severity),
        "code": violation.code,
        "name": violation.name,
        "type": rdata.type_to_text(violation.type),
        "message": violation.message,
    }


def conflict_json(conflict: Conflict) -> dict[str, Any]:
    """Return all three versions of a conflicting RRset (base, theirs, mine)."""
    return {
        "zone": conflict.zone_name,
        "operation": conflict.operation_id,
        "name": conflict.change.name,
        "type": rdata.type_to_text(conflict.change.type),
        "base": optional_rrset_json(conflict.change.before),
        "theirs": optional_rrset_json(conflict.theirs),
        "mine": optional_rrset_json(conflict.change.after),
    }


def change_json(change: Change) -> dict[str, Any]:
    """Return a changed RRset before and after the change."""
    return {
        "name": change.name,
        "type": rdata.type_to_text(change.type),
        "before": optional_rrset_json(change.before),
        "after": optional_rrset_json(change.after),
    }


def plan_json(plan: ZonePlan, visibility: Visibility | None) -> dict[str, Any]:
    """Return a publication's actual or planned effect on one zone. Omit RRsets that aren't visible."""
    return {
        **moved_json(plan),
        "kind": str(RevisionKind.CHANGE),
        "changes": [change_json(change) for change in filter_visible(plan.changes, visibility)],
        "conflicts": [conflict_json(c) for c in plan.conflicts if visibility is None or visibility(*c.change.key)],
        "violations": [violation_json(violation) for violation in filter_visible(plan.violations, visibility)],
        "guard": list(plan.guard),
    }


def moved_json(plan: ZonePlan) -> dict[str, Any]:
    """Return a zone's revision and serial after a plan, and the numbers of added, changed and removed RRsets."""
    moves = bool(plan.changes)
    return {
        "zone": plan.zone.name,
        "revision": plan.zone.revision + moves,
        "serial": plan.serial if moves else plan.zone.serial,
        "added": plan.added,
        "changed": plan.changed,
        "removed": plan.removed,
    }


def operation_json(zone_name: str, row: RRsetRow) -> dict[str, Any]:
    """Return a draft's change to one RRset, with the published and the new version."""
    return {
        "operation": row.operation_id,
        "zone": zone_name,
        "name": row.change.name,
        "type": rdata.type_to_text(row.change.type),
        "published": optional_rrset_json(row.change.before),
        "wanted": optional_rrset_json(row.change.after),
        "mark": row.mark,
        "conflict": row.conflict,
    }


def revision_json(zone_name: str, row: HistoryRow, actor: Actor) -> dict[str, Any]:
    """Return a revision in a zone's history. Omit author and reason if the actor isn't allowed to see them."""
    knows = may_know_author(actor, row.token_id)
    return {
        "zone": zone_name,
        "revision": row.number,
        "sequence": row.sequence,
        "at": time_json(row.at),
        "actor": actor_form(row.username, row.token) if knows else None,
        "channel": row.channel,
        "kind": row.kind,
        "serial": row.serial,
        "added": row.added,
        "changed": row.changed,
        "removed": row.removed,
        "reason": row.reason if knows else "",
    }


def _segment(name: str) -> str:
    return quote(name.replace("/", "\\047"), safe="*@")
