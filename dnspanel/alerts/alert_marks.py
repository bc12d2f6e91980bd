"""Mark open alerts as read by one user, or mute them for all users. Verbs.

An alert that becomes critical loses its marks (`watch.keep`).
"""

from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F, Func, QuerySet

from dnspanel.accounts.actors.actors import Permission
from dnspanel.accounts.audit import audit
from dnspanel.accounts.models import User
from dnspanel.alerts.models import Alert, Message
from dnspanel.zones.rights import access

MUTED_FOR = timedelta(days=1)


def mark_read(*, alerts: "QuerySet[Alert]", by: User) -> None:
    """Mark these alerts as read by the user. Raise Forbidden if the user isn't allowed to see alerts."""
    access.require(by, Permission.FLEET)
    unread = alerts.exclude(read_by__contains=[by.pk])
    unread.update(read_by=Func(F("read_by"), by.pk, function="array_append"))


def mute(*, alerts: "QuerySet[Alert]", by: User, now: datetime, until: datetime | None = None) -> None:
    """Mute these alerts until the given time (default: for a day), and delete their waiting messages.

    A time that isn't later than `now` unmutes the alerts. Raise Forbidden if the user isn't allowed to mute alerts.
    """
    access.require(by, Permission.NODES)
    until = until or now + MUTED_FOR
    with transaction.atomic():
        keys = dict(alerts.select_for_update(of=("self",)).order_by("pk").values_list("pk", "key"))
        Alert.objects.filter(pk__in=keys).update(muted_until=until)
        if until > now:
            Message.objects.filter(alert__in=keys, is_over=False, sent_at=None, failed_at=None).delete()
        targets = dict.fromkeys(keys.values(), {"until": until.isoformat()} if until > now else {})
        audit.record_each(action="alert.mute" if until > now else "alert.unmute", by=by, now=now, targets=targets)
