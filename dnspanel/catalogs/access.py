"""Check the rights to see and set up consumer catalogs, and to see producer catalogs."""

from django.db.models import QuerySet

from dnspanel.accounts.actors.actors import Actor, Permission, Person, Right, actor_of, can
from dnspanel.catalogs.errors import CatalogUnknown
from dnspanel.catalogs.models import Catalog, Listing, Produced, Producer
from dnspanel.database.first_rows import first_or
from dnspanel.zones.errors import Forbidden
from dnspanel.zones.rights.access import require, zone_for_reading, zones_visible_to, zones_within_reach

# A catalog lets another server create zones here, set their content and delete them.
NEEDED = (Right.CREATE_ZONE, Right.ADD, Right.SETTINGS, Right.DELETE_ZONE)


def catalogs_visible_to(person: Person) -> QuerySet[Catalog]:
    """Return the consumer catalogs that aren't in the trash. Raise Forbidden if the person can't see nodes."""
    require(person, Permission.FLEET)
    return Catalog.objects.filter(zone__deleted_at=None).select_related("zone", "zone__transferred")


def catalog_for(person: Person, pk: int) -> Catalog:
    """Return the consumer catalog with this id. Raise CatalogUnknown, or Forbidden if the person can't see nodes."""
    return first_or(catalogs_visible_to(person).filter(pk=pk), CatalogUnknown)


def may_set_up(person: Person) -> bool:
    """Return True if the person is allowed to set up consumer catalogs."""
    actor = actor_of(person)
    return actor is not None and can(actor, Permission.NODES) and all(map(actor.may_everywhere, NEEDED))


def require_set_up(person: Person) -> Actor:
    """Return the person as an actor. Raise Forbidden if the person is not allowed to set up consumer catalogs."""
    actor = actor_of(person)
    if actor is None or not may_set_up(person):
        raise Forbidden(Permission.NODES)
    return actor


def listings_visible_to(person: Person, catalog: Catalog) -> QuerySet[Listing]:
    """Select a catalog's listings of zones that the person can see, or all of them if the person can read all zones."""
    listings = Listing.objects.filter(catalog=catalog).select_related("zone", "zone__transferred")
    actor = actor_of(person)
    if actor is not None and actor.may_everywhere(Right.READ):
        return listings
    return listings.filter(zone__in=zones_visible_to(person))


def producers_visible_to(person: Person) -> QuerySet[Producer]:
    """Return the producer catalogs that the person is allowed to see."""
    return Producer.objects.filter(zone__in=zones_visible_to(person)).select_related("zone")


def producer_for(person: Person, zone_name: str) -> Producer:
    """Return the producer catalog with this name.

    Raise Unknown if the person is not allowed to see the zone, or CatalogUnknown if the zone isn't a producer catalog.
    """
    return first_or(
        Producer.objects.filter(zone=zone_for_reading(person, zone_name)).select_related("zone"), CatalogUnknown
    )


def produced_visible_to(person: Person, producer: Producer) -> QuerySet[Produced]:
    """Return the members of a producer catalog that the person is allowed to see, including zones in the trash."""
    found = Produced.objects.filter(catalog=producer.pk).select_related("zone")
    return found.filter(zone__in=zones_within_reach(person, Right.READ))
