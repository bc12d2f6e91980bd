"""Format durations as text. Pure."""

from datetime import timedelta

from dnspanel.texts import gettext


def duration_text(duration: timedelta) -> str:
    """Format a duration for messages: 40 s, 3 min, 2 h, 5 days."""
    seconds = int(duration.total_seconds())
    if seconds < 120:
        return gettext("{count} s").format(count=seconds)
    if seconds < 7200:
        return gettext("{count} min").format(count=seconds // 60)
    if seconds < 172_800:
        return gettext("{count} h").format(count=seconds // 3600)
    return gettext("{count} days").format(count=seconds // 86_400)
