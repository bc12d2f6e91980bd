"""Compute when to send an event: to programs immediately, to people after a gathering time and outside quiet hours."""

from datetime import UTC, datetime, timedelta, tzinfo

from dnspanel.accounts.people.own_time_zone import time_zone_of
from dnspanel.quiet_hours import quiet_until
from dnspanel.texts import gettext_lazy
from dnspanel.webhooks.models import READ_BY_PEOPLE, Webhook

# Long enough to turn ten publications in a row by one person into one message.
LEAST_GATHERED = timedelta(seconds=10)
# How many minutes of events become one message, with labels. The periods start at the owner's midnight.
GATHERED = {
    0: gettext_lazy("Immediately"),
    15: gettext_lazy("At most every 15 minutes"),
    60: gettext_lazy("At most every hour"),
    1440: gettext_lazy("Once a day"),
}


def due_at(webhook: Webhook, now: datetime) -> datetime:
    """Return the time (UTC) at which an event that is collected now is sent to this webhook."""
    if webhook.format not in READ_BY_PEOPLE:
        return now
    clock = time_zone_of(webhook.owner)
    due = _end_of_span(webhook.gather_minutes, now, clock)
    return quiet_until(webhook.quiet_from, webhook.quiet_until, str(clock), due) or due


def _end_of_span(minutes: int, now: datetime, clock: tzinfo) -> datetime:
    """Return the end of the gathering period that contains `now`. Without `minutes`, the period is LEAST_GATHERED."""
    if not minutes:
        return now + LEAST_GATHERED
    midnight = now.astimezone(clock).replace(hour=0, minute=0, second=0, microsecond=0).astimezone(UTC)
    span = timedelta(minutes=minutes)
    return midnight + span * ((now - midnight) // span + 1)
