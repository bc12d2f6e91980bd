"""Apply the metadata of a PowerDNS source, and the TSIG keys that it names, to the zones that an import created. Verbs.

Metadata works as if a client of API v1 had written it. Keys and signatures are imported with the zones.
"""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime

from django.db import transaction
from django.db.models import Q

from dnspanel.accounts.actors.actors import Actor, Author
from dnspanel.accounts.errors import AccountError
from dnspanel.accounts.secrets.vault import decrypt_secret
from dnspanel.accounts.tokens import tsig_keys
from dnspanel.api.errors import ApiError
from dnspanel.api.v1 import kept_metadata
from dnspanel.api.v1.acting_metadata import TSIG_ACTS
from dnspanel.texts import joined
from dnspanel.transfer.documents import SourceFault
from dnspanel.transfer.imports.scan import keep_faults
from dnspanel.transfer.job_rights import actor_of_job
from dnspanel.transfer.models import Action, ImportJob, ImportPiece, ImportZone, KeptItem, KeptKind
from dnspanel.zones.errors import ZoneError
from dnspanel.zones.models import Zone
from dnspanel.zones.rules.violations import Severity
from dnspanel.zones.settings.settings_of_zone import change_soa_edit
from replication.dns import names
from replication.errors import ReplicationError

_KINDS = (kept_metadata.WRITABLE | {kept_metadata.SOA_EDIT_API, *TSIG_ACTS}) - kept_metadata.OF_KEYS


def apply_to_created(*, job: ImportJob, piece: ImportPiece, now: datetime, **signal: object) -> None:
    """Apply metadata to the piece's new zones. Values that can't be applied become warnings in the report."""
    creating = ImportZone.objects.filter(job=job, piece=piece.number, action=Action.CREATE)
    of_kinds = Q(name__in=_KINDS) | Q(name__startswith="X-")
    items = KeptItem.objects.filter(job=job, kind=KeptKind.METADATA, zone__in=creating.values("name"))
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for zone, kind, value in items.filter(of_kinds).order_by("pk").values_list("zone", "name", "value"):
        found[zone, kind].append(bytes(value).decode("utf-8", "replace"))
    if not found:
        return
    by, faults = actor_of_job(job), []
    living = Zone.objects.filter(pk__in=creating.values("zone_id"), deleted_at=None)
    zones = {zone.name: zone for zone in living}
    for (name, kind), values in found.items():
        try:
            if name in zones:
                _apply(job, zones[name], kind, values, by, now)
        except (AccountError, ApiError, ReplicationError, ZoneError) as exc:
            reason = joined(": ", (kind, str(exc)))
            faults.append(SourceFault("", 0, 0, "", reason, "metadata-refused", severity=Severity.WARNING, zone=name))
    with transaction.atomic():
        keep_faults(job.pk, piece.number, faults)


def _apply(job: ImportJob, zone: Zone, kind: str, values: Sequence[str], by: Author, now: datetime) -> None:
    if kind == kept_metadata.SOA_EDIT_API:
        change_soa_edit(zone=zone, api=values[0], author=by, now=now)
        return
    for value in values if kind in TSIG_ACTS else ():
        _bring_key(job, names.parse(value), by, now)
    kept_metadata.replace_metadata(zone=zone, kind=kind, values=values, by=by, now=now)


def _bring_key(job: ImportJob, name: str, by: Author, now: datetime) -> None:
    """Create the source's key with this name, with the author's rights, unless a key has the name already."""
    kept = KeptItem.objects.filter(job=job, kind=KeptKind.TSIG, name=name).first()
    if kept and isinstance(by, Actor) and tsig_keys.may_have_keys(by) and not tsig_keys.key_exists(name):
        algorithm, _, secret = decrypt_secret(bytes(kept.value)).decode().partition(" ")
        tsig_keys.create_own_tsig_key(by=by, name=name, algorithm=algorithm, secret=secret, now=now)
