"""Support transfers of signed zones: ring 0 signs them, and weekly publications renew the signatures. Verbs.

Keys never leave the panel and its nodes. Ring 0's PowerDNS has the same data as every node, and signs a zone whenever
it transfers the zone. The gateway forwards this transfer (docs/adr/0022).
"""

from datetime import datetime, timedelta

from django.db.models import Exists, OuterRef, Q

from dnspanel.fleet.models import Node, NodeState
from dnspanel.secondaries.models import KeyTransfer, Member, OpenZone
from dnspanel.zones.models import Signing, Zone
from dnspanel.zones.signing.new_signatures import publish_new_signatures
from dnspanel.zones.values.soa import start_of_week

# One publication contains a week's signatures of up to this number of zones.
AT_ONCE = 500
# A server that transfers a zone with a token's key transfers it again each week, as long as it has the zone.
KEYS_REMEMBERED = timedelta(days=30)


def signer() -> Node | None:
    """Return ring 0, the node that signs transfers, or None if it isn't active."""
    return Node.objects.filter(is_ring0=True, state=NodeState.ACTIVE).order_by("pk").first()


def withheld() -> Q:
    """Return the condition for zones that are withheld, because they can't be transferred with signatures.

    If ring 0 isn't active, these are all signed zones. Otherwise these are the zones with narrow NSEC3, because
    PowerDNS computes their NSEC3 records for each query.
    """
    signings = Signing.objects.filter(zone=OuterRef("pk"), is_signed=True)
    return Q(Exists(signings if signer() is None else signings.filter(state__nsec3__3=True)))


def publish_due_signatures(*, now: datetime) -> int:
    """Publish signatures of up to AT_ONCE zones without changes this week that others transfer. Return their number."""
    start = start_of_week(now)
    by_secondary = Member.objects.filter(zone=OuterRef("pk"), until=None, secondary__active=True)
    by_key = KeyTransfer.objects.filter(zone=OuterRef("pk"), at__gt=now - KEYS_REMEMBERED)
    due = Zone.objects.filter(
        Exists(by_secondary) | Exists(OpenZone.objects.filter(zone=OuterRef("pk"))) | Exists(by_key),
        signing__is_signed=True,
        changed_at__lt=start,
        deleted_at=None,
        is_served=True,
        transferred_from="",
    ).exclude(signing__state__has_key="presigned")
    ids = list(due.order_by("pk").values_list("pk", flat=True)[:AT_ONCE])
    if not ids or publish_new_signatures(zone_ids=ids, before=start, now=now) is None:
        return 0
    return len(ids)
