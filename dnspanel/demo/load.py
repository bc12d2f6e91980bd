"""Load the sample zones and the demo's people into an empty panel."""

import logging
from datetime import datetime

from django.conf import settings

from dnspanel.accounts.actors.actors import SystemRight
from dnspanel.accounts.models import Role, User
from dnspanel.accounts.people.invite import accept_invitation, make_invitation
from dnspanel.demo.sample import sample_zones
from dnspanel.zones.acting import Acting
from dnspanel.zones.models import Channel, Publication
from dnspanel.zones.publishing.edit import NewZone, create_zones

logger = logging.getLogger(__name__)


def load_sample_zones(*, now: datetime) -> Publication | None:
    """Load the sample zones into the panel as one publication.

    If anything was ever published, return None and change nothing. A later start therefore doesn't restore zones that a
    person deleted or changed.
    """
    if Publication.objects.exists():
        return None
    zones = [NewZone(name=zone.name, rrsets=zone.rrsets) for zone in sample_zones()]
    publication = create_zones(
        zones=zones, acting=Acting(None, Channel.SYSTEM, now, "Sample zones"), under=SystemRight.SAMPLES
    )
    logger.info("loaded sample zones=%d sequence=%d", len(zones), publication.sequence)
    return publication


def create_demo_people(*, now: datetime) -> None:
    """Create a person for each role with the demo's password. Do nothing if there are people, or without a password."""
    if not settings.DEMO_PASSWORD or User.objects.exists():
        return
    for role in Role:
        secret = make_invitation(role=role, by=None, now=now)
        name, mail = f"demo-{role}", f"{role}@example.net"
        accept_invitation(secret=secret, username=name, email=mail, password=settings.DEMO_PASSWORD, now=now)
