"""Find delegations at a wildcard, which a zone signed by the panel must not contain.

PowerDNS answers queries for every name that matches the wildcard with its NS records, without a proof that the
delegation is unsigned. Validating resolvers treat such answers as forged. RFC 4592 section 4.2 leaves the meaning of
wildcard delegations undefined.
"""

from collections.abc import Collection, Iterable, Mapping

from dnspanel.texts import gettext
from dnspanel.zones.errors import DnssecRefused, RuleViolations
from dnspanel.zones.models import RRset as StoredRRset
from dnspanel.zones.models import Zone
from dnspanel.zones.rules.violations import Severity, Violation
from replication.dns import rdtypes


def is_wildcard_cut(name: str, type: int) -> bool:
    """Return True if an RRset with this name and type delegates a wildcard."""
    return type == rdtypes.NS and name.startswith("*.")


def violation_of(name: str) -> Violation:
    """Return the error for a delegation of this wildcard in a signed zone."""
    message = gettext(
        "a signed zone can’t have NS records at the wildcard {name} because validating resolvers would "
        "reject all answers below it"
    ).format(name=name)
    return Violation(Severity.ERROR, "wildcard-ns", name, rdtypes.NS, message)


def wildcard_cuts(zone_ids: Collection[int]) -> dict[int, str]:
    """Return one delegated wildcard for each zone that has one, keyed by zone id, in one query."""
    rows = StoredRRset.objects.filter(zone__in=zone_ids, type=rdtypes.NS, name__startswith="*.")
    return {row.zone_id: row.name for row in rows.order_by("name") if len(row.disabled) < len(row.rdata)}


def refuse_to_sign(zone: Zone, wildcards: Mapping[int, str] | None = None) -> None:
    """Raise DnssecRefused if the zone delegates a wildcard. `wildcards` can be an earlier result of `wildcard_cuts`."""
    found = (wildcard_cuts([zone.pk]) if wildcards is None else wildcards).get(zone.pk)
    if found is not None:
        raise DnssecRefused(
            gettext("{name} cannot be signed: {reason}. Delete these NS records first.").format(
                name=zone.name, reason=violation_of(found).message
            )
        )


def refuse_wildcard_cuts(wildcards: Iterable[str]) -> None:
    """Raise RuleViolations if `wildcards` isn't empty, because a new signed zone must not delegate a wildcard."""
    violations = [violation_of(name) for name in wildcards]
    if violations:
        raise RuleViolations(violations)
