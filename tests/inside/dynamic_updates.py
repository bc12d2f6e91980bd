"""A zone, and keys and tokens that can change it."""

from typing import Any

from django.utils import timezone

from dnspanel.accounts.models import User
from dnspanel.accounts.tokens import presets, tokens
from dnspanel.zones.acting import Acting
from dnspanel.zones.models import Zone
from dnspanel.zones.publishing import edit


def prepare(name: str) -> Any:
    """Create a zone with a key for all of it, a key for a challenge and a token for a host. Return the secrets."""
    now = timezone.now()
    owner = User.objects.get(username="dynamo")
    zone = edit.create_zone(zone=edit.NewZone(name), acting=Acting(owner, "web", now))
    zone = Zone.objects.get(name=name, deleted_at=None)
    ci = presets.ci_terms(zone_id=zone.pk, zone_name=zone.name, now=now)
    acme = presets.acme_terms(zone_id=zone.pk, name=f"www.{name}", now=now)
    host = presets.dyndns_terms(zone_id=zone.pk, name=f"home.{name}", now=now)
    key = {"owner": owner, "by": owner, "now": now}
    return {
        "whole": tokens.create_tsig_key(name="whole.key.", terms=ci, **key).secret,
        "acme": tokens.create_tsig_key(name="acme.key.", terms=acme, algorithm="hmac-sha512", **key).secret,
        "token": tokens.create_token(terms=host, **key).secret,
    }
