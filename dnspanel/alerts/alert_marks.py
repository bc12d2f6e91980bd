"""Marks on open alerts: read by one person, or muted for everyone. Verbs.

An alert that becomes critical loses its marks (`watch.keep`).
"""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F, Func, QuerySet

from dnspanel.accounts.actors.roles import Permission
from dnspanel.accounts.audit import audit
from dnspanel.accounts.models import User
from dnspanel.alerts.models import Alert, Message
from dnspanel.zones.rights import access

MUTED_FOR = timedelta(days=1)


def mark_read(*, alerts: "QuerySet[Alert]", by: User, now: datetime) -> None:
    """Remove these alerts from the person's number of unread alerts. Raise Forbidden without the right to see them."""
    access.require(by, Permission.FLEET)
    unread = alerts.exclude(read_by__contains=[by.pk])
    unread.update(read_by=Func(F("read_by"), by.pk, function="array_append"))


def mute(*, alerts: "QuerySet[Alert]", by: User, now: datetime) -> None:
    """Mute these alerts for a day, and delete their waiting messages. Raise Forbidden without the right to do so."""
    _set_muted(alerts, now + MUTED_FOR, by, now)


def unmute(*, alerts: "QuerySet[Alert]", by: User, now: datetime) -> None:
    """Show these alerts to everyone again. Raise Forbidden without the right to do so."""
    _set_muted(alerts, None, by, now)


def _set_muted(alerts: "QuerySet[Alert]", until: datetime | None, by: User, now: datetime) -> None:
    access.require(by, Permission.NODES)
    with transaction.atomic():
        keys = dict(alerts.select_for_update(of=("self",)).order_by("pk").values_list("pk", "key"))
        Alert.objects.filter(pk__in=keys).update(muted_until=until)
        if until is not None:
            Message.objects.filter(alert__in=keys, is_over=False, sent_at=None, failed_at=None).delete()
        details = {"until": until.isoformat()} if until else {}
        action = "alert.mute" if until else "alert.unmute"
        audit.record_each(action=action, by=by, now=now, targets=dict.fromkeys(keys.values(), details))


MARKS: Mapping[str, Callable[..., None]] = {"read": mark_read, "mute": mute, "unmute": unmute}
