"""Preview a signing change for many zones in a dry run, with all reasons for rejection.

Nothing is written and no key is generated. The real change can have another result if zones change in between.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from dnspanel.accounts.actors.actors import Person, Right
from dnspanel.zones.dnssec.queries import signing_of, signing_of_zones
from dnspanel.zones.dnssec.signing_state import UNSIGNED, KeyState, SigningState
from dnspanel.zones.errors import DnssecRefused, RightMissing, ZoneError
from dnspanel.zones.models import Zone
from dnspanel.zones.names.nesting import ds_above
from dnspanel.zones.rights import access
from dnspanel.zones.signing.guarded import open_rollovers, refuse_step
from dnspanel.zones.signing.presigned import without_signatures
from dnspanel.zones.signing.safety import refuse_bogus, refuse_presigned
from dnspanel.zones.signing.sign import RequestedSigning, refuse_nsec3


@dataclass(frozen=True, slots=True)
class SigningPlan:
    """The planned signing of one zone. If `refusal` is set, nothing changes."""

    zone: Zone
    before: SigningState
    after: SigningState
    refusal: ZoneError | None = None

    @property
    def changes(self) -> bool:
        return self.after != self.before


def plan_signing(*, zones: Sequence[Zone], requested: RequestedSigning, person: Person) -> list[SigningPlan]:
    """Return the effect of `sign.settle_zones` on each zone. Raise DnssecRefused for invalid NSEC3 parameters."""
    refuse_nsec3(requested.nsec3)
    states = signing_of_zones([zone.pk for zone in zones])
    above = ds_above([zone.name for zone in zones])
    rolled = open_rollovers(zones)
    plans = []
    for zone in zones:
        before = states.get(zone.pk, UNSIGNED)
        try:
            access.require_right(person, zone, Right.DNSSEC)
            refuse_presigned(zone, before)
            after = requested.of(zone, before, _keys_to_make(requested))
            if after != before:
                refuse_step(zone, before, after, rolled)
                refuse_bogus(zone, before, after, above[zone.name].ds if zone.name in above else ())
            plans.append(SigningPlan(zone, before, after))
        except (RightMissing, DnssecRefused) as refusal:
            plans.append(SigningPlan(zone, before, before, refusal))
    return plans


def plan_dropping(*, zones: Sequence[Zone], person: Person) -> list[SigningPlan]:
    """Return the effect of `presigned.drop_signatures` on each zone, or the reason why the zone can't change."""
    plans = []
    for zone in zones:
        try:
            access.require_right(person, zone, Right.DNSSEC)
            [(before, after)] = without_signatures([zone]).values()
            plans.append(SigningPlan(zone, before, after))
        except (RightMissing, DnssecRefused) as refusal:
            before = signing_of(zone)
            plans.append(SigningPlan(zone, before, before, refusal))
    return plans


def _keys_to_make(requested: RequestedSigning) -> list[KeyState]:
    """Return placeholders for new keys, with negative ids."""
    new = requested.new_keys
    return [KeyState(-index, new.algorithm, flags) for index, flags in enumerate(new.flags, 1)]
