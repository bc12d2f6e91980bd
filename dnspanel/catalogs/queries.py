"""Read the state, the members and the problems of consumer catalogs, for pages, the API and alerts.

The module also finds the name of a zone's catalog.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Case, Count, Exists, OuterRef, Q, Subquery, TextField, Value, When
from django.db.models.expressions import Combinable
from django.db.models.functions import Coalesce, NullIf

from dnspanel.accounts.actors.actors import Person
from dnspanel.catalogs.access import catalogs_visible_to, listings_visible_to
from dnspanel.catalogs.models import Catalog, Listing, Produced, Producer, State
from dnspanel.texts import gettext, ngettext
from dnspanel.zones.models import Zone


@dataclass(frozen=True, slots=True)
class CatalogRow:
    """A consumer catalog, with its number of members and its number of refused zones."""

    catalog: Catalog
    members: int
    refused: int

    @property
    def word(self) -> str:
        """The catalog's worst state, in one or two words."""
        if self.catalog.broken_since is not None:
            return "broken"
        if self.catalog.kept_since is not None:
            return "kept"
        if self.catalog.zone.transferred.serial is None:
            return "awaited"
        if self.catalog.zone.transferred.failed_since is not None:
            return "failing"
        return "refused" if self.refused else "in step"


@dataclass(frozen=True, slots=True)
class CatalogTrouble:
    """A catalog with a problem, the time when the problem began, and the message."""

    zone_name: str
    since: datetime
    message: str


def catalog_rows(person: Person) -> list[CatalogRow]:
    """Return all consumer catalogs, sorted by name, with two queries. Raise Forbidden if the person can't see nodes."""
    return rows_of(list(catalogs_visible_to(person).order_by("zone__name")))


def rows_of(catalogs: Sequence[Catalog]) -> list[CatalogRow]:
    """Return a row for each of these catalogs, with one query."""
    counted = (
        Listing.objects.filter(catalog__in=catalogs)
        .order_by()
        .values("catalog")
        .annotate(members=Count("pk", filter=Q(state=State.MEMBER)), refused=Count("pk", filter=Q(state=State.REFUSED)))
    )
    by_id = {row["catalog"]: (row["members"], row["refused"]) for row in counted}
    return [CatalogRow(each, *by_id.get(each.pk, (0, 0))) for each in catalogs]


def catalog_row(catalog: Catalog) -> CatalogRow:
    """Return the row of one catalog."""
    return rows_of([catalog])[0]


def listings_page(
    person: Person, catalog: Catalog, *, search: str = "", state: str = "", after: str = "", limit: int = 50
) -> list[Listing]:
    """Return the zones that a catalog lists and that the person is allowed to see, sorted by name.

    At most `limit` zones are returned: those in the given state whose names begin with `search` and come after `after`.
    """
    found = listings_visible_to(person, catalog).order_by("zone_name")
    if search:
        found = found.filter(zone_name__startswith=search)
    if state:
        found = found.filter(state=state)
    return list((found.filter(zone_name__gt=after) if after else found)[:limit])


def troubled_catalogs() -> list[CatalogTrouble]:
    """Return the catalogs that are broken, have kept removals, or have refused members, oldest problem first.

    Kept removals wait for a confirmation. This takes two queries, and one for each catalog with refused members.
    """
    found = []
    for row in rows_of(list(Catalog.objects.filter(zone__deleted_at=None).select_related("zone__transferred"))):
        catalog, name = row.catalog, row.catalog.zone.name
        if catalog.broken_since is not None:
            broken = gettext("The catalog is broken: {reason}").format(reason=catalog.broken_reason)
            found.append(CatalogTrouble(name, catalog.broken_since, broken))
        elif catalog.kept_since is not None:
            kept = gettext(
                "{count:,} of {members:,} members left the catalog at once. They stay until someone confirms the "
                "removal."
            ).format(count=catalog.kept_count, members=row.members)
            found.append(CatalogTrouble(name, catalog.kept_since, kept))
        elif row.refused and (first := _first_refused(catalog)) is not None:
            refused = ngettext(
                "{count} listed zone was refused ({name}): {reason}",
                "{count:,} listed zones were refused. The first is {name}: {reason}",
                row.refused,
            ).format(count=row.refused, name=first.zone_name, reason=first.reason)
            found.append(CatalogTrouble(name, first.since, refused))
    return sorted(found, key=lambda each: (each.since, each.zone_name))


def catalogs_by_member(said: str) -> Combinable | None:
    """Return an expression for the catalog name of each zone, or None if there are no catalogs. This takes one query.

    The name is the first of these that exists: the producer catalog that lists the zone; the value of the field named
    `said`, unless it is the name of a producer catalog; the consumer catalog that created the zone.
    """
    if not Catalog.objects.values_list("pk").union(Producer.objects.values_list("pk"))[:1]:
        return None
    ours = Produced.objects.filter(zone=OuterRef("pk")).values("catalog__name")
    other = Producer.objects.filter(zone__name=OuterRef(said), zone__deleted_at=None)
    of_others = Listing.objects.filter(zone=OuterRef("pk"), state=State.MEMBER).values("catalog__zone__name")
    kept = Case(When(Exists(other), then=None), default=NullIf(said, Value("")), output_field=TextField())
    return Coalesce(Subquery(ours), kept, Subquery(of_others[:1]), output_field=TextField())


def catalog_name_of(zone: Zone, said: str) -> str:
    """Return the catalog name of one zone, like `catalogs_by_member`, or "" if the zone is in no catalog.

    A zone that was loaded with `produced` usually needs no query.
    """
    ours: Produced | None = getattr(zone, "produced", None)
    if ours is not None:
        return ours.catalog.name
    if said and not Producer.objects.filter(zone__name=said, zone__deleted_at=None).exists():
        return said
    if not zone.transferred_from:
        return ""
    found = Listing.objects.filter(zone=zone, state=State.MEMBER).values_list("catalog__zone__name", flat=True)
    return found.first() or ""


def _first_refused(catalog: Catalog) -> Listing | None:
    return Listing.objects.filter(catalog=catalog, state=State.REFUSED).order_by("zone_name").first()
