"""Tokens and TSIG keys for clients of the APIs."""

from typing import Any

from django.utils import timezone

from dnspanel.accounts.actors.actors import EVERY_RIGHT, Grant, Permission, actor_of
from dnspanel.accounts.models import User
from dnspanel.accounts.tokens import presets, tokens
from dnspanel.zones.models import Zone


def make_token(request: dict[str, str]) -> Any:
    """Create a token or TSIG key for a client, and return its secret."""
    now = timezone.now()
    owner = User.objects.get(username=request["owner"])
    found = Zone.objects.filter(name=request["zone"], deleted_at=None).first()
    if request["use"] == "acme":
        terms = presets.acme_terms(zone_id=found.pk, name=request["name"], now=now)
    elif request["use"] == "tsig":
        terms = presets.ci_terms(zone_id=found.pk, zone_name=found.name, now=now)
    else:
        scope, permissions = (Grant(EVERY_RIGHT, everywhere=True),), frozenset({Permission.FLEET})
        terms = tokens.TokenTerms(purpose="automation", scope=scope, permissions=permissions)
    if request["use"] == "tsig":
        new = tokens.create_tsig_key(owner=owner, name=request["name"], terms=terms, by=actor_of(owner), now=now)
    else:
        new = tokens.create_token(owner=owner, terms=terms, by=actor_of(owner), now=now)
    return new.secret
