"""Template tags and filters: icons, ages, counts, and readable names."""

import re
from datetime import datetime
from urllib.parse import urlencode

from django import template
from django.templatetags.static import static
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

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
# A line break with the blanks around it; what follows, if no blank is needed in front of it.
_LINE_BREAKS = re.compile(r"(?<!\s)\s*\n\s*(>|</?(?:t[dhr]|tbody|ul|li)\b)?")
_MESSAGE_ICONS = {"warning": "alert", "warn": "alert", "error": "error", "bad": "error"}


class FoldedNode(template.Node):
    """What `folded` draws."""

    def __init__(self, nodelist: template.NodeList) -> None:
        self.nodelist = nodelist  # by this name Django finds the blocks that a page fills

    def render(self, context: template.Context) -> SafeString:
        return mark_safe(_LINE_BREAKS.sub(lambda found: found[1] or " ", self.nodelist.render(context)))


@register.tag
def folded(parser: template.base.Parser, token: template.base.Token) -> FoldedNode:
    """Draw what is between `folded` and `endfolded` with each line break, and the blanks around it, as one blank.

    A browser shows the same, but in `pre` and `textarea`. A hundred rows of a table weigh a quarter less.
    """
    nodes = parser.parse(("endfolded",))
    parser.delete_first_token()
    return FoldedNode(nodes)


@register.simple_tag
def icon(name: str, css: str = "") -> SafeString:
    """Return an icon of the sprite. Screen readers skip it, so a word must stand beside it."""
    return format_html(
        '<svg class="icon {}" aria-hidden="true"><use href="{}#{}"></use></svg>', css, static("img/icons.svg"), name
    )


@register.filter
def message_icon(level: str) -> str:
    """Return the icon name of a message's level."""
    return _MESSAGE_ICONS.get(level, "check")


@register.simple_tag
def querystring_of(**parameters: object) -> str:
    """Return the query string `q=shop&after=…` of the parameters that are not empty."""
    return urlencode({name: str(value) for name, value in parameters.items() if value})


@register.filter
def search_for(value: str, key: str) -> str:
    """Return the query string of a search for this key, such as `q=team%3Aweb`; a value with spaces is quoted."""
    return urlencode({"q": f'{key}:"{value}"' if " " in value else f"{key}:{value}"})


@register.filter
def rrtype(number: int) -> str:
    """Return the mnemonic of an RRset's type."""
    return rdata.type_to_text(number)


@register.filter
def count(number: int) -> str:
    """Return the number with thousands separated: 12345 → 12,345."""
    return f"{number:,}"


@register.filter
def sentence(text: str) -> str:
    """Return the text with a full stop, which a name at its end may have already."""
    return text if text.endswith((".", "!", "?")) else f"{text}."


@register.filter
def idn(name: str) -> str:
    """Return the Unicode form of a name, or an empty string if it is the same."""
    display = names.display(name)
    return "" if display == name else display


@register.filter
def ago(at: datetime | None) -> SafeString | str:
    """Return how long ago this was, in words, with the exact time on hover; None gives "never"."""
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
    """Return a duration in the largest unit that fits: 40 s, 3 min, 2 h, 5 days."""
    for limit, size, one, many in _UNITS:
        if seconds < limit:
            number = int(seconds // size)
            return f"{number} {one if number == 1 else many}"
    years = int(seconds // (365 * 86_400))
    return f"{years} year{'' if years == 1 else 's'}"


def spoken_age(seconds: float) -> str:
    """Return an age in words: `3 min ago`."""
    return "just now" if seconds < 5 else f"{duration(seconds)} ago"
