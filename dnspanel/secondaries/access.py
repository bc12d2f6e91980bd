"""Check the rights to set up secondaries, and the zones that secondaries and clients without a key can transfer."""

from django.db.models import Q, QuerySet

from dnspanel.accounts.actors.actors import Actor, Permission, Person, Right, actor_of, can
from dnspanel.database.first_rows import first_or
from dnspanel.pasted_certificates import fingerprints_of
from dnspanel.secondaries.errors import SecondaryUnknown, SeesTooLittle, TransferRefused
from dnspanel.secondaries.models import Member, OpenZone, Secondary, Transport, ZoneChoice
from dnspanel.secondaries.server_addresses import is_within
from dnspanel.secondaries.signed_zones import signer, withheld
from dnspanel.texts import gettext, gettext_noop
from dnspanel.zones.dnssec.queries import loaded_signing_of
from dnspanel.zones.errors import Forbidden, unserved_reason
from dnspanel.zones.models import PRODUCERS, Zone
from dnspanel.zones.rights.access import has_any_tag, require, zones_visible_to

SIGNED = gettext_noop(
    "The nodes sign {name}, but there is no canary to sign the transfer, and validating resolvers "
    "would reject unsigned answers."
)
NARROW = gettext_noop(
    "{name} is signed with narrow NSEC3. Narrow NSEC3 records can’t be transferred because they’re "
    "generated for each query."
)


def secondaries_visible_to(person: Person) -> QuerySet[Secondary]:
    """Return all secondaries if the person is allowed to see nodes. Raise Forbidden otherwise."""
    require(person, Permission.FLEET)
    return Secondary.objects.select_related("team")


def secondary_for(person: Person, pk: int) -> Secondary:
    """Return this secondary. Raise Forbidden if the person can't see nodes, SecondaryUnknown if it doesn't exist."""
    return first_or(secondaries_visible_to(person).filter(pk=pk), SecondaryUnknown)


def may_set_up(person: Person) -> bool:
    """Return True if this person is allowed to create, change and delete secondaries."""
    actor = actor_of(person)
    return actor is not None and can(actor, Permission.NODES) and actor.may_everywhere(Right.READ)


def require_set_up(person: Person) -> Actor:
    """Return the actor if it is allowed to set up secondaries. Raise Forbidden otherwise.

    This requires the right to read every zone, because a secondary can transfer every zone.
    """
    actor = actor_of(person)
    if actor is None or not can(actor, Permission.NODES):
        raise Forbidden(Permission.NODES)
    if not actor.may_everywhere(Right.READ):
        raise SeesTooLittle
    return actor


def members_visible_to(person: Person, secondary: Secondary) -> QuerySet[Member]:
    """Return the members (zones) of a secondary that this person is allowed to see."""
    members = Member.objects.filter(secondary=secondary, until=None)
    actor = actor_of(person)
    if actor is not None and actor.may_everywhere(Right.READ):
        return members
    return members.filter(zone__in=zones_visible_to(person))


def members_of_zone(person: Person, zone: Zone) -> QuerySet[Member]:
    """Return the zone's `Member` row for each secondary, or no rows if the person isn't allowed to see nodes."""
    if not can(person, Permission.FLEET):
        return Member.objects.none()
    return Member.objects.filter(zone=zone, until=None).select_related("secondary")


def chosen_zones(secondary: Secondary) -> QuerySet[Zone]:
    """Return the zones chosen for the secondary, including those that can't be transferred to it."""
    chosen = Zone.objects.filter(_zones_of_choice(secondary), deleted_at=None)
    # A producer catalog is only for secondaries that list it by name.
    return chosen if secondary.choice == ZoneChoice.LIST else chosen.exclude(PRODUCERS)


def zones_given_to(secondary: Secondary) -> QuerySet[Zone]:
    """Return the chosen served zones and producer catalogs that the secondary can transfer (not `withheld`)."""
    return chosen_zones(secondary).filter(Q(is_served=True) | PRODUCERS).exclude(withheld())


def withheld_zones_of(secondary: Secondary) -> QuerySet[Zone]:
    """Return the chosen zones that are withheld, because nodes sign them and no signed transfer is possible."""
    return chosen_zones(secondary).filter(withheld())


def zone_to_transfer(secondary: Secondary, name: str) -> Zone:
    """Return the zone with this canonical name. Raise TransferRefused if the secondary can't transfer it now."""
    zone = chosen_zones(secondary).filter(name=name).select_related("signing").first()
    if zone is None:  # a secondary that doesn't get the zone must not learn if the zone exists
        raise TransferRefused(
            gettext("{name} isn’t one of the zones for the secondary {name2}.").format(name=name, name2=secondary.name)
        )
    if not secondary.active:
        raise TransferRefused(gettext("The secondary {name} is disabled.").format(name=secondary.name))
    _refuse_ungiven(zone)
    return zone


def zone_open_to(name: str, address: str) -> Zone:
    """Return the zone with this canonical name if clients at this address can transfer it without a key.

    Otherwise raise TransferRefused. The message is the same for zones that aren't open and zones that don't exist.
    """
    found = OpenZone.objects.filter(zone__name=name, zone__deleted_at=None).select_related("zone__signing").first()
    if found is None or not is_within(address, found.networks, ()):
        raise TransferRefused(gettext("The transfer requires a TSIG key."))
    _refuse_ungiven(found.zone)
    return found.zone


def reason_against(zone: Zone) -> str:
    """Return the reason why no secondary can transfer this zone now, or "". The zone must be loaded with `signing`."""
    state = loaded_signing_of(zone)
    if state.is_signed and signer() is None:
        return gettext(SIGNED).format(name=zone.name)
    if state.nsec3 is not None and state.nsec3.narrow:
        return gettext(NARROW).format(name=zone.name)
    return "" if zone.is_transferable else unserved_reason(zone.name)


def _refuse_ungiven(zone: Zone) -> None:
    if reason := reason_against(zone):
        raise TransferRefused(reason)


def certificates_in_use() -> tuple[str, ...]:
    """Return the certificates (PEM) of all active secondaries, without duplicates."""
    found = Secondary.objects.filter(active=True).exclude(certificate="").values_list("certificate", flat=True)
    return tuple(sorted(set(found)))


def secondaries_at(address: str) -> list[int]:
    """Return the ids of the active secondaries that can transfer from this address."""
    found = Secondary.objects.filter(active=True).values_list("pk", "networks", "addresses")
    return [pk for pk, networks, addresses in found if is_within(address, networks, addresses)]


def require_transport(secondary: Secondary, *, over_tls: bool, certificate: str) -> None:
    """Raise TransferRefused if the connection lacks the TLS or the certificate that the secondary must use.

    `certificate` is the fingerprint of the client's certificate, or "" if the client didn't present one.
    """
    transport = Transport(secondary.transport)
    if transport == Transport.ANY:
        return
    if not over_tls:
        raise TransferRefused(gettext("The secondary {name} must use TLS for transfers.").format(name=secondary.name))
    if transport == Transport.CERTIFICATE and certificate not in fingerprints_of(secondary.certificate):
        message = (
            gettext("The secondary {name} presented a certificate other than its own.")
            if certificate
            else gettext("The secondary {name} must present its own certificate, but didn’t present one.")
        )
        raise TransferRefused(message.format(name=secondary.name))


def _zones_of_choice(secondary: Secondary) -> Q:
    match ZoneChoice(secondary.choice):
        case ZoneChoice.ALL:
            return Q()
        case ZoneChoice.TAG:
            return has_any_tag([secondary.tag])
        case ZoneChoice.TEAM:
            return Q(team=secondary.team_id) if secondary.team_id is not None else Q(pk__in=())
        case ZoneChoice.LIST:
            return Q(pk__in=secondary.zones.through.objects.filter(secondary=secondary).values("zone"))
