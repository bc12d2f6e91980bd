"""Prepare a zone's DNSSEC policy for its DNSSEC page."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils import timezone

from dnspanel.texts import gettext
from dnspanel.zones.dnssec import policy_queries
from dnspanel.zones.dnssec.policy import ROLLING, Act, Difference, differences, due
from dnspanel.zones.dnssec.signing_state import KeyView, SigningState
from dnspanel.zones.models import Zone
from dnspanel.zones.signing.first_ds import awaiting_first_ds


@dataclass(frozen=True, slots=True)
class ZonePolicy:
    """A zone's policy, the differences between zone and policy, and the tags of keys that exceed their lifetime."""

    applied: policy_queries.Applied
    differences: list[Difference]
    old_keys: list[int]
    waits: str = ""  # the reason why differences aren't listed yet
    refusal: str = ""  # the reason why a due rollover doesn't start automatically

    @property
    def can_follow(self) -> bool:
        """True if one click can remove at least one difference, and no difference is refused."""
        acts = {each.act for each in self.differences}
        return Act.REFUSED not in acts and bool(acts & {Act.SIGN, Act.DENIAL, Act.CDS})


def zone_policy_of(zone: Zone, state: SigningState, keys: Sequence[KeyView], *, is_rolling: bool) -> ZonePolicy | None:
    """Return the zone's policy and differences (none during a rollover), or None if the zone has no policy."""
    applied = policy_queries.applied_to(zone)
    if applied is None:
        return None
    if is_rolling:
        return ZonePolicy(applied, [], [], waits=gettext(ROLLING))
    made = {key.id: key.created_at for key in keys}
    ids = {id for each in due(applied.terms, state, made, timezone.now()) for id in each.key_ids}
    old = [key.tag for key in keys if key.id in ids]
    refusal = policy_queries.due_refusal_of(zone)
    awaits_ds = zone.pk in awaiting_first_ds([zone], {zone.pk: applied.terms})
    return ZonePolicy(applied, differences(applied.terms, state, awaits_ds=awaits_ds), old, refusal=refusal)
