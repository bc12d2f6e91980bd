"""The TSIG keys for signing requests to primaries and verifying their answers."""

import dns.tsig

from dnspanel.accounts.secrets.vault import decrypt_secret
from dnspanel.primaries.models import TransferredZone
from dnspanel.transfer.sources.over_dns.transfer_tsig import TsigKey, key_of
from dnspanel.zones.models import Zone


def key_for(row: TransferredZone) -> dns.tsig.Key | None:
    """Return the TSIG key of the zone's primaries, or None if they don't use one."""
    if not row.tsig_name or row.tsig_secret is None:
        return None
    return key_of(TsigKey(row.tsig_name, row.tsig_algorithm, decrypt_secret(row.tsig_secret).decode()))


def key_name_of(zone: Zone) -> str:
    """Return the name of the zone's TSIG key for transfers, or "" if it has none or isn't transferred."""
    if not zone.transferred_from:
        return ""
    return TransferredZone.objects.filter(pk=zone.pk).values_list("tsig_name", flat=True).first() or ""
