"""What templates may say in one word: icons, ages, counts, names in their readable form."""

from datetime import datetime
from urllib.parse import urlencode

from django import template
from django.templatetags.static import static
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from replication.dns import names, rdata

register = template.Library()

# Up to so many seconds, an age is counted in this unit.
_UNITS = (
    (60, 1, "s", "s"),
    (3600, 60, "min", "min"),
    (86_400, 3600, "h", "h"),
    (60 * 86_400, 86_400, "day", "days"),
    (730 * 86_400, 30 * 86_400, "month", "months"),
)
_MESSAGE_ICONS = {"warning": "alert", "warn": "alert", "error": "error", "bad": "error"}


@register.simple_tag
def icon(name: str, css: str = "") -> SafeString:
    """An icon of the sprite; it says nothing to a screen reader, so a word stands beside it."""
    return format_html(
        '<svg class="icon {}" aria-hidden="true"><use href="{}#{}"></use></svg>', css, static("img/icons.svg"), name
    )


@register.filter
def message_icon(level: str) -> str:
    """The icon of a message's level."""
    return _MESSAGE_ICONS.get(level, "check")


@register.simple_tag
def querystring_of(**parameters: object) -> str:
    """`q=shop&after=…` of the parameters that are not empty."""
    return urlencode({name: str(value) for name, value in parameters.items() if value})


@register.filter
def search_for(value: str, key: str) -> str:
    """`q=team%3Aweb`: the query that finds by this key; quotes hold words together."""
    return urlencode({"q": f'{key}:"{value}"' if " " in value else f"{key}:{value}"})


@register.filter
def rrtype(number: int) -> str:
    """The mnemonic of an RRset's type."""
    return rdata.type_to_text(number)


@register.filter
def count(number: int) -> str:
    """12345 → 12,345."""
    return f"{number:,}"


@register.filter
def idn(name: str) -> str:
    """The Unicode form of a name, or nothing when that is the same."""
    display = names.display(name)
    return "" if display == name else display


@register.filter
def ago(at: datetime | None) -> SafeString | str:
    """How long ago, in words, with the moment itself on hover."""
    if at is None:
        return "never"
    moment = at.astimezone(timezone.get_current_timezone())
    return format_html(
        '<time datetime="{}" title="{} UTC">{}</time>',
        at.isoformat(timespec="seconds"),
        f"{moment:%Y-%m-%d %H:%M:%S}",
        spoken_age((timezone.now() - at).total_seconds()),
    )


@register.filter
def duration(seconds: float) -> str:
    """40 s, 3 min, 2 h, 5 days: the largest unit that fits."""
    for limit, size, one, many in _UNITS:
        if seconds < limit:
            number = int(seconds // size)
            return f"{number} {one if number == 1 else many}"
    years = int(seconds // (365 * 86_400))
    return f"{years} year{'' if years == 1 else 's'}"


def spoken_age(seconds: float) -> str:
    """An age as people say it."""
    return "just now" if seconds < 5 else f"{duration(seconds)} ago"
