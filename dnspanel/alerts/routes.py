"""Create, change, switch, test and delete routes (the recipients of alerts), and rotate their secrets. Verbs."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, time
from urllib.parse import urlsplit

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import IntegrityError, transaction

from dnspanel import quiet_hours
from dnspanel.accounts.actors.actors import Author
from dnspanel.accounts.audit import audit
from dnspanel.accounts.secrets.vault import encrypt_secret
from dnspanel.alerts.errors import RouteRefused, RouteUnknown
from dnspanel.alerts.models import Message, Route, RouteKind
from dnspanel.conditions import Severity
from dnspanel.database.first_rows import first_or
from dnspanel.field_faults import name_taken
from dnspanel.texts import gettext
from dnspanel.time_zones import UnknownTimeZone, time_zone_named
from dnspanel.webhooks.address_guard import Resolve, checked_addresses, parse_target
from dnspanel.webhooks.errors import AddressRefused, NoAnswer
from dnspanel.webhooks.sign_events import new_secret


@dataclass(frozen=True, slots=True)
class RouteTerms:
    name: str
    kind: str
    address: str
    least: str = Severity.INFO
    quiet_from: time | None = None
    quiet_until: time | None = None
    time_zone: str = "UTC"


@dataclass(frozen=True, slots=True)
class NewRoute:
    """A new route. `secret` signs webhook requests and is empty for mail."""

    route: Route
    secret: str


def create_route(*, terms: RouteTerms, by: Author, now: datetime, resolve: Resolve | None = None) -> NewRoute:
    """Create a route, which receives alerts from now on. Raise RouteRefused if a field is invalid."""
    _refuse_bad_terms(terms, resolve)
    secret = new_secret() if terms.kind == RouteKind.WEBHOOK else ""
    try:
        with transaction.atomic():
            route = Route.objects.create(
                **_columns(terms), secret=encrypt_secret(secret.encode()) if secret else None, created_at=now
            )
            audit.record(action="route.create", by=by, now=now, target=route.name, kind=route.kind, least=route.least)
    except IntegrityError as exc:
        raise _name_taken(terms.name) from exc
    return NewRoute(route, secret)


def change_route(*, route: Route, terms: RouteTerms, by: Author, now: datetime, resolve: Resolve | None = None) -> None:
    """Change the route. Raise RouteRefused for an invalid field or another kind, or RouteUnknown if it was deleted."""
    if terms.kind != route.kind:
        raise RouteRefused({"kind": [gettext("A route’s type can’t be changed. Create a new route instead.")]})
    _refuse_bad_terms(terms, resolve, address_checked=terms.address == route.address)
    try:
        with transaction.atomic():
            current = _lock_route(route)
            columns = _columns(terms)
            changed = [name for name, value in columns.items() if getattr(current, name) != value]
            before = {name: getattr(current, name) for name in changed}
            for name in changed:
                setattr(current, name, columns[name])
            if changed:
                current.save(update_fields=changed)
                after = {name: columns[name] for name in changed}
                audit.record(
                    action="route.change",
                    by=by,
                    now=now,
                    target=current.name,
                    before=_audit_values(before),
                    after=_audit_values(after),
                )
    except IntegrityError as exc:
        raise _name_taken(terms.name) from exc


def switch_route(*, route: Route, active: bool, by: Author, now: datetime) -> None:
    """Switch the route on or off. Switching it off deletes its waiting messages."""
    with transaction.atomic():
        if not Route.objects.filter(pk=route.pk).exclude(active=active).update(active=active):
            return
        if not active:
            Message.objects.filter(route=route, sent_at=None, failed_at=None).delete()
        audit.record(action="route.on" if active else "route.off", by=by, now=now, target=route.name)


def rotate_secret(*, route: Route, by: Author, now: datetime) -> str:
    """Replace the signing secret and return the new one. Raise RouteRefused for a mail route."""
    if route.kind != RouteKind.WEBHOOK:
        raise RouteRefused({"kind": [gettext("Email messages are not signed.")]})
    secret = new_secret()
    with transaction.atomic():
        current = _lock_route(route)
        current.secret = encrypt_secret(secret.encode())
        current.save(update_fields=["secret"])
        audit.record(action="route.rotate", by=by, now=now, target=current.name)
    return secret


def delete_route(*, route: Route, by: Author, now: datetime) -> None:
    """Delete the route and its message history. Do nothing if it is already deleted."""
    with transaction.atomic():
        if Route.objects.filter(pk=route.pk).delete()[0]:
            audit.record(action="route.delete", by=by, now=now, target=route.name)


def send_test(*, route: Route, by: Author, now: datetime) -> Message:
    """Queue a test message, even in quiet hours or if the route is off. The outcome is stored in the message."""
    with transaction.atomic():
        message = Message.objects.create(route=_lock_route(route), alert=None, due_at=now)
        audit.record(action="route.test", by=by, now=now, target=route.name)
    return message


def _refuse_bad_terms(terms: RouteTerms, resolve: Resolve | None, *, address_checked: bool = False) -> None:
    faults: dict[str, list[str]] = {}
    if not terms.name.strip():
        faults["name"] = [gettext("Enter a name, such as the recipient of the alerts.")]
    if terms.kind not in RouteKind.values:
        faults["kind"] = [gettext("Choose one of {values}.").format(values=", ".join(RouteKind.values))]
    elif not address_checked and (fault := _fault_of_address(terms, resolve)):
        faults["address"] = [fault]
    if terms.least not in Severity.values:
        faults["least"] = [gettext("Choose one of {values}.").format(values=", ".join(Severity.values))]
    faults |= quiet_hours.faults_of(terms.quiet_from, terms.quiet_until)
    try:
        time_zone_named(terms.time_zone)
    except UnknownTimeZone as fault:
        faults["time_zone"] = [str(fault)]
    if faults:
        raise RouteRefused(faults)


def _fault_of_address(terms: RouteTerms, resolve: Resolve | None) -> str:
    """Return the reason why messages can't be sent to the address, or "" if the address is valid."""
    try:
        if terms.kind == RouteKind.MAIL:
            validate_email(terms.address)
        else:
            checked_addresses(parse_target(terms.address), resolve=resolve)
    except ValidationError:
        return gettext("Enter a valid email address.")
    except (AddressRefused, NoAnswer) as exc:
        return str(exc)
    return ""


def _columns(terms: RouteTerms) -> dict[str, object]:
    return {**asdict(terms), "name": terms.name.strip()}


def _audit_values(columns: Mapping[str, object]) -> dict[str, object]:
    """Return the values for the audit log. A URL is reduced to its host, because the path can be a password."""
    found = {name: value.isoformat("minutes") if isinstance(value, time) else value for name, value in columns.items()}
    if "address" in found and "://" in str(found["address"]):
        found["address"] = urlsplit(str(found["address"])).hostname or ""
    return found


def _lock_route(route: Route) -> Route:
    """Lock and return the current row of the route. Raise RouteUnknown if it was deleted."""
    return first_or(Route.objects.select_for_update().filter(pk=route.pk), RouteUnknown)


def _name_taken(name: str) -> RouteRefused:
    return RouteRefused(
        {"name": [name_taken(gettext("An alert route named {name} already exists.").format(name=name.strip()))]}
    )
