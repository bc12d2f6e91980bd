"""Produced and consumed catalogs, and their members."""

from typing import Any

from django.conf import settings
from django.db.models import F
from django.utils import timezone

from dnspanel.accounts.actors.actors import Grant, Right
from dnspanel.accounts.models import User
from dnspanel.accounts.tokens.tokens import TokenTerms
from dnspanel.accounts.tokens.tsig_keys import create_tsig_key
from dnspanel.catalogs import ownership_change, producer, set_up_catalogs
from dnspanel.catalogs.models import Leaving
from dnspanel.catalogs.tasks import follow_producers
from dnspanel.primaries.set_up_primaries import Terms
from dnspanel.secondaries import keyless, members
from dnspanel.secondaries import set_up_secondaries as set_up_secondary
from dnspanel.secondaries.configuration import parts_for
from dnspanel.secondaries.models import Member, Secondary
from dnspanel.secondaries.secondary_catalog import catalog_name
from dnspanel.zones.acting import Acting
from dnspanel.zones.models import Zone
from dnspanel.zones.publishing import edit, zone_patches
from replication.dns.rrset import make


def follow(name: str, address: str) -> None:
    """Consume another server's catalog."""
    set_up_catalogs.follow_catalog(
        name=name,
        primaries_terms=Terms([address]),
        terms=set_up_catalogs.CatalogTerms(),
        acting=Acting(User.objects.get(username="cata"), "web", timezone.now()),
    )


def set_up_secondaries(kind: str, port: int, name: str) -> Any:
    """Create a zone, and two secondaries of the same kind on one port. Return their configurations."""
    owner = User.objects.get(username="cata")
    edit.create_zone(zone=edit.NewZone(name), acting=Acting(owner, "web", timezone.now()))
    Zone.objects.filter(name=name).update(tags=["gold"])
    found = []
    for tag in ("gold", "silver"):
        terms = set_up_secondary.Terms(f"{kind}-{tag}", [f"127.0.0.1:{port}"], kind=kind, choice="tag", tag=tag)
        made = set_up_secondary.create_secondary(terms=terms, by=owner, now=timezone.now())
        parts = parts_for(made.secondary, gateways=settings.GATEWAY_ADDRESSES, secret=made.secret)
        found.append([part.text for part in parts])
    return found


def move(kind: str, name: str, tag: str) -> None:
    """Move a zone to the other secondary's catalog, by its tag."""
    Zone.objects.filter(name=name).update(tags=[tag])
    for pk in Secondary.objects.filter(name__startswith=f"{kind}-").values_list("pk", flat=True):
        members.follow(secondary_id=pk, now=timezone.now())


def let_an_hour_pass(kind: str) -> None:
    """Move the start of a change of ownership into the past, so that it ends."""
    mine = Secondary.objects.filter(name__startswith=f"{kind}-")
    Member.objects.filter(secondary__in=mine).update(coo_since=F("coo_since") - members.SAYS_WHERE)
    for pk in mine.values_list("pk", flat=True):
        members.follow(secondary_id=pk, now=timezone.now())


def produce(name: str, members: list[str], ports: dict[str, int], keys: str) -> Any:
    """Create a catalog with members. Return the configuration for each kind of server."""
    owner, now = User.objects.get(username="cata"), timezone.now()
    made = producer.create_catalog(name=name, group_tags=["bronze"], acting=Acting(owner, "web", now))
    for each in members:
        edit.create_zone(zone=edit.NewZone(each), acting=Acting(owner, "web", now))
    Zone.objects.filter(name__in=members[:1]).update(tags=["bronze"])
    producer.put_in(catalog=made, chosen=producer.Chosen(members), author=owner, now=now)
    keyless.notify_also(zone=made, addresses=[f"127.0.0.1:{port}" for port in ports.values()], by=owner, now=now)
    found = {}
    for kind in ports:
        terms = TokenTerms(kind, (Grant(frozenset({Right.READ}), everywhere=True),))
        key = create_tsig_key(owner=owner, name=f"{kind}.{keys}", terms=terms, by=owner, now=now)
        read = Secondary(
            pk=0,
            kind=kind.removeprefix("newer-"),
            tsig_name=key.token.tsig_name,
            tsig_algorithm=key.token.tsig_algorithm,
        )
        parts = parts_for(read, gateways=settings.GATEWAY_ADDRESSES, secret=key.secret)
        found[kind] = [part.text.replace(catalog_name(read)[:-1], name[:-1]) for part in parts]
    return found


def create_another(name: str, ports: dict[str, int]) -> None:
    """Create another empty catalog, which sends NOTIFY to these ports."""
    owner, now = User.objects.get(username="cata"), timezone.now()
    made = producer.create_catalog(name=name, acting=Acting(owner, "web", now))
    keyless.notify_also(zone=made, addresses=[f"127.0.0.1:{port}" for port in ports.values()], by=owner, now=now)


def put_in(name: str, zone: str) -> None:
    """Add a zone to a catalog."""
    producer.put_in(
        catalog=Zone.objects.get(name=name),
        chosen=producer.Chosen([zone]),
        author=User.objects.get(username="cata"),
        now=timezone.now(),
    )


def let_time_pass(name: str) -> None:
    """Move the start of a change of ownership into the past, by the period with this name."""
    Leaving.objects.update(told_at=F("told_at") - getattr(ownership_change, name))
    follow_producers()


def change_members(name: str, leaves: str, again: str) -> None:
    """Remove two zones from a catalog, and add one of them again."""
    how = {"catalog": Zone.objects.get(name=name), "author": User.objects.get(username="cata"), "now": timezone.now()}
    producer.take_out(zones=[leaves, again], **how)
    producer.put_in(chosen=producer.Chosen([again]), **how)


def edit_www(name: str, address: str) -> None:
    """Publish another address for the zone's www."""
    rrset = make(f"www.{name}", 1, 60, [address])
    patch = zone_patches.Patch(Zone.objects.get(name=name), lambda current: {(rrset.name, 1): rrset}, {rrset.name})
    acting = Acting(User.objects.get(username="cata"), "api", timezone.now())
    zone_patches.publish_patches(patches=[patch], acting=acting, confirmed=True)
