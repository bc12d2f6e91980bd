"""What a person is told where they are about to add something and little of a quota is left."""

from django.utils import timezone

from dnspanel.accounts.models import User
from dnspanel.accounts.quota_amounts import Kind
from dnspanel.accounts.quotas import holders_for
from dnspanel.transfer.quotas import usage_of_kind


def near_quotas(user: User, *kinds: Kind) -> list[str]:
    """Return a message for each of these quotas, the person's and those of their teams, that is nearly used up."""
    now = timezone.now()
    found = []
    for holder in holders_for(user):
        for kind in kinds:
            if holder.limits[kind] is not None and (usage := usage_of_kind(holder, kind, now)).is_near:
                found.append(f"{f'The team {holder.team} has' if holder.team else 'You have'} {usage.message}")
    return found
