"""Set up, change, refresh, take over and give back transferred zones. Verbs."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db import transaction

from dnspanel.accounts.actors.actors import Author, Right, user_of
from dnspanel.accounts.audit import audit
from dnspanel.accounts.errors import TokenRefused
from dnspanel.accounts.models import Team
from dnspanel.accounts.secrets.vault import decrypt_secret, encrypt_secret
from dnspanel.accounts.tokens import tsig_secrets
from dnspanel.pasted_certificates import fingerprints_of
from dnspanel.primaries import primary_tls
from dnspanel.primaries.errors import NotTransferred, PrimariesRefused, TakeOverRefused
from dnspanel.primaries.models import TERMS, WELL, PrimaryTerms, TransferredZone
from dnspanel.primaries.signals import due
from dnspanel.primaries.timers import LEAST_GAP
from dnspanel.texts import gettext, join_list
from dnspanel.transfer import allowed_servers
from dnspanel.transfer.errors import ServerRefused
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec.queries import signing_of
from dnspanel.zones.errors import Unknown, producer_reason
from dnspanel.zones.governance import publish_guards
from dnspanel.zones.governance.parts import REPLACE
from dnspanel.zones.governance.publish_hooks import after_hooks
from dnspanel.zones.log import panel_reasons
from dnspanel.zones.models import Operation, Publication, Zone
from dnspanel.zones.publishing import edit
from dnspanel.zones.publishing.transferred import serve_within
from dnspanel.zones.rights import access
from dnspanel.zones.store import find_zones
from replication.dns import names
from replication.errors import BadName
from replication.wire.protocol import is_resolver, split_resolver

MOST_PRIMARIES = 8
_OF_TLS = ("uses_tls", "tls_names", "tls_certificates", "shows_certificate")


@dataclass(frozen=True, slots=True)
class Terms:
    """The primaries of a zone, from a form or the API. If `tsig_secret` is None, the stored secret is kept.

    Over TLS, each primary is identified by a name in its certificate, or by the certificate itself.
    """

    addresses: Collection[str]
    tsig_name: str = ""
    tsig_algorithm: str = "hmac-sha256"
    tsig_secret: str | None = None
    uses_tls: bool = False
    tls_names: Collection[str] = ()
    tls_certificates: str = ""
    shows_certificate: bool = False


def moved_to(zone: Zone, addresses: Collection[str]) -> Terms:
    """Return the zone's terms with the given addresses. Any TSIG key and TLS settings of the zone stay the same."""
    row = TransferredZone.objects.filter(pk=zone.pk).first()
    return Terms(addresses) if row is None else replace(terms_of(row), addresses=addresses)


def terms_of(row: PrimaryTerms) -> Terms:
    """Return the terms of a row without the secret. Saving them keeps the stored secret."""
    terms = replace(Terms(row.addresses), **{name: getattr(row, name) for name in _OF_TLS})
    if not row.tsig_name:
        return terms
    return replace(terms, tsig_name=row.tsig_name, tsig_algorithm=row.tsig_algorithm)


def comes_by(zone: Zone, terms: Terms) -> bool:
    """Return True if the zone is already transferred with these terms. A `tsig_secret` of None fits any secret."""
    row = TransferredZone.objects.filter(pk=zone.pk).first() if zone.transferred_from else None
    if row is None or list(row.addresses) != list(terms.addresses) or row.tsig_name != terms.tsig_name:
        return False
    if _tls_of(terms, len(row.addresses), {}) != {name: getattr(row, name) for name in _OF_TLS}:
        return False
    if terms.tsig_secret is None or row.tsig_secret is None:
        return not terms.tsig_secret and (not row.tsig_name or row.tsig_algorithm == terms.tsig_algorithm)
    same_secret = decrypt_secret(row.tsig_secret).decode() == terms.tsig_secret
    return same_secret and row.tsig_algorithm == terms.tsig_algorithm


def create_transferred_zone(
    *,
    name: str,
    terms: Terms,
    acting: Acting,
    team: Team | None = None,
    in_transaction: Callable[[Zone], object] = lambda zone: None,
) -> Publication:
    """Create a zone and start its first transfer. Nodes don't get the zone before the transfer is complete.

    `in_transaction` runs in the same transaction, after the zone's row is written. Raise the errors of
    `edit.create_zone`, Forbidden if the author isn't allowed to make the panel connect to servers, and PrimariesRefused
    for invalid terms.
    """
    allowed_servers.refuse_servers(acting.author)
    columns = checked_columns(terms, None)
    zone_name = names.parse(name)

    def write_rest() -> None:
        zone = Zone.objects.get(name=zone_name, deleted_at=None)
        _begin(zone, columns, acting.now)
        in_transaction(zone)
        audit.record(
            action="primaries.set", by=acting.author, now=acting.now, target=zone.name, after=columns_for_audit(columns)
        )
        wake_on_commit()

    return edit.create_zone(
        zone=edit.NewZone(name), acting=acting, team=team, in_transaction=write_rest, awaits_transfer=True
    )


@after_hooks
def set_primaries(*, zone: Zone, terms: Terms, acting: Acting, past_rules: bool = False) -> TransferredZone:
    """Make these servers the zone's primaries. The zone's content stays until the first transfer.

    The zone becomes read-only here. Its operations are deleted from the author's draft. Other people's drafts keep
    them, in case the zone is taken over later. Another server then decides the zone's content, so all rules are checked
    first: raise ApprovalNeeded, Frozen, Locked or HookRefused. With `past_rules`, a user who is allowed to govern the
    zone bypasses ApprovalNeeded and Frozen, with a reason. Raise the errors of `_lock_zone`, and Forbidden if the
    author isn't allowed to make the panel connect to servers. Raise PrimariesRefused for invalid terms, a producer
    catalog, or a zone that the panel's keys sign.
    """
    allowed_servers.refuse_servers(acting.author)
    with transaction.atomic(durable=True):
        locked = _lock_zone(zone, acting.author)
        if locked.is_producer:
            raise PrimariesRefused({"addresses": [producer_reason(locked.name)]})
        row = TransferredZone.objects.filter(pk=locked.pk).first()
        columns = checked_columns(terms, row)
        if signing_of(locked).keys:
            raise PrimariesRefused(
                {
                    "addresses": [
                        gettext(
                            "The panel signs this zone with its own keys. Unsign the zone first. Transferred zones "
                            "are signed by their primary."
                        )
                    ]
                }
            )
        passed = _refuse_by_rules(locked, acting, past_rules=past_rules)
        before = columns_for_audit(columns_of(row)) if row is not None else None
        _begin(locked, columns, acting.now)
        _forget_own_operations(locked, acting.author)
        audit.record(
            action="primaries.set",
            by=acting.author,
            now=acting.now,
            target=locked.name,
            before=before,
            after=columns_for_audit(columns),
        )
        publish_guards.record_act(passed, locked, author=acting.author, reason=acting.reason, now=acting.now)
        wake_on_commit()
    zone.transferred_from = locked.transferred_from
    return TransferredZone.objects.get(pk=zone.pk)


def set_ixfr(*, zone: Zone, uses_ixfr: bool, author: Author, now: datetime) -> None:
    """Switch IXFR on or off for a zone. Without IXFR, each transfer contains the whole zone.

    Raise the errors of `_lock_zone`, and NotTransferred if this panel is the primary.
    """
    with transaction.atomic():
        locked = _lock_zone(zone, author)
        row = row_of(locked)
        if row.uses_ixfr != uses_ixfr:
            row.uses_ixfr = uses_ixfr
            row.save(update_fields=["uses_ixfr"])
            audit.record(action="primaries.set", by=author, now=now, target=locked.name, after={"uses_ixfr": uses_ixfr})


def ask_now(*, zone: Zone, author: Author, now: datetime, wants_all: bool = False) -> TransferredZone:
    """Make the zone due for a refresh now. With `wants_all`, transfer the whole zone regardless of its serial.

    Raise the errors of `_lock_zone`, and NotTransferred if this panel is the primary.
    """
    with transaction.atomic(durable=True):
        locked = _lock_zone(zone, author)
        row = row_of(locked)
        row.due_at, row.wants_all = now, row.wants_all or wants_all
        row.save(update_fields=["due_at", "wants_all"])
        audit.record(action="primaries.ask", by=author, now=now, target=locked.name, wants_all=wants_all)
        wake_on_commit()
    return row


@after_hooks
def take_over(*, zone: Zone, acting: Acting, past_rules: bool = False) -> Publication | None:
    """Make this panel the primary of a transferred zone.

    The zone becomes editable, and is served even if it had expired. The terms are kept for `give_back`. Return the
    publication that sends the zone to the nodes, or None if they already have it. Raise NotTransferred if this panel is
    the primary, and TakeOverRefused if the zone is a catalog or was never transferred. Also raise the errors of
    `_lock_zone`, and the errors of rules as in `set_primaries`.
    """
    with transaction.atomic(durable=True):
        locked = _lock_zone(zone, acting.author)
        row = row_of(locked)
        if locked.is_catalog:
            raise TakeOverRefused(
                gettext("{name} is a catalog zone. Take over its members one by one instead.").format(name=locked.name)
            )
        if row.serial is None:
            raise TakeOverRefused(
                gettext("{name} can’t be taken over, because it was never transferred.").format(name=locked.name)
            )
        passed = _refuse_by_rules(locked, acting, past_rules=past_rules)
        TransferredZone.objects.filter(pk=row.pk).update(due_at=None, expires_at=None, **WELL)
        came_from, locked.transferred_from = locked.transferred_from, ""
        Zone.objects.filter(pk=locked.pk).update(transferred_from="")
        audit.record(
            action="primaries.take_over", by=acting.author, now=acting.now, target=locked.name, came_from=came_from
        )
        publish_guards.record_act(passed, locked, author=acting.author, reason=acting.reason, now=acting.now)
        publication = serve_within(
            zone=locked,
            author=acting.author,
            channel=acting.channel,
            now=acting.now,
            reason=panel_reasons.TAKEN_OVER.format(server=came_from),
        )
    zone.transferred_from, zone.is_served = "", True
    return publication


@after_hooks
def give_back(*, zone: Zone, acting: Acting, past_rules: bool = False) -> TransferredZone:
    """Give a taken-over zone back to its old primaries. The next transfer replaces changes made here.

    Raise TakeOverRefused if the zone wasn't taken over or the panel's keys sign it. Other errors are as in
    `set_primaries`.
    """
    allowed_servers.refuse_servers(acting.author)
    with transaction.atomic(durable=True):
        locked = _lock_zone(zone, acting.author)
        row = TransferredZone.objects.filter(pk=locked.pk).first()
        if row is None or locked.transferred_from:
            raise TakeOverRefused(gettext("{name} was not taken over from another server.").format(name=locked.name))
        if signing_of(locked).keys:
            raise TakeOverRefused(
                gettext("The panel signs {name} with its own keys. Unsign it first.").format(name=locked.name)
            )
        passed = _refuse_by_rules(locked, acting, past_rules=past_rules)
        columns = columns_of(row)
        _begin(locked, columns, acting.now)
        _forget_own_operations(locked, acting.author)
        audit.record(
            action="primaries.give_back",
            by=acting.author,
            now=acting.now,
            target=locked.name,
            after=columns_for_audit(columns),
        )
        publish_guards.record_act(passed, locked, author=acting.author, reason=acting.reason, now=acting.now)
        wake_on_commit()
    zone.transferred_from = locked.transferred_from
    return TransferredZone.objects.get(pk=zone.pk)


def note_notice(*, row: TransferredZone, now: datetime) -> None:
    """Record a primary's NOTIFY, and make the zone due: now, or one second after the last NOTIFY or answer.

    Do nothing if the zone is due by then anyway. A NOTIFY during a refresh isn't lost, because the end of the refresh
    checks for it.
    """
    last = max((at for at in (row.noticed_at, row.confirmed_at) if at is not None), default=now - LEAST_GAP)
    at = max(now, min(last, now) + LEAST_GAP)
    updated = TransferredZone.objects.filter(pk=row.pk, due_at__gt=at).update(due_at=at, noticed_at=now)
    if updated and at <= now:
        due.send_robust(sender=TransferredZone)


def note_refused_notice(*, row: TransferredZone, address: str, now: datetime) -> None:
    """Count a refused NOTIFY for the zone, and store the address that sent it, at most once per second."""
    if row.notice_refused_at is None or now - row.notice_refused_at >= LEAST_GAP:
        TransferredZone.objects.filter(pk=row.pk).update(
            notices_refused=row.notices_refused + 1, notice_refused_at=now, notice_refused_from=address
        )


def row_of(zone: Zone) -> TransferredZone:
    """Return the zone's `TransferredZone`. Raise NotTransferred if this panel is the primary."""
    row = TransferredZone.objects.filter(pk=zone.pk).first() if zone.transferred_from else None
    if row is None:
        raise NotTransferred(zone.name)
    return row


def _lock_zone(zone: Zone, author: Author) -> Zone:
    """Lock the zone like a publication does, and return it.

    Raise Unknown if it was deleted, or RightMissing if the author isn't allowed to change the zone's settings.
    """
    found = next(iter(find_zones.lock_zones([zone.pk])), None)
    if found is None:
        raise Unknown(zone.name)
    access.require_right(author, found, Right.SETTINGS)
    return found


def _refuse_by_rules(zone: Zone, acting: Acting, *, past_rules: bool) -> publish_guards.Passed:
    """Check all rules for a change of the zone's primary. Return the result, or raise the errors of `refuse_act`."""
    return publish_guards.refuse_act(zone, REPLACE, acting=acting, past_rules=past_rules)


def _forget_own_operations(zone: Zone, author: Author) -> None:
    """Delete the zone's operations in the author's own draft. Other people's drafts stay unchanged."""
    Operation.objects.filter(zone=zone, draft__author=user_of(author)).delete()


def begin_all(*, zone_ids: Collection[int], columns: Mapping[str, Any], now: datetime) -> None:
    """Start to transfer these locked zones from the primaries in `columns`, and clear the results of old transfers."""
    Zone.objects.filter(pk__in=zone_ids).update(transferred_from=join_list(columns["addresses"]))
    row = {**columns, "serial": None, "revision": None, "wants_all": True, "due_at": now, **WELL}
    TransferredZone.objects.bulk_create(
        [TransferredZone(pk=pk, **row) for pk in zone_ids],
        update_conflicts=True,
        unique_fields=["zone"],
        update_fields=list(row),
    )


def move_all(*, zone_ids: Collection[int], columns: Mapping[str, Any], now: datetime) -> None:
    """Store new primaries for these transferred zones, and make the zones due. They keep their current content."""
    Zone.objects.filter(pk__in=zone_ids).update(transferred_from=join_list(columns["addresses"]))
    TransferredZone.objects.filter(pk__in=zone_ids).update(**columns, due_at=now)


def wake_on_commit() -> None:
    """Wake a worker for the due zones after this transaction commits."""
    transaction.on_commit(lambda: due.send_robust(sender=TransferredZone), robust=True)


def _begin(zone: Zone, columns: dict[str, Any], now: datetime) -> None:
    zone.transferred_from = join_list(columns["addresses"])
    begin_all(zone_ids=[zone.pk], columns=columns, now=now)


def checked_columns(terms: Terms, row: PrimaryTerms | None) -> dict[str, Any]:
    """Return the terms as database columns. Raise PrimariesRefused with the invalid fields.

    If the terms don't contain a new secret and the key's name is the same, `row`'s secret is kept.
    """
    faults: dict[str, list[str]] = {}
    addresses = _addresses(terms, faults)
    columns: dict[str, Any] = {"addresses": addresses, "tsig_name": "", "tsig_algorithm": "", "tsig_secret": None}
    columns |= _tls_of(terms, len(addresses), faults)
    if terms.tsig_name.strip():
        columns |= _key(terms, row, faults)
    elif terms.tsig_secret:
        faults["tsig_name"] = [gettext("Enter a name for the key.")]
    if faults:
        raise PrimariesRefused(faults)
    return columns


def _tls_of(terms: Terms, primaries: int, faults: dict[str, list[str]]) -> dict[str, Any]:
    """Return the database columns for TLS. Add errors to `faults`, for example if names are set but TLS is off."""
    if not terms.uses_tls:
        if terms.tls_names or terms.tls_certificates.strip() or terms.shows_certificate:
            faults["uses_tls"] = [gettext("Names and certificates require TLS. Enable TLS, or clear them.")]
        return {"uses_tls": False, "tls_names": [], "tls_certificates": "", "shows_certificate": False}
    found = primary_tls.checked_names(terms.tls_names, primaries, faults)
    certificates = primary_tls.checked_certificates(terms.tls_certificates, faults)
    if not terms.tls_names and not terms.tls_certificates.strip():
        faults["tls_names"] = [gettext("Enter the name in each primary’s certificate, or the certificate itself.")]
    return {
        "uses_tls": True,
        "tls_names": found,
        "tls_certificates": certificates,
        "shows_certificate": terms.shows_certificate,
    }


def _addresses(terms: Terms, faults: dict[str, list[str]]) -> list[str]:
    found: dict[str, None] = {}
    usual = primary_tls.TLS_PORT if terms.uses_tls else primary_tls.PORT
    if not terms.addresses:
        faults["addresses"] = [gettext("Enter at least one address.")]
    if len(terms.addresses) > MOST_PRIMARIES:
        faults["addresses"] = [
            gettext("Enter at most {most_primaries} primaries.").format(most_primaries=MOST_PRIMARIES)
        ]
        return []
    for text in terms.addresses:
        text = text.strip()
        if not is_resolver(text):
            faults.setdefault("addresses", []).append(
                gettext("{text} isn’t a valid address. Examples: 192.0.2.53 or [2001:db8::53]:5300.").format(
                    text=text[:60]
                )
            )
            continue
        host, port = split_resolver(text, usual)
        try:
            allowed_servers.refuse_dns_server("addresses", host, port, port_field="addresses", low_ports=(usual,))
        except ServerRefused as exc:
            faults.setdefault("addresses", []).append(str(exc))
        else:
            found[text] = None
    return list(found)


def _key(terms: Terms, row: PrimaryTerms | None, faults: dict[str, list[str]]) -> dict[str, Any]:
    name, algorithm = "", ""
    secret: bytes | memoryview | None = None
    try:
        name = names.parse(terms.tsig_name)
    except BadName as exc:
        faults["tsig_name"] = [str(exc)]
    try:
        algorithm = tsig_secrets.algorithm_of(terms.tsig_algorithm)
    except TokenRefused as exc:
        faults["tsig_algorithm"] = [str(exc)]
    if terms.tsig_secret is not None:
        text = "".join(terms.tsig_secret.split())
        try:
            tsig_secrets.refuse_bad_secret(text)
            secret = encrypt_secret(text.encode())
        except TokenRefused as exc:
            faults["tsig_secret"] = [str(exc)]
    elif row is not None and row.tsig_secret is not None and row.tsig_name == name:
        secret = row.tsig_secret
    else:
        faults["tsig_secret"] = [gettext("Enter the key secret in Base64.")]
    return {"tsig_name": name, "tsig_algorithm": algorithm, "tsig_secret": secret}


def columns_of(row: PrimaryTerms) -> dict[str, Any]:
    return {name: getattr(row, name) for name in TERMS}


def columns_for_audit(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Return the terms for the audit log, with fingerprints instead of certificates, and without the secret."""
    terms = {name: value for name, value in columns.items() if name != "tsig_secret"}
    return {**terms, "tls_certificates": sorted(fingerprints_of(columns["tls_certificates"]))}
