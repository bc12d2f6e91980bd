"""Request signaling names (RFC 9615), which let a parent zone authenticate a zone's first DS. Verbs.

`fleet.dnssec.signalling_names` writes and removes the records.
"""

from collections.abc import Sequence

from django.db import transaction

from dnspanel.accounts.actors.actors import Right
from dnspanel.accounts.audit import audit
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec.signing_state import SigningState
from dnspanel.zones.errors import NotSigned
from dnspanel.zones.models import Signing, Zone
from dnspanel.zones.rights import access
from dnspanel.zones.signing.safety import refuse_presigned


def set_signalling(*, zones: Sequence[Zone], signals: bool, acting: Acting) -> None:
    """Request signaling names for the zones, or the removal of these names. The records change within minutes.

    Raise RightMissing if the author isn't allowed to sign a zone. A request for names also raises DnssecRefused if the
    panel doesn't control a zone's signing, and NotSigned for unsigned zones, because no parent would trust their names.
    """
    with transaction.atomic():
        for zone in zones:
            access.require_right(acting.author, zone, Right.DNSSEC)
        rows = {row.zone_id: row for row in Signing.objects.select_for_update().filter(zone__in=zones)}
        for zone in zones:
            row = rows.get(zone.pk)
            if row is None or not row.is_signed:
                if not signals:
                    continue
                raise NotSigned(zone.name)
            if bool(row.signalling) == signals:
                continue
            if signals:
                refuse_presigned(zone, SigningState.from_json(row.state))
            Signing.objects.filter(pk=row.pk).update(signalling=signals)
            audit.record(
                action="dnssec.signalling", by=acting.author, now=acting.now, target=zone.name, signals=signals
            )


def has_signalling(zone: Zone) -> bool:
    """Return True if signaling names are requested for the zone."""
    return Signing.objects.filter(zone=zone, signalling=True).exists()
