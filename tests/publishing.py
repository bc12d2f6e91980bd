"""A function that publishes RRsets directly, without a draft, as most tests need it."""

from datetime import datetime

from dnspanel.accounts.actors.actors import Author
from dnspanel.zones.acting import Acting
from dnspanel.zones.errors import NothingToPublish
from dnspanel.zones.models import Publication, Zone
from dnspanel.zones.plan.merge import Changes
from dnspanel.zones.publishing import zone_patches


def change_rrsets(
    *,
    zone: Zone,
    changes: Changes,
    author: Author,
    channel: str,
    now: datetime,
    reason: str = "",
    confirmed: bool = False,
) -> Publication:
    """Publish these RRsets of the zone (None: deleted). Raise NothingToPublish if nothing would change."""
    patch = zone_patches.Patch(zone, lambda current: changes, {name for name, _ in changes})
    outcome = zone_patches.publish_patches(
        patches=[patch], acting=Acting(author, channel, now, reason), confirmed=confirmed
    )
    if outcome.publication is None:
        raise NothingToPublish
    return outcome.publication
