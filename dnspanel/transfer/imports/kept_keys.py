"""Use a source's DNSSEC keys to keep new zones signed with the same keys. Verbs.

The DS records in the parent zones then stay valid. Some keys can't be used: keys with unknown algorithms, keys of
presigned zones (unless the import keeps signatures), and sealed private keys. Zones that are imported with their
signatures don't need keys.
"""

import json
from collections import defaultdict
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from dnspanel.accounts.secrets.vault import decrypt_secret
from dnspanel.texts import gettext
from dnspanel.transfer.documents import BroughtSignatures, Options
from dnspanel.transfer.models import ImportJob, KeptItem, KeptKind
from dnspanel.transfer.sealed_keys import KeyLock
from dnspanel.zones.dnssec import key_material
from dnspanel.zones.dnssec.other_keys import read_dnskey
from dnspanel.zones.dnssec.signing_state import (
    NSEC3NARROW,
    NSEC3PARAM,
    PRESIGNED,
    PUBLISH_CDNSKEY,
    PUBLISH_CDS,
    nsec3param_text,
    read_nsec3param,
)
from dnspanel.zones.errors import BadKey, DnssecRefused
from dnspanel.zones.publishing.first_signing import BroughtKey, BroughtSigning
from dnspanel.zones.signing.presigned import end_of
from dnspanel.zones.signing.sign import MOST_KEYS, refuse_nsec3
from replication.codec.dnssec import Nsec3

# The name under which a scan stores data about a zone's own signatures.
SIGNATURES = "dnspanel signatures"
_FLAGS = frozenset(("256", "257"))
_LOCKS = frozenset(KeyLock)


@dataclass(slots=True)
class _Kept:
    """The keys and metadata of one zone, as stored from the source."""

    keys: list[tuple[str, bytes]] = field(default_factory=list)
    metadata: dict[str, str] = field(default_factory=dict)


def brought_signings(job: ImportJob, zone_names: Collection[str]) -> dict[str, BroughtSigning | str]:
    """Return {zone name: signing with the source's keys, or the reason why the keys can't be used}.

    Zones without keys are omitted, unless the import keeps their signatures.
    """
    presigned = _signings_of_presigned(job, zone_names) if Options.from_json(job.options).signatures == "keep" else {}
    keys = KeptItem.objects.filter(job=job, kind=KeptKind.KEY)
    if not keys.exists():  # true for most sources
        return presigned
    kept: dict[str, _Kept] = defaultdict(_Kept)
    for zone, name, value in keys.filter(zone__in=zone_names).order_by("pk").values_list("zone", "name", "value"):
        kept[zone].keys.append((name, bytes(value)))
    metadata = KeptItem.objects.filter(job=job, kind=KeptKind.METADATA, zone__in=list(kept))
    for zone, name, value in metadata.order_by("pk").values_list("zone", "name", "value"):
        kept[zone].metadata.setdefault(name, bytes(value).decode("utf-8", "replace"))
    return {zone: _signing_of_zone(found) for zone, found in kept.items()} | presigned


def keep_signatures(*, job: ImportJob, found: Mapping[str, BroughtSignatures | None]) -> None:
    """Store the zones' signatures until the zones are created. None deletes a zone's stored signatures."""
    KeptItem.objects.filter(job=job, kind=KeptKind.METADATA, name=SIGNATURES, zone__in=list(found)).delete()
    KeptItem.objects.bulk_create(
        KeptItem(job=job, zone=zone, kind=KeptKind.METADATA, name=SIGNATURES, value=_to_json(brought))
        for zone, brought in found.items()
        if brought is not None
    )


def signing_by(brought: BroughtSignatures) -> BroughtSigning:
    """Return the signing state of a zone that keeps these signatures."""
    entries = tuple(map(read_dnskey, brought.entries))
    return BroughtSigning(
        (), brought.nsec3, presigned=True, entries=entries, end=end_of(brought.end), other_nsec3=brought.other_nsec3
    )


def with_source_chains(job: ImportJob, brought: Mapping[str, BroughtSignatures]) -> dict[str, BroughtSignatures]:
    """Return these signatures with the NSEC3 parameters that the source stores outside the records.

    PowerDNS stores the parameters of one chain. An export of this panel lists the parameters of the served chain first.
    """
    chains: dict[str, list[Nsec3]] = {}
    if brought:
        rows = KeptItem.objects.filter(job=job, kind=KeptKind.METADATA, name=NSEC3PARAM, zone__in=list(brought))
        for zone, value in rows.order_by("pk").values_list("zone", "value"):
            with suppress(ValueError, DnssecRefused):
                nsec3 = read_nsec3param(bytes(value).decode("utf-8", "replace"), narrow=False)
                refuse_nsec3(nsec3)
                chains.setdefault(zone, []).append(nsec3)
    return {zone: each.with_chains(chains.get(zone, ())) for zone, each in brought.items()}


def _signings_of_presigned(job: ImportJob, zone_names: Collection[str]) -> dict[str, BroughtSigning | str]:
    rows = KeptItem.objects.filter(job=job, kind=KeptKind.METADATA, name=SIGNATURES, zone__in=zone_names)
    brought = {zone: _from_json(bytes(value)) for zone, value in rows.values_list("zone", "value")}
    return {zone: signing_by(each) for zone, each in with_source_chains(job, brought).items()}


def _to_json(brought: BroughtSignatures) -> bytes:
    nsec3 = None if brought.nsec3 is None else nsec3param_text(brought.nsec3)
    others = list(map(nsec3param_text, brought.other_nsec3))
    return json.dumps([nsec3, brought.entries, brought.end, brought.nsec3_elsewhere, others]).encode()


def _from_json(value: bytes) -> BroughtSignatures:
    nsec3, entries, end, elsewhere, others = json.loads(value)
    chain = nsec3 and read_nsec3param(nsec3, narrow=False)
    other_nsec3 = tuple(read_nsec3param(each, narrow=False) for each in others)
    return BroughtSignatures(chain, tuple(entries), end, elsewhere, other_nsec3)


def _signing_of_zone(kept: _Kept) -> BroughtSigning | str:
    if kept.metadata.get(PRESIGNED) == "1":
        return gettext("the zone’s records are already signed")
    if len(kept.keys) > MOST_KEYS:
        return gettext("the zone has {count} keys").format(count=len(kept.keys))
    if (lock := _lock_of(kept)) is not None:
        return lock.message
    try:
        keys = tuple(_brought_key(name, value) for name, value in kept.keys)
        nsec3 = _nsec3(kept.metadata)
    except BadKey as exc:
        return gettext("a key can’t be used: {reason}").format(reason=exc)
    except (ValueError, DnssecRefused):
        return gettext("the NSEC3 parameters can’t be used")
    if len({(key.pair.algorithm, key.pair.public) for key in keys}) < len(keys):
        return gettext("the zone has the same key twice")
    cds, cdnskey = kept.metadata.get(PUBLISH_CDS, ""), kept.metadata.get(PUBLISH_CDNSKEY) == "1"
    return BroughtSigning(keys, nsec3, cds.replace(" ", ""), cdnskey)


def _lock_of(kept: _Kept) -> KeyLock | None:
    """Return the reason why the first unusable private key can't be used, or None if all keys can be used."""
    words = (name.rpartition(" ")[2] for name, _ in kept.keys)
    return next((KeyLock(word) for word in words if word in _LOCKS), None)


def _brought_key(name: str, value: bytes) -> BroughtKey:
    """Parse a key that `sources.powerdns.kept_key` stored. Raise BadKey if it is invalid."""
    flags, *words = name.split(" ")
    if flags not in _FLAGS:
        raise BadKey(gettext("the key flags are {flags}").format(flags=flags[:10]))
    pair = key_material.read(decrypt_secret(value).decode("utf-8", "replace"))
    return BroughtKey(pair, int(flags), "inactive" not in words, "unpublished" not in words)


def _nsec3(metadata: dict[str, str]) -> Nsec3 | None:
    """Return the NSEC3 parameters in PowerDNS's metadata, or None if it doesn't contain `NSEC3PARAM`.

    Raise ValueError or DnssecRefused if the parameters are invalid.
    """
    if NSEC3PARAM not in metadata:
        return None
    found = read_nsec3param(metadata[NSEC3PARAM], narrow=metadata.get(NSEC3NARROW) == "1")
    refuse_nsec3(found)
    return found
