"""Create, change, test and delete audit log destinations, and switch them on or off, as an administrator. Verbs."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from django.db import IntegrityError, transaction

from dnspanel.accounts.actors.actors import Author, Permission, user_of
from dnspanel.accounts.audit import audit
from dnspanel.accounts.rights.grant_edit import require_all_rights
from dnspanel.accounts.secrets.vault import decrypt_secret, encrypt_secret
from dnspanel.audit.forward.deliver_acts import Send, last_number, sender, target_of
from dnspanel.audit.forward.destination_address import format_headers, parse_headers, parse_syslog_address
from dnspanel.audit.forward.destination_tls import canonical_certificates, canonical_key, fits
from dnspanel.audit.forward.errors import DestinationRefused, DestinationUnknown, NotSent
from dnspanel.audit.forward.models import WELL, Destination, Kind
from dnspanel.audit.forward.send import NETWORKS, addresses_of, send
from dnspanel.database.first_rows import first_or
from dnspanel.field_faults import address_refused, message_of, name_taken
from dnspanel.texts import gettext
from dnspanel.webhooks.address_guard import checked_addresses, parse_target
from dnspanel.webhooks.errors import AddressRefused, NoAnswer
from dnspanel.zones.audit.audit_trail import Act
from dnspanel.zones.rights import access

MOST_DESTINATIONS = 5
LONGEST_NAME = 40
_TEST = "evidence.test"
# The values after a destination was changed. Earlier failures and rejections belong to the old settings.
_ANEW = {**WELL, "rejected_at": None, "rejected": ""}


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """The settings of a destination. Empty headers keep the stored ones, unless `without_headers` is True.

    If a certificate is set, an empty key keeps the stored key.
    """

    name: str
    address: str
    ca: str = ""
    certificate: str = ""
    key: str = field(default="", repr=False)
    headers: str = field(default="", repr=False)
    without_headers: bool = False
    from_beginning: bool = False  # True: send the log from its first entry instead of from the current position


@dataclass(frozen=True, slots=True)
class DestinationRow:
    """A destination with its number of missing entries."""

    destination: Destination
    behind: int

    @property
    def word(self) -> str:
        """The state in one word: off, failing, behind or working."""
        if not self.destination.active:
            return "off"
        if self.destination.failing_since is not None:
            return "failing"
        return "behind" if self.behind else "working"


def require_operator(by: Author) -> None:
    """Raise Forbidden or AllRightsNeeded unless this user or token has all rights of an administrator."""
    access.require(by, Permission.NODES)
    access.require(by, Permission.AUDIT)
    require_all_rights(by)


def destination_rows() -> list[DestinationRow]:
    """Return all destinations, sorted by name, with two queries."""
    return rows_of(Destination.objects.order_by("name")[:MOST_DESTINATIONS])


def rows_of(found: Iterable[Destination]) -> list[DestinationRow]:
    """Return the destinations with their numbers of missing entries. This takes one query more than `found`."""
    last = last_number()
    return [_row(each, last) for each in found]


def destination_row(pk: int) -> DestinationRow:
    """Return the destination with this id. Raise DestinationUnknown if there is none."""
    found = first_or(Destination.objects.filter(pk=pk), DestinationUnknown)
    return _row(found, last_number())


def create_destination(*, kind: Kind, terms: Terms, by: Author, now: datetime) -> Destination:
    """Create a destination, which receives entries from now on or from the beginning of the log.

    Raise the errors of `require_operator`. Raise DestinationRefused for invalid settings, a forbidden address or a name
    that is in use, or if there are MOST_DESTINATIONS already.
    """
    require_operator(by)
    columns = _columns_of_terms(kind, terms, None)
    if Destination.objects.count() >= MOST_DESTINATIONS:
        raise DestinationRefused(
            {
                "name": [
                    gettext("You can create at most {most_destinations} destinations.").format(
                        most_destinations=MOST_DESTINATIONS
                    )
                ]
            }
        )
    start = 0 if terms.from_beginning else last_number()
    try:
        with transaction.atomic(durable=True):
            made = Destination.objects.create(kind=kind, created_at=now, sent_to=start, **columns)
            new = _columns_for_audit(columns)
            audit.record(action="evidence.create", by=by, now=now, target=made.name, kind=kind, after=new, start=start)
    except IntegrityError as exc:
        raise _name_taken() from exc
    return made


def change_destination(*, destination: Destination, terms: Terms, by: Author, now: datetime) -> None:
    """Change the destination's settings and clear its failures. The next batch uses the new settings.

    The destination keeps its position unless `terms.from_beginning` is set. Raise the errors of `create_destination`,
    DestinationRefused if someone else has changed the destination, and DestinationUnknown if it was deleted.
    """
    require_operator(by)
    columns = _columns_of_terms(Kind(destination.kind), terms, destination)
    try:
        with transaction.atomic(durable=True):
            row = first_or(Destination.objects.select_for_update().filter(pk=destination.pk), DestinationUnknown)
            if row.version != destination.version:
                raise DestinationRefused({"": [gettext("Someone else has changed the destination. Reload the page.")]})
            before = {name: getattr(row, name) for name in columns}
            given = columns | ({"sent_to": 0} if terms.from_beginning else {})
            Destination.objects.filter(pk=row.pk).update(version=row.version + 1, changed_at=now, **_ANEW, **given)
            audit.record(
                action="evidence.change",
                by=by,
                now=now,
                target=terms.name,
                before=_columns_for_audit(before),
                after=_columns_for_audit(columns),
                secrets=sorted(name for name in ("key", "headers") if columns[name] != before[name]),
                from_beginning=terms.from_beginning,
            )
    except IntegrityError as exc:
        raise _name_taken() from exc


def switch_destination(*, destination: Destination, active: bool, by: Author, now: datetime) -> None:
    """Switch the destination on or off. If this changes its state, clear its failures.

    Raise the errors of `require_operator`.
    """
    require_operator(by)
    with transaction.atomic(durable=True):
        rows = Destination.objects.filter(pk=destination.pk, active=not active)
        if rows.update(active=active, changed_at=now, **_ANEW):
            action = f"evidence.{'open' if active else 'close'}"
            audit.record(action=action, by=by, now=now, target=destination.name)


def delete_destination(*, destination: Destination, by: Author, now: datetime) -> None:
    """Delete the destination if it still exists. Raise the errors of `require_operator`."""
    require_operator(by)
    with transaction.atomic(durable=True):
        if Destination.objects.filter(pk=destination.pk).delete()[0]:
            position = {"sent_to": destination.sent_to, "address": destination.address}
            audit.record(action="evidence.delete", by=by, now=now, target=destination.name, **position)


def try_destination(*, destination: Destination, by: Author, clock: Callable[[], datetime], send: Send = send) -> None:
    """Send a test message, which isn't an entry of the chain. Record the result in the audit log.

    If the test succeeds and the settings weren't changed during it, end the destination's pause, so that waiting
    entries are sent. Raise NotSent with the reason if the test fails, and the errors of `require_operator`.
    """
    require_operator(by)
    now, user = clock(), user_of(by)
    act = Act("test", 0, now, user.username if user else "", "", None, _TEST, destination.name, "", "")
    failure = ""
    try:
        sent = send(target_of(destination), [act], sender=sender(), now=now)
        failure = sent.rejected
    except NotSent as exc:
        failure = str(exc)
    audit.record(action=_TEST, by=by, now=clock(), target=destination.name, failure=failure)
    if failure:
        raise NotSent(failure)
    Destination.objects.filter(pk=destination.pk, version=destination.version).update(resting_until=None)


def _row(destination: Destination, last: int) -> DestinationRow:
    return DestinationRow(destination, max(0, last - destination.sent_to))


def _name_taken() -> DestinationRefused:
    return DestinationRefused({"name": [name_taken(gettext("A destination with this name already exists."))]})


def _columns_of_terms(kind: Kind, terms: Terms, stored: Destination | None) -> dict[str, Any]:
    """Return the columns. Raise DestinationRefused with all errors. Secrets are checked only if the rest is valid."""
    faults: dict[str, list[str]] = {}

    def try_check(name: str, check: Callable[[], Any]) -> Any:
        try:
            return check()
        except ValueError as exc:
            faults[name] = [message_of(exc)]

    columns: dict[str, Any] = {
        "name": try_check("name", lambda: _name(terms.name)),
        "address": try_check("address", lambda: _address(kind, terms.address)),
        "ca": try_check("ca", lambda: canonical_certificates(terms.ca)),
        "certificate": try_check("certificate", lambda: canonical_certificates(terms.certificate)),
    }
    if not faults:
        columns["key"] = try_check("key", lambda: _key(terms, columns["certificate"], stored))
        columns["headers"] = try_check("headers", lambda: _headers(kind, terms, columns["address"], stored))
    if faults:
        raise DestinationRefused(faults)
    return columns


def _name(text: str) -> str:
    name = text.strip()
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        raise ValueError(gettext("Enter a name of 1 to {longest_name} characters.").format(longest_name=LONGEST_NAME))
    return name


def _address(kind: Kind, text: str) -> str:
    """Return the canonical address. Raise ValueError if it is invalid or the panel isn't allowed to connect to it."""
    if kind == Kind.OTLP:
        try:
            checked_addresses(parse_target(text.strip()), networks=NETWORKS)
        except (AddressRefused, NoAnswer) as exc:
            raise ValueError(address_refused(exc)) from exc
        return text.strip()
    address = parse_syslog_address(text)
    try:
        addresses_of(address)
    except NotSent as exc:
        raise ValueError(str(exc)) from exc
    return str(address)


def _key(terms: Terms, certificate: str, stored: Destination | None) -> bytes | None:
    if not certificate:
        if terms.key.strip():
            raise ValueError(gettext("Enter the certificate for the private key."))
        return None
    if terms.key.strip():
        return encrypt_secret(canonical_key(terms.key, certificate))
    if stored is None or stored.key is None:
        raise ValueError(gettext("Enter the private key for the certificate."))
    if not fits(decrypt_secret(stored.key), certificate):
        raise ValueError(gettext("The stored private key doesn’t match this certificate. Enter the matching one."))
    return bytes(stored.key)


def _headers(kind: Kind, terms: Terms, address: str, stored: Destination | None) -> bytes | None:
    """Return the encrypted headers or None. Raise ValueError if they are invalid or were stored for another server."""
    if terms.headers.strip():
        if kind == Kind.SYSLOG:
            raise ValueError(gettext("Syslog doesn’t support headers. Leave this field empty."))
        return encrypt_secret(format_headers(parse_headers(terms.headers)).encode())
    if stored is None or stored.headers is None or terms.without_headers:
        return None
    if urlsplit(stored.address)[:2] != urlsplit(address)[:2]:
        raise ValueError(gettext("Enter the headers again. The stored ones belong to another server."))
    return bytes(stored.headers)


def _columns_for_audit(columns: dict[str, Any]) -> dict[str, Any]:
    """Return the columns for the audit log, with each secret replaced by True or False."""
    return {name: value if name not in ("key", "headers") else value is not None for name, value in columns.items()}
