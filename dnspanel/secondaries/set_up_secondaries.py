"""Create, change, notify and delete secondaries, and rotate their keys. Verbs."""

import base64
import secrets as chance
from collections.abc import Collection
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, transaction

from dnspanel import outbound
from dnspanel.accounts.actors.actors import Actor
from dnspanel.accounts.audit import audit
from dnspanel.accounts.models import Team, User
from dnspanel.accounts.secrets.vault import decrypt_secret, encrypt_secret
from dnspanel.accounts.tokens import tsig_secrets
from dnspanel.database.field_copies import copy_fields
from dnspanel.database.first_rows import first_or
from dnspanel.field_faults import not_found
from dnspanel.pasted_certificates import fingerprints_of
from dnspanel.secondaries import members
from dnspanel.secondaries.access import require_set_up
from dnspanel.secondaries.errors import CertificateRefused, SecondaryRefused, SecondaryUnknown
from dnspanel.secondaries.models import Kind, Secondary, Transport, ZoneChoice
from dnspanel.secondaries.server_addresses import canonical_address, canonical_network, host_and_port
from dnspanel.secondaries.server_certificates import canonical_certificates
from dnspanel.secondaries.signals import changed
from dnspanel.texts import gettext
from dnspanel.zones.errors import SettingsRefused
from dnspanel.zones.models import Zone
from dnspanel.zones.settings.settings_of_zone import canonical_tags
from replication.dns import names
from replication.errors import BadName

MOST = 200
MOST_ADDRESSES = 8
MOST_NETWORKS = 32
MOST_LISTED = 10_000
MOST_GROUPS = 16
LONGEST_NAME = 40
LAST_PORT = 65535
LEAST_BOUND, MOST_BOUND = 10, 30 * 86_400  # seconds
# How long the old key is accepted after a rotation.
OVERLAP = timedelta(hours=24)
ALGORITHMS = tuple(name for name in tsig_secrets.ALGORITHMS if name != tsig_secrets.OLD_ALGORITHM)
_NAME_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")


@dataclass(frozen=True, slots=True)
class Terms:
    """The settings of a secondary. `lag_bound` is in seconds, `team` is an id, and `certificate` is PEM text."""

    name: str
    addresses: Collection[str]
    kind: str = Kind.OTHER
    networks: Collection[str] = ()
    choice: str = ZoneChoice.ALL
    tag: str = ""
    team: int | None = None
    zones: Collection[str] = ()
    lag_bound: int = 300
    active: bool = True
    transport: str = Transport.ANY
    certificate: str = ""
    tls_port: int | None = None
    group_tags: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class NewSecondary:
    """A new secondary, and the secret (Base64) of its TSIG key."""

    secondary: Secondary
    secret: str


def create_secondary(
    *, terms: Terms, by: User | Actor, now: datetime, algorithm: str = "hmac-sha256", form_id: UUID | None = None
) -> NewSecondary:
    """Create a secondary, and return it with its key's secret.

    An active secondary can transfer zones immediately, and gets NOTIFY. Sending a form twice creates only one
    secondary. Raise Forbidden if the user isn't allowed to do this, and SecondaryRefused with the invalid fields.
    """
    actor = require_set_up(by)
    if first := _secondary_of_form(form_id):
        return first
    faults: dict[str, list[str]] = {}
    if algorithm not in ALGORITHMS:
        faults["algorithm"] = [gettext("Choose one of these values: {values}.").format(values=", ".join(ALGORITHMS))]
    terms, zones = _check_terms(terms, faults)
    secret = _new_secret()
    try:
        with transaction.atomic():
            if Secondary.objects.count() >= MOST:
                raise SecondaryRefused(
                    {"name": [gettext("The panel can have at most {most} secondaries.").format(most=MOST)]}
                )
            secondary = Secondary.objects.create(
                **_columns(terms),
                tsig_name=f"{terms.name}-{chance.token_hex(3)}.{tsig_secrets.OF_SECONDARIES}",
                tsig_algorithm=algorithm,
                tsig_secret=encrypt_secret(secret.encode()),
                created_at=now,
                noted=members.head(),
                form_id=form_id,
            )
            secondary.zones.set(zones)
            members.follow(secondary_id=secondary.pk, now=now)
            audit.record(
                action="secondary.create",
                by=actor,
                now=now,
                target=secondary.name,
                secondary=secondary.pk,
                tsig=secondary.tsig_name,
                **_terms_for_audit(terms),
            )
            _follow_on_commit()
    except IntegrityError as exc:
        if first := _secondary_of_form(form_id):
            return first
        raise SecondaryRefused({"name": [gettext("A secondary with this name already exists.")]}) from exc
    return NewSecondary(secondary, secret)


def change_secondary(*, secondary: Secondary, terms: Terms, by: User | Actor, now: datetime) -> Secondary:
    """Change a secondary, but not its key. If the secondary becomes active, queue NOTIFY for all its zones.

    Raise SecondaryUnknown or the errors of `create_secondary`.
    """
    actor = require_set_up(by)
    terms, zones = _check_terms(terms, {})
    try:
        with transaction.atomic():
            members.lock_members()
            stored = _lock_secondary(secondary)
            before = _terms_for_audit(terms_of(stored))
            for name, value in _columns(terms).items():
                setattr(stored, name, value)
            stored.save(update_fields=list(_columns(terms)))
            stored.zones.set(zones)
            after = _terms_for_audit(terms_of(stored))
            members.follow(secondary_id=stored.pk, now=now)
            differing = [name for name in after if before[name] != after[name]]
            if "active" in differing and stored.active:
                members.notify_all(secondary_id=stored.pk, now=now)
            if differing:
                audit.record(
                    action="secondary.change",
                    by=actor,
                    now=now,
                    target=stored.name,
                    secondary=stored.pk,
                    before={name: before[name] for name in differing},
                    after={name: after[name] for name in differing},
                )
            _follow_on_commit()
    except IntegrityError as exc:
        raise SecondaryRefused({"name": [gettext("A secondary with this name already exists.")]}) from exc
    return stored


def rotate_key(*, secondary: Secondary, by: User | Actor, now: datetime) -> str:
    """Replace the secret of the secondary's key. Return the new secret (Base64). The old one is accepted for a day."""
    actor = require_set_up(by)
    secret = _new_secret()
    with transaction.atomic():
        stored = _lock_secondary(secondary)
        stored.old_secret, stored.old_secret_until = stored.tsig_secret, now + OVERLAP
        stored.tsig_secret = encrypt_secret(secret.encode())
        stored.save(update_fields=["tsig_secret", "old_secret", "old_secret_until"])
        audit.record(action="secondary.rotate", by=actor, now=now, target=stored.name, secondary=stored.pk)
    return secret


def delete_secondary(*, secondary: Secondary, by: User | Actor, now: datetime) -> None:
    """Delete the secondary and its state. The server can no longer transfer zones. A second call does nothing."""
    actor = require_set_up(by)
    with transaction.atomic():
        if Secondary.objects.filter(pk=secondary.pk).delete()[0]:
            audit.record(action="secondary.delete", by=actor, now=now, target=secondary.name, secondary=secondary.pk)


def notify_now(*, secondary: Secondary, by: User | Actor, now: datetime) -> None:
    """Queue NOTIFY for each of the secondary's zones and for its catalog."""
    actor = require_set_up(by)
    with transaction.atomic():
        stored = _lock_secondary(secondary)
        members.notify_all(secondary_id=stored.pk, now=now)
        audit.record(action="secondary.notify", by=actor, now=now, target=stored.name, secondary=stored.pk)
        _follow_on_commit()


def terms_of(secondary: Secondary) -> Terms:
    """Return the secondary's current settings. If its zones are listed by name, this makes one database query."""
    is_listed = secondary.choice == ZoneChoice.LIST
    zones = tuple(secondary.zones.order_by("name").values_list("name", flat=True)) if is_listed else ()
    return copy_fields(Terms, secondary, team=secondary.team_id, zones=zones)


def _check_terms(terms: Terms, faults: dict[str, list[str]]) -> tuple[Terms, list[Zone]]:
    """Return the terms in canonical form, and the listed zones. Raise SecondaryRefused with all errors at once.

    A tag, team or list of zones that the terms' `choice` doesn't use is dropped.
    """
    name = terms.name.strip().lower()
    if not name or len(name) > LONGEST_NAME or not _NAME_CHARACTERS.issuperset(name) or name.strip("-") != name:
        faults["name"] = [
            gettext(
                "Use 1 to {longest_name} letters, digits and hyphens. The TSIG key name is based on this name."
            ).format(longest_name=LONGEST_NAME)
        ]
    if terms.kind not in Kind.values:
        faults["kind"] = [gettext("Choose one of these values: {values}.").format(values=", ".join(Kind.values))]
    addresses = checked_addresses(terms.addresses, faults)
    networks = checked_networks(terms.networks, faults)
    if not LEAST_BOUND <= terms.lag_bound <= MOST_BOUND:
        faults["lag_bound"] = [
            gettext("Enter a value from {least_bound} to {most_bound:,} seconds.").format(
                least_bound=LEAST_BOUND, most_bound=MOST_BOUND
            )
        ]
    certificate = _certificate(terms, faults)
    group_tags = checked_group_tags(terms.group_tags, faults)
    if terms.choice not in ZoneChoice.values:
        faults["choice"] = [
            gettext("Choose one of these values: {values}.").format(values=", ".join(ZoneChoice.values))
        ]
    tag, team, zones = "", None, list[Zone]()
    match terms.choice:
        case ZoneChoice.TAG:
            tag = _tag(terms.tag, faults)
        case ZoneChoice.TEAM:
            team = terms.team
            if team is None or not Team.objects.filter(pk=team).exists():
                faults["team"] = [gettext("Choose a team.")]
        case ZoneChoice.LIST:
            zones = _zones(terms.zones, faults)
    if faults:
        raise SecondaryRefused(faults)
    listed = [zone.name for zone in zones]
    terms = replace(
        terms, name=name, addresses=addresses, networks=networks, certificate=certificate, group_tags=group_tags
    )
    return replace(terms, tag=tag, team=team, zones=listed), zones


def checked_addresses(texts: Collection[str], faults: dict[str, list[str]]) -> list[str]:
    """Return the canonical addresses to which the panel is allowed to send, once each. Add errors to `faults`."""
    found: dict[str, None] = {}
    for text in list(texts)[: MOST_ADDRESSES + 1]:
        address = canonical_address(text)
        if address is None:
            _add(
                faults,
                "addresses",
                gettext("{text} isn’t a valid address. Examples: 192.0.2.53 or [2001:db8::53]:5300.").format(
                    text=text[:60]
                ),
            )
        elif not outbound.is_allowed(host_and_port(address)[0], settings.SECONDARY_NETWORKS):
            _add(
                faults,
                "addresses",
                gettext(
                    "{address} is not a public address. The operator can allow networks in PANEL_SECONDARY_NETWORKS."
                ).format(address=address),
            )
        else:
            found[address] = None
    if not texts:
        _add(faults, "addresses", gettext("Enter at least one address."))
    elif len(texts) > MOST_ADDRESSES:
        _add(
            faults,
            "addresses",
            gettext("Enter at most {most_addresses} addresses.").format(most_addresses=MOST_ADDRESSES),
        )
    return list(found)


def checked_networks(texts: Collection[str], faults: dict[str, list[str]]) -> list[str]:
    """Return the canonical networks without duplicates. Add errors to `faults`."""
    found: dict[str, None] = {}
    for text in list(texts)[: MOST_NETWORKS + 1]:
        network = canonical_network(text)
        if network is None:
            _add(
                faults,
                "networks",
                gettext("{text} isn’t a valid network. Examples: 192.0.2.0/24 or 2001:db8::/48.").format(
                    text=text[:60]
                ),
            )
        else:
            found[network] = None
    if len(texts) > MOST_NETWORKS:
        _add(faults, "networks", gettext("Enter at most {most_networks} networks.").format(most_networks=MOST_NETWORKS))
    return list(found)


def checked_group_tags(texts: Collection[str], faults: dict[str, list[str]]) -> list[str]:
    """Return the canonical group tags in the given order, or [] if there are too many. Add errors to `faults`."""
    if len(texts) > MOST_GROUPS:
        _add(faults, "group_tags", gettext("Enter at most {most_groups} groups.").format(most_groups=MOST_GROUPS))
        return []
    found: dict[str, None] = {}
    for text in texts:  # in order of precedence
        try:
            found |= dict.fromkeys(canonical_tags([text]))
        except SettingsRefused as exc:
            _add(faults, "group_tags", str(exc))
    return list(found)


def _certificate(terms: Terms, faults: dict[str, list[str]]) -> str:
    """Return the canonical certificates. Check them, the transport and the TLS port, and add errors to `faults`."""
    found = ""
    try:
        found = canonical_certificates(terms.certificate)
    except CertificateRefused as exc:
        _add(faults, "certificate", str(exc))
    if terms.transport not in Transport.values:
        _add(
            faults,
            "transport",
            gettext("Choose one of these values: {values}.").format(values=", ".join(Transport.values)),
        )
    elif terms.transport != Transport.ANY and not settings.UPDATE_TLS_PORT:
        _add(
            faults,
            "transport",
            gettext("TLS is disabled in the gateway. The operator can enable it with PANEL_UPDATE_TLS_PORT."),
        )
    elif terms.transport != Transport.ANY and terms.kind == Kind.POWERDNS:
        _add(faults, "transport", gettext("PowerDNS only supports transfers over TCP."))
    if terms.transport == Transport.CERTIFICATE and not terms.certificate.strip():
        _add(faults, "certificate", gettext("Enter the certificate that the secondary presents."))
    if terms.tls_port is not None and not 1 <= terms.tls_port <= LAST_PORT:
        _add(faults, "tls_port", gettext("Enter a port from 1 to {last_port}.").format(last_port=LAST_PORT))
    return found


def _tag(text: str, faults: dict[str, list[str]]) -> str:
    try:
        found = canonical_tags([text])
    except SettingsRefused as exc:
        _add(faults, "tag", str(exc))
        return ""
    if not found:
        _add(faults, "tag", gettext("Enter a tag."))
    return found[0] if found else ""


def _zones(texts: Collection[str], faults: dict[str, list[str]]) -> list[Zone]:
    if len(texts) > MOST_LISTED:
        _add(
            faults,
            "zones",
            gettext("Enter at most {most_listed:,} zones. Use a tag to include more.").format(most_listed=MOST_LISTED),
        )
        return []
    requested = set()
    for text in texts:
        try:
            requested.add(names.parse(text))
        except BadName as exc:
            _add(faults, "zones", str(exc))
    zones = list(Zone.objects.filter(name__in=requested, deleted_at=None).order_by("name"))
    for name in sorted(requested - {zone.name for zone in zones})[:10]:
        _add(faults, "zones", not_found(gettext("Zone not found: {name}").format(name=name)))
    if not texts:
        _add(faults, "zones", gettext("Enter at least one zone."))
    return zones


def _add(faults: dict[str, list[str]], field: str, message: str) -> None:
    faults.setdefault(field, []).append(message)


def _columns(terms: Terms) -> dict[str, Any]:
    values = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(terms).items()}
    del values["zones"]
    return values | {"team_id": values.pop("team")}


def _terms_for_audit(terms: Terms) -> dict[str, Any]:
    """Return the terms for the audit log, with up to 100 zone names, and fingerprints instead of certificates."""
    certificates = sorted(fingerprints_of(terms.certificate))
    return _columns(terms) | {"zones": list(terms.zones)[:100], "certificate": certificates}


def _lock_secondary(secondary: Secondary) -> Secondary:
    return first_or(Secondary.objects.select_for_update().filter(pk=secondary.pk), SecondaryUnknown)


def _secondary_of_form(form_id: UUID | None) -> NewSecondary | None:
    found = Secondary.objects.filter(form_id=form_id).first() if form_id else None
    return None if found is None else NewSecondary(found, decrypt_secret(found.tsig_secret).decode())


def _new_secret() -> str:
    return base64.b64encode(chance.token_bytes(32)).decode()


def _follow_on_commit() -> None:
    transaction.on_commit(lambda: changed.send(sender=Secondary), robust=True)
