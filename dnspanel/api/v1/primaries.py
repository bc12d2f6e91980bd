"""Create and change API v1 zones of kind Slave and Consumer, which are transferred from other primaries. Verbs."""

import base64
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any

from dnspanel.accounts.actors.actors import Actor
from dnspanel.accounts.errors import TokenUnknown
from dnspanel.accounts.models import Token
from dnspanel.accounts.tokens import tsig_keys
from dnspanel.accounts.tokens.tokens import tsig_secret
from dnspanel.api.v1.view import Refusal, shorten_text
from dnspanel.catalogs import set_up_catalogs as catalogs
from dnspanel.catalogs.errors import CatalogError
from dnspanel.primaries import set_up_primaries
from dnspanel.primaries.errors import NotTransferred, PrimaryError
from dnspanel.primaries.primary_keys import key_name_of
from dnspanel.primaries.set_up_primaries import Terms
from dnspanel.zones.acting import Acting
from dnspanel.zones.models import Channel, Publication, Zone

SLAVE = "Slave"
PRODUCER = "Producer"
CONSUMER = "Consumer"
ELSEWHERE = frozenset((SLAVE, CONSUMER))
# Names of the TSIG keys for transfers from the zone's primaries. They are keys of `/tsigkeys`, whose secrets are
# copied.
PRIMARY_KEYS = "slave_tsig_key_ids"


def create(*, name: str, attributes: Mapping[str, Any], actor: Actor, now: datetime) -> Publication:
    """Create a zone that is transferred from its masters. If its kind is Consumer, use it as a catalog.

    The zone waits for its first transfer. Raise Refusal (422) for an unknown TSIG key, a CatalogError or a
    PrimaryError. Unlike in PowerDNS, a zone without masters is rejected, because it would never be transferred.
    """
    terms = _terms(None, attributes.get("masters", []), attributes.get(PRIMARY_KEYS), actor)
    with named_refusals():
        if attributes["kind"] == CONSUMER:
            catalog = catalogs.follow_catalog(
                name=name, primaries_terms=terms, terms=catalogs.CatalogTerms(), acting=Acting(actor, Channel.API, now)
            )
            return Publication.objects.get(sequence=catalog.zone.sequence)
        return set_up_primaries.create_transferred_zone(name=name, terms=terms, acting=Acting(actor, Channel.API, now))


def refuse_keys_without_primaries(attributes: Mapping[str, Any], zone_name: str) -> None:
    """Raise Refusal (422) if TSIG keys are given for a zone that isn't transferred from other primaries."""
    if attributes.get(PRIMARY_KEYS):
        raise Refusal(422, f"Zone '{zone_name}' has no masters to be transferred from, by a TSIG key or without")


def follow_kind(*, zone: Zone, attributes: Mapping[str, Any], actor: Actor, now: datetime) -> None:
    """Apply the kind, masters and TSIG key from a PUT to the zone's primaries. Do nothing if all are missing.

    - Kind Slave: transfer the zone from the masters, with the named or the current key. Stop using it as a catalog.
    - Kind Consumer: transfer the zone in the same way, and use it as a catalog.
    - Another kind: the panel takes the zone over and becomes its primary.

    Raise Refusal (422) if the zone can't have these values.
    """
    if zone.is_producer or attributes.get("kind") == PRODUCER:
        _refuse_producer(zone, attributes)
        return
    there = CONSUMER if zone.is_catalog else SLAVE if zone.transferred_from else ""
    kind = attributes.get("kind", there)
    if kind not in ELSEWHERE:
        refuse_keys_without_primaries(attributes, zone.name)
    with named_refusals():
        if kind in ELSEWHERE and ("masters" in attributes or (zone.transferred_from and PRIMARY_KEYS in attributes)):
            masters = attributes["masters"] if "masters" in attributes else set_up_primaries.row_of(zone).addresses
            terms = _terms(zone, masters, attributes.get(PRIMARY_KEYS), actor)
            if not set_up_primaries.comes_by(zone, terms):
                set_up_primaries.set_primaries(zone=zone, terms=terms, acting=Acting(actor, Channel.API, now))
        elif kind in ELSEWHERE and not zone.transferred_from:
            raise Refusal(422, f"Zone '{zone.name}' has no masters to be transferred from")
        elif kind not in ("", *ELSEWHERE) and zone.transferred_from:
            set_up_primaries.take_over(zone=zone, acting=Acting(actor, Channel.API, now))
        if kind == CONSUMER and there != CONSUMER:
            catalogs.follow_zone(zone=zone, author=actor, now=now)
        elif kind == SLAVE and there == CONSUMER:
            catalogs.release_zone(zone=zone, author=actor, now=now)


def _refuse_producer(zone: Zone, attributes: Mapping[str, Any]) -> None:
    """Raise Refusal (422) if a PUT changes a zone into a producer catalog or back, or sets TSIG keys on a catalog."""
    if not zone.is_producer:
        raise Refusal(422, f"Zone '{zone.name}' cannot become a catalog: create a zone of kind {PRODUCER}")
    if attributes.get("kind", PRODUCER) != PRODUCER:
        raise Refusal(422, f"Zone '{zone.name}' is a catalog and stays one: delete it")
    refuse_keys_without_primaries(attributes, zone.name)


def retrieve(*, zone: Zone, actor: Actor, now: datetime) -> str:
    """Queue a full transfer and return PowerDNS's message. Raise Refusal (422) if the panel is the zone's primary."""
    try:
        row = set_up_primaries.ask_now(zone=zone, author=actor, now=now, wants_all=True)
    except NotTransferred as exc:
        raise Refusal(422, f"Domain '{zone.name}' is not a slave domain (or has no master defined)") from exc
    return f"Added retrieval request for '{zone.name}' from primary {row.addresses[0]}"


def _terms(zone: Zone | None, masters: Sequence[str], key_names: Sequence[str] | None, actor: Actor) -> Terms:
    """Return the settings for transfers from these masters with the named TSIG key.

    If `key_names` is None, keep the zone's current key; if it is empty, use no key. The TLS settings don't change.
    Raise Refusal (422) for an unknown key, or for more than one.
    """
    there = Terms(masters) if zone is None else set_up_primaries.moved_to(zone, masters)
    if key_names is None:
        return there
    if not key_names:
        return replace(there, tsig_name="")
    if len(key_names) > 1:
        raise Refusal(422, f"A zone has one TSIG key for all of its masters, not {len(key_names)}")
    key = _own_key(actor, key_names[0])
    if key is not None:
        secret = base64.b64encode(tsig_secret(key)).decode()
        return replace(there, tsig_name=key_names[0], tsig_algorithm=key.tsig_algorithm, tsig_secret=secret)
    if zone is not None and key_name_of(zone) == key_names[0]:  # set on the zone's page, sent back unchanged
        return there
    raise Refusal(422, f"A TSIG key with the name '{shorten_text(key_names[0])}' does not exist for zone transfers")


def _own_key(actor: Actor, name: str) -> Token | None:
    """Return the key with this name if the actor owns it, or None.

    With another user's key, the actor could transfer zones that only that user is allowed to transfer.
    """
    try:
        key = tsig_keys.tsig_key_for(actor, name)
    except TokenUnknown:
        return None
    return key if key.owner_id == actor.user.pk else None


@contextmanager
def named_refusals() -> Iterator[None]:
    """Convert a CatalogError or PrimaryError within the block to a Refusal (422)."""
    try:
        yield
    except (CatalogError, PrimaryError) as exc:
        raise Refusal(422, str(exc)) from exc
