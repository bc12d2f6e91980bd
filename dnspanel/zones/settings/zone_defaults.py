"""Read and change the defaults for new zones. Environment variables can fix them. Verbs."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.db import transaction

from dnspanel.accounts.actors.actors import Actor, Permission
from dnspanel.accounts.audit import audit
from dnspanel.accounts.models import User
from dnspanel.zones.errors import DefaultsFixed, DefaultsMoved
from dnspanel.zones.models import ZoneDefaults
from dnspanel.zones.rights import access

NAMESERVERS, HOSTMASTER = "PANEL_DEFAULT_NAMESERVERS", "PANEL_DEFAULT_HOSTMASTER"


@dataclass(frozen=True, slots=True)
class Defaults:
    """The defaults for new zones. `changed_at` and `changed_by` describe the last change in the panel, if any."""

    nameservers: tuple[str, ...]
    hostmaster: str
    changed_at: datetime | None = None
    changed_by: str = ""
    fixed: frozenset[str] = frozenset()  # the variables that the environment sets


def zone_defaults() -> Defaults:
    """Return the defaults as fixed by the environment, else as changed in the panel, else from the settings."""
    fixed = frozenset({NAMESERVERS, HOSTMASTER} & settings.FIXED_BY_ENVIRONMENT)
    ours = Defaults(tuple(settings.DEFAULT_NAMESERVERS), str(settings.DEFAULT_HOSTMASTER), fixed=fixed)
    row = ZoneDefaults.objects.select_related("changed_by").first()
    if row is None:
        return ours
    return Defaults(
        ours.nameservers if NAMESERVERS in fixed else tuple(row.nameservers),
        ours.hostmaster if HOSTMASTER in fixed else row.hostmaster,
        row.changed_at,
        row.changed_by.username if row.changed_by else "",
        fixed,
    )


def change_zone_defaults(
    *, nameservers: Sequence[str], hostmaster: str, seen: datetime | None, by: User | Actor, now: datetime
) -> None:
    """Set the defaults in the form for new zones to these canonical names. Record the change in the audit log.

    Raise Forbidden if the person lacks the permission NODES, DefaultsFixed for values that the environment fixes, and
    DefaultsMoved if the defaults were changed after `seen`.
    """
    access.require(by, Permission.NODES)
    with transaction.atomic():
        ZoneDefaults.objects.select_for_update().first()
        current = zone_defaults()
        if current.changed_at != seen:
            raise DefaultsMoved(current.changed_by)
        changed = {NAMESERVERS: tuple(nameservers) != current.nameservers, HOSTMASTER: hostmaster != current.hostmaster}
        for variable in sorted(current.fixed):
            if changed[variable]:
                raise DefaultsFixed(variable)
        if not any(changed.values()):
            return
        user = by.user if isinstance(by, Actor) else by
        ZoneDefaults.objects.update_or_create(
            pk=1,
            defaults={
                "nameservers": list(nameservers), "hostmaster": hostmaster, "changed_at": now, "changed_by": user,
            },
        )  # fmt: skip
        audit.record(
            action="settings.zones",
            by=by,
            now=now,
            target="new zones",
            before={"nameservers": list(current.nameservers), "hostmaster": current.hostmaster},
            after={"nameservers": list(nameservers), "hostmaster": hostmaster},
        )
