"""Query conditions for `has:warning`, from complaints that `complaints_upkeep` stores after each publication."""

from collections.abc import Sequence
from typing import Any

from django.db.models import Case, Exists, OuterRef, Q, QuerySet, Value, When
from django.db.models.fields import BinaryField, BooleanField
from django.db.models.functions import Coalesce

from dnspanel.database.statement_time import SearchTooGeneral
from dnspanel.texts import gettext
from dnspanel.zones.models import Complaint, ComplaintProgress, Revision, Zone
from dnspanel.zones.search import queried_rrsets
from dnspanel.zones.search.terms import Search
from dnspanel.zones.store.store_rrsets import BEHIND_ALL_KEYS

FEW_ZONES = 6_000  # up to this number, zones are listed; beyond it, they are checked one by one
MOST_UNCHECKED = 2_000


def refuse_unless_known(search: Search) -> None:
    """Raise SearchTooGeneral if the search is for complaints and not all zones are checked yet (after an upgrade).

    Raise it for questions in a time that not all nodes have counted.
    """
    queried_rrsets.refuse_unless_counted(search)
    if not search.warnings:
        return
    at = ComplaintProgress.objects.first()
    if at is None or not at.is_complete:
        done = Zone.objects.filter(deleted_at=None, pk__lt=at.zone_id or 0).count() if at else 0
        total = Zone.objects.filter(deleted_at=None).count()
        raise SearchTooGeneral(
            gettext(
                "{typed} can’t be used across zones yet because only {done:,} of {total:,} zones have been "
                "checked. In the meantime, use this filter in a zone’s record table."
            ).format(typed=search.warnings[0].typed, done=done, total=total)
        )


def unchecked_zones(search: Search) -> int:
    """Count the zones published since the last checks, up to MOST_UNCHECKED. Return 0 if no term is `has:warning`."""
    if not search.warnings:
        return 0
    at = ComplaintProgress.objects.values_list("sequence", flat=True).first() or 0
    newer = Revision.objects.filter(publication__gt=at).order_by("-publication").values_list("zone_id", flat=True)
    return len(set(newer[:MOST_UNCHECKED]))


def _equal(column: str, outer: str) -> dict[str, OuterRef]:
    """Return two bounds in place of an equality, because PostgreSQL would hash the whole table for an equality."""
    return {f"{column}__gte": OuterRef(outer), f"{column}__lte": OuterRef(outer)}


_AT = {**_equal("zone", "zone"), "owner_key": OuterRef("owner_key"), "type": OuterRef("type")}


def zones_with(known: "QuerySet[Zone, Any]", rrsets: "QuerySet[Any] | None" = None) -> Q:
    """Return the query condition for zones with a complaint, or with a complaint about one of the given RRsets.

    `known` has the zones that the client can see. A complaint about a name in another zone counts only if `known` has
    that zone.
    """
    about = (
        Complaint.objects.filter(row_by_row(rrsets.filter(**_AT))) if rrsets is not None else Complaint.objects.all()
    )
    # Hidden zones are included, because checking the rights to very many zones would take longer than listing them.
    few = list(about.order_by().values_list("zone_id", flat=True).distinct()[: FEW_ZONES + 1])
    told = row_by_row(_visible_complaints(about, known).filter(**_equal("zone", "pk")))
    return Q(pk__in=few) & told if len(few) <= FEW_ZONES else told


def blocks_with(known: "QuerySet[Zone, Any]") -> Q:
    """Return the condition for search-text blocks with a complaint. `known` has the zones that the client can see."""
    said = _visible_complaints(Complaint.objects.all(), known).filter(
        **_equal("zone", "zone"), owner_key__gte=OuterRef("first_key")
    )
    end = Coalesce(OuterRef("end_key"), Value(BEHIND_ALL_KEYS), output_field=BinaryField())
    return row_by_row(said.filter(owner_key__lt=end))


def rrsets_with(known: "QuerySet[Zone, Any]") -> Q:
    """Return the condition for published or drafted RRsets with a complaint. `known` has the visible zones."""
    return row_by_row(_visible_complaints(Complaint.objects.all(), known).filter(**_AT))


def messages_about(
    keys: Sequence[tuple[int, bytes, int]], known: "QuerySet[Zone, Any]"
) -> dict[tuple[int, bytes, int], str]:
    """Return one visible complaint for each RRset with any, keyed by (zone id, owner key, type). Uses one query."""
    if not keys:
        return {}
    wanted = set(keys)
    rows = _visible_complaints(Complaint.objects.all(), known).filter(
        zone__in={zone for zone, _, _ in keys}, owner_key__in={key for _, key, _ in keys}
    )
    found: dict[tuple[int, bytes, int], str] = {}
    for zone, key, type, message in rows.order_by("into").values_list("zone_id", "owner_key", "type", "message"):
        if (place := (zone, bytes(key), type)) in wanted:
            found.setdefault(place, message)
    return found


def row_by_row(rows: "QuerySet[Any]") -> Q:
    """Return the query condition that `rows` is not empty, written as a CASE.

    For a plain EXISTS, PostgreSQL expects few rows and would read all rows first.
    """
    return Q(Case(When(Exists(rows), then=True), default=False, output_field=BooleanField()))


def _visible_complaints(complaints: "QuerySet[Complaint]", known: "QuerySet[Zone, Any]") -> "QuerySet[Complaint]":
    """Select the complaints that a client can see. `known` has the zones that the client can see."""
    leading = row_by_row(known.order_by().filter(**_equal("pk", "into")))
    return complaints.filter(Q(into=0) | leading)
