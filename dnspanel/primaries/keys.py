"""The TSIG keys by which primaries are asked, and by which they sign."""

import dns.tsig

from dnspanel.accounts.secrets.vault import decrypt_secret
from dnspanel.primaries.models import TransferredZone
from dnspanel.transfer.sources.over_dns.tsig import TsigKey, key_of
from dnspanel.zones.models import Zone


def key_for(row: TransferredZone) -> dns.tsig.Key | None:
    """The key of the zone's primaries; None where they have none."""
    if not row.tsig_name or row.tsig_secret is None:
        return None
    return key_of(TsigKey(row.tsig_name, row.tsig_algorithm, decrypt_secret(row.tsig_secret).decode()))


def key_name_of(zone: Zone) -> str:
    """The name of the key by which the zone is transferred here; "" without one. No query for a zone of this panel."""
    if not zone.transferred_from:
        return ""
    return TransferredZone.objects.filter(pk=zone.pk).values_list("tsig_name", flat=True).first() or ""
