"""Recover from a lost master key: clear the secrets that no key decrypts, and start to use a new key. Verbs.

Nodes continue to serve signed answers, but receive nothing until they are enrolled again.
"""

import base64
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any

from django.apps import apps
from django.db import connection, transaction

from dnspanel.accounts.audit import audit
from dnspanel.accounts.models import MasterKey
from dnspanel.accounts.secret_places import SecretPlace, secret_places
from dnspanel.accounts.secrets.database_key import forget_what_was_seen
from dnspanel.accounts.secrets.master_keys import is_readable, own_keys
from dnspanel.accounts.secrets.vault import encrypt_secret
from dnspanel.fleet.models import Node, NodeState
from dnspanel.fleet.nodes import node_lifecycle
from dnspanel.publish.models import SigningKey
from dnspanel.zones.dnssec.signing_state import UNSIGNED
from dnspanel.zones.log.panel_reasons import MASTER_KEY_LOST
from dnspanel.zones.log.publish_hold import current_hold, hold
from dnspanel.zones.models import LogHead, Signing, Zone, ZoneKey
from dnspanel.zones.publishing import epoch
from dnspanel.zones.publishing.lost_keys import LostSigning

# The number of zones in each publication of the new epoch.
_ZONES = 1000


class _Loss(Enum):
    """The way in which `clear` handles a secret that can't be decrypted."""

    DELETE = "deleted"  # deletes the row
    NONE = "emptied"
    NEW = "replaced by a new one"  # old clients stop working until they get the new secret
    NEW_SIGNED = "replaced by a new one, for signatures"  # "whsec_…"


# A test compares this table with `secret_places`.
LOSSES: Mapping[str, _Loss] = {
    "accounts.SignInProvider.client_secret": _Loss.NONE,
    "accounts.Token.tsig_secret": _Loss.NEW,
    "alerts.Route.secret": _Loss.NEW_SIGNED,
    "catalogs.Rule.tsig_secret": _Loss.NEW,
    "evidence.Destination.headers": _Loss.NONE,
    "evidence.Destination.key": _Loss.NONE,
    "fleet.AheadZone.signing": _Loss.NONE,
    "fleet.Authority.ca_key_encrypted": _Loss.DELETE,
    "fleet.Authority.client_key_encrypted": _Loss.DELETE,
    "mfa.Authenticator.data": _Loss.DELETE,
    "primaries.TransferredZone.tsig_secret": _Loss.NEW,
    "publish.SealingKey.secret_encrypted": _Loss.DELETE,
    "publish.SigningKey.private_encrypted": _Loss.NONE,
    "secondaries.Secondary.old_secret": _Loss.NONE,
    "secondaries.Secondary.tsig_secret": _Loss.NEW,
    "secondaries.ServerCertificate.key_encrypted": _Loss.DELETE,
    "transfer.ExportJob.secret": _Loss.NONE,
    "transfer.ImportJob.secret": _Loss.NONE,
    "transfer.KeptItem.value": _Loss.DELETE,
    "webhooks.Webhook.old_secret": _Loss.NONE,
    "webhooks.Webhook.secret": _Loss.NEW_SIGNED,
    "zones.PublishHook.old_secret": _Loss.NONE,
    "zones.PublishHook.secret": _Loss.NEW_SIGNED,
    "zones.ZoneKey.private_encrypted": _Loss.NONE,
}


@dataclass(frozen=True, slots=True)
class LostSecrets:
    """The rows of a table whose secrets in one column can't be decrypted with any of the panel's keys."""

    place: SecretPlace
    rows: tuple[Any, ...]  # primary keys

    @property
    def outcome(self) -> str:
        """The result of `clear` for these secrets, in words."""
        return LOSSES[str(self.place)].value


def lost_secrets() -> Iterator[LostSecrets]:
    """Yield the secrets that none of the panel's keys can decrypt, grouped by table column."""
    with connection.cursor() as cursor:
        for place in secret_places():
            rows = [
                key
                for batch in place.batches(cursor)
                for key, value in batch
                if not all(map(is_readable, place.tokens(value)))
            ]
            if rows:
                yield LostSecrets(place, tuple(rows))


def zones_without_keys() -> list[str]:
    """Return the names of signed zones with a key whose private part is missing or can't be decrypted."""
    gone = {key for lost in lost_secrets() if lost.place.model == "zones.ZoneKey" for key in lost.rows}
    gone |= set(ZoneKey.objects.filter(private_encrypted=None).values_list("pk", flat=True))
    signed = Signing.objects.filter(is_signed=True, zone__deleted_at=None).values_list("zone__name", "state")
    return sorted(name for name, state in signed if any(key[0] in gone for key in state["keys"]))


def is_unfinished() -> bool:
    """Return True if `clear` was interrupted before its last step."""
    current = current_hold()
    return current is not None and current.reason == MASTER_KEY_LOST


def clear(*, now: datetime) -> None:
    """Clear lost secrets, make PANEL_MASTER_KEY the valid key, and begin a new epoch.

    If this is interrupted, call it again to continue.

    1. Hold publishing.
    2. In one transaction, store the new key's fingerprint and clear the secrets. If the fleet's authority lost its
       secret, revoke the certificates of all active and drained nodes.
    3. Begin an epoch in which zones without their keys are not signed. This ends the hold.
    """
    unsigned = zones_without_keys()
    hold(reason=MASTER_KEY_LOST, now=now)
    with transaction.atomic(durable=True):
        found = list(lost_secrets())
        mark = next(iter(own_keys()))
        MasterKey.objects.update_or_create(pk=1, defaults={"fingerprint": mark, "former": "", "changed_at": now})
        forget_what_was_seen()
        for lost in found:
            _clear_place(lost, now)
        SigningKey.objects.filter(private_encrypted=b"", retired_at=None).update(retired_at=now)
        if any(lost.place.model == "fleet.Authority" for lost in found):
            for node in Node.objects.filter(state__in=(NodeState.ACTIVE, NodeState.DRAINED)):
                node_lifecycle.revoke(node=node, now=now, by=None)
        counts = {str(lost.place): len(lost.rows) for lost in found}
        audit.record(action="master-key.lost", by=None, now=now, target=mark, cleared=counts)
    ids = list(Zone.objects.filter(name__in=unsigned, deleted_at=None).values_list("pk", flat=True))
    outcomes = [epoch.ChangedZone(each, None, {}, LostSigning(UNSIGNED, ())) for each in ids]
    head = LogHead.objects.get()
    last = Zone.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
    epoch.begin_epoch(
        batches=[outcomes[at : at + _ZONES] for at in range(0, len(outcomes), _ZONES)],
        known=epoch.Known(head.sequence, last),
        by=None,
        reason=MASTER_KEY_LOST,
        now=now,
        in_transaction=lambda _: None,
    )


def _clear_place(lost: LostSecrets, now: datetime) -> None:
    model = apps.get_model(lost.place.model)
    rows, column = model._default_manager.filter(pk__in=lost.rows), lost.place.column
    field = model._meta.get_field(column)
    match LOSSES[str(lost.place)]:
        case _Loss.DELETE:
            rows.delete()
        case _Loss.NONE if lost.place.model == "zones.ZoneKey":
            rows.update(private_encrypted=None, deleted_at=now)
        case _Loss.NONE:
            rows.update(**{column: None if field.null else b""})
        case loss:
            start = "whsec_" if loss is _Loss.NEW_SIGNED else ""
            for key in lost.rows:
                text = start + base64.b64encode(secrets.token_bytes(32)).decode()
                model._default_manager.filter(pk=key).update(**{column: encrypt_secret(text.encode())})
