"""Define token terms for the most common tasks. `tokens.create_token` creates tokens with these terms. Pure.

A preset gives only the rights that its task needs, because its tokens are stored in files on other machines.
"""

from datetime import datetime, timedelta
from enum import StrEnum

from dnspanel.accounts.actors.actors import RECORD_RIGHTS, Grant, Permission, Right
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import LIFETIME
from replication.dns import names, rdtypes

UNUSED_DAYS = 90
ACME_LABEL = "_acme-challenge"
_EDIT = RECORD_RIGHTS | {Right.READ}


class Preset(StrEnum):
    """A common task for a token. The value is its name in URLs and the API."""

    ACME = "acme"
    DYNDNS = "dyndns"
    CI = "ci"
    MONITORING = "monitoring"
    CUSTOM = "custom"

    @property
    def label(self) -> str:
        """The preset's name on pages."""
        return _LABELS[self]


_LABELS = {
    Preset.ACME: "ACME for one name",
    Preset.DYNDNS: "Dynamic DNS for one host",
    Preset.CI: "CI for one zone",
    Preset.MONITORING: "read-only monitoring",
    Preset.CUSTOM: "custom",
}


def acme_name(name: str) -> str:
    """Return the name of the ACME challenge for a certificate for `name` (canonical).

    `*.x` and `x` have the same challenge name. Raise BadName if the challenge name is too long.
    """
    return names.parse(f"{ACME_LABEL}.{name.removeprefix('*.')}")


def acme_terms(*, zone_id: int, name: str, now: datetime, purpose: str = "") -> TokenTerms:
    """Return terms for a certificate client, which can only edit the TXT records at this name's `_acme-challenge`."""
    challenge = acme_name(name)
    grant = Grant(_EDIT, zones=frozenset({zone_id}), names=(exactly(challenge),), types=frozenset({rdtypes.TXT}))
    return _terms(purpose or f"ACME for {_spoken(name)}", now, grant, unused_days=UNUSED_DAYS)


def dyndns_terms(*, zone_id: int, name: str, now: datetime, purpose: str = "") -> TokenTerms:
    """Return terms for a router, which can only edit one host's addresses (A and AAAA)."""
    types = frozenset({rdtypes.A, rdtypes.AAAA})
    grant = Grant(_EDIT, zones=frozenset({zone_id}), names=(exactly(name),), types=types)
    return _terms(purpose or f"dyndns for {_spoken(name)}", now, grant, unused_days=UNUSED_DAYS)


def ci_terms(*, zone_id: int, zone_name: str, now: datetime, purpose: str = "") -> TokenTerms:
    """Return terms for a pipeline that can edit all records of one zone, but not its settings."""
    grant = Grant(_EDIT, zones=frozenset({zone_id}))
    return _terms(purpose or f"CI for {_spoken(zone_name)}", now, grant)


def monitoring_terms(*, now: datetime, purpose: str = "") -> TokenTerms:
    """Return terms for a monitoring program, which can read every zone and node that the owner sees."""
    grant = Grant(frozenset({Right.READ}), everywhere=True)
    return _terms(purpose or "Monitoring", now, grant, permissions=frozenset({Permission.FLEET}))


def exactly(name: str) -> str:
    """Return a pattern that matches only this name. The asterisk of a wildcard name is escaped."""
    return name.replace("*", "\\*")


def default_end(now: datetime) -> datetime:
    """Return the default expiry time of a token."""
    return now + LIFETIME


def _terms(
    purpose: str,
    now: datetime,
    grant: Grant,
    *,
    permissions: frozenset[Permission] = frozenset(),
    unused_days: int | None = None,
    lifetime: timedelta = LIFETIME,
) -> TokenTerms:
    return TokenTerms(
        purpose=purpose[:100],
        scope=(grant,),
        permissions=permissions,
        expires_at=now + lifetime,
        unused_days=unused_days,
    )


def _spoken(name: str) -> str:
    return name.rstrip(".") or "."
