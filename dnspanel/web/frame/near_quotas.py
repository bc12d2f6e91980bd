"""Warnings about nearly exhausted quotas, for users who are about to add something."""

from django.utils import timezone

from dnspanel.accounts.models import User
from dnspanel.accounts.quotas.quota_amounts import Kind
from dnspanel.accounts.quotas.quotas import holders_for
from dnspanel.texts import gettext
from dnspanel.transfer.import_quotas import usage_of_kind


def near_quotas(user: User, *kinds: Kind) -> list[str]:
    """Return a message for each nearly exhausted quota of these kinds that the user or one of their teams has."""
    now = timezone.now()
    found = []
    for holder in holders_for(user):
        for kind in kinds:
            if holder.limits[kind] is not None and (usage := usage_of_kind(holder, kind, now)).is_near:
                message = gettext("Your usage: {usage}")
                if holder.team:
                    message = gettext("Usage for team {team}: {usage}")
                found.append(message.format(team=holder.team, usage=usage.message))
    return found
