"""Apply zone metadata that affects transfers, NOTIFY and DNS UPDATE. Verbs.

The kinds in ACTS work as in PowerDNS. Values that would have no effect here are rejected, not stored.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from dnspanel.accounts.actors.actors import Author
from dnspanel.api.errors import ApiError
from dnspanel.primaries import set_up_primaries
from dnspanel.secondaries import keyless
from dnspanel.secondaries.errors import KeylessRefused
from dnspanel.zones.models import TsigAct, Zone
from dnspanel.zones.rights import tsig_permissions
from replication.dns import names

ALLOW_AXFR_FROM, ALSO_NOTIFY, IXFR = "ALLOW-AXFR-FROM", "ALSO-NOTIFY", "IXFR"
# Always in effect, and not configurable: the panel sends NOTIFY after each publication, whatever its origin.
ALWAYS = frozenset(("NOTIFY-DNSUPDATE", "SLAVE-RENOTIFY"))
# The kinds that name TSIG keys. In PowerDNS's API, the second kind is the zone's field `master_tsig_key_ids`.
TSIG_ALLOW_AXFR = "TSIG-ALLOW-AXFR"
TSIG_ACTS = {"TSIG-ALLOW-DNSUPDATE": TsigAct.UPDATE, TSIG_ALLOW_AXFR: TsigAct.TRANSFER}
# The key for transfers from the zone's primaries. In PowerDNS's API, it is the field `slave_tsig_key_ids`.
AXFR_MASTER_TSIG = "AXFR-MASTER-TSIG"

_AUTO_NS = "AUTO-NS"


class NotObeyed(ApiError):
    """The panel can't apply this metadata value. It isn't stored, because the client would rely on its effect."""

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(f"{kind} would have no effect here: {reason}.")


def act_on(*, zone: Zone, kind: str, values: Sequence[str], by: Author, now: datetime) -> None:
    """Apply these values of a metadata kind, or restore the default if `values` is empty.

    Do nothing for a kind that isn't in ACTS. Raise NotObeyed if a value would have no effect here, and BadName if a
    value can't be a TSIG key's name. Raise RightMissing if the author lacks a right.
    """
    act = ACTS.get(kind)
    if act is not None:
        act(zone, kind, values, by, now)


def _open_to(zone: Zone, kind: str, values: Sequence[str], by: Author, now: datetime) -> None:
    if any(value.strip().upper() == _AUTO_NS for value in values):
        raise NotObeyed(f"{_AUTO_NS} in {kind}", "nobody looks up the zone's name servers; write their addresses")
    try:
        keyless.open_to(zone=zone, networks=values, by=by, now=now)
    except KeylessRefused as exc:
        raise NotObeyed(kind, str(exc).removesuffix(".")) from exc


def _notify_also(zone: Zone, kind: str, values: Sequence[str], by: Author, now: datetime) -> None:
    try:
        keyless.notify_also(zone=zone, addresses=values, by=by, now=now)
    except KeylessRefused as exc:
        raise NotObeyed(kind, str(exc).removesuffix(".")) from exc


def _use_ixfr(zone: Zone, kind: str, values: Sequence[str], by: Author, now: datetime) -> None:
    """Turn IXFR on or off for transfers from the zone's primaries. Without values, turn it on.

    Raise NotObeyed if the first value isn't "0" or "1". If this panel is the zone's primary, also raise NotObeyed for
    "0", because secondaries choose between IXFR and AXFR.
    """
    first = values[0] if values else "1"
    if first not in ("0", "1"):
        raise NotObeyed(f"{kind} {first[:20]}", "it is 0 or 1")
    if zone.transferred_from:
        set_up_primaries.set_ixfr(zone=zone, uses_ixfr=first == "1", author=by, now=now)
    elif first == "0":
        raise NotObeyed(f"{kind} 0", "the zone's primary is this panel, and its secondaries choose what they ask for")


def _always(zone: Zone, kind: str, values: Sequence[str], by: Author, now: datetime) -> None:
    if any(value != "1" for value in values):
        raise NotObeyed(f"{kind} other than 1", "NOTIFY is sent after each publication, whichever way it came")


def _name_keys(zone: Zone, kind: str, values: Sequence[str], by: Author, now: datetime) -> None:
    key_names = {names.parse(value) for value in values}
    tsig_permissions.replace_key_names(zone=zone, act=TSIG_ACTS[kind], key_names=key_names)


ACTS: Mapping[str, Callable[[Zone, str, Sequence[str], Author, datetime], None]] = {
    ALLOW_AXFR_FROM: _open_to,
    ALSO_NOTIFY: _notify_also,
    IXFR: _use_ixfr,
    **dict.fromkeys(ALWAYS, _always),
    **dict.fromkeys(TSIG_ACTS, _name_keys),
}
