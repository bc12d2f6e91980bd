"""Template tags and filters: icons, dates, ages, counts, readable names, query strings, matches, compact tables."""

import base64
import re
from collections.abc import Callable, Collection
from datetime import datetime
from functools import lru_cache
from math import inf
from typing import Any, NamedTuple
from urllib.parse import urlencode

from allauth.mfa.adapter import get_adapter
from django import template
from django.templatetags.static import static
from django.utils import timezone
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe

from dnspanel.texts import gettext, ngettext
from dnspanel.web.row_patterns import RowPatterns
from dnspanel.zones.governance.publish_guards import approvers_text
from dnspanel.zones.log.panel_reasons import told_reason
from dnspanel.zones.values.readable_texts import readable_text
from replication.dns import names, rdata

register = template.Library()


class _Unit(NamedTuple):
    """A unit of time: the age in seconds below which it is used, its length in seconds, and its texts.

    `span` formats a duration in this unit, and `ago` formats an age.
    """

    limit: float
    size: int
    span: Callable[[int], str]
    ago: Callable[[int], str]


# In some languages, the unit has another form in "… ago". Therefore each has its own text.
_UNITS = (
    _Unit(60, 1, lambda n: gettext("{number} s"), lambda n: gettext("{number} s ago")),
    _Unit(3600, 60, lambda n: gettext("{number} min"), lambda n: gettext("{number} min ago")),
    _Unit(86_400, 3600, lambda n: gettext("{number} h"), lambda n: gettext("{number} h ago")),
    _Unit(
        60 * 86_400,
        86_400,
        lambda n: ngettext("{number} day", "{number} days", n),
        lambda n: ngettext("{number} day ago", "{number} days ago", n),
    ),
    _Unit(
        730 * 86_400,
        30 * 86_400,
        lambda n: ngettext("{number} month", "{number} months", n),
        lambda n: ngettext("{number} month ago", "{number} months ago", n),
    ),
    _Unit(
        inf,
        365 * 86_400,
        lambda n: ngettext("{number} year", "{number} years", n),
        lambda n: ngettext("{number} year ago", "{number} years ago", n),
    ),
)
# Starts of lines that need no space before them.
_NEEDS_NO_BLANK = (">", *(f"<{end}{tag}" for tag in ("td", "th", "tr", "tbody", "ul", "li") for end in ("", "/")))
_HYPHENATED = re.compile(r"""(?<![^\s&;"'()<>,=-])[^\s&;"'()<>,=-]+(?:-[^\s&;"'()<>,=-]*)+""")
_MESSAGE_ICONS = {"warning": "alert", "warn": "alert", "error": "error", "bad": "error", "quiet": "minus"}


class FoldedNode(template.Node):
    """The template node of the tag `folded`."""

    def __init__(self, nodelist: template.NodeList) -> None:
        self.nodelist = nodelist  # Django looks for this attribute to find a page's blocks

    def render(self, context: template.Context) -> SafeString:
        first, *others = self.nodelist.render(context).split("\n")
        if not others:
            return mark_safe(first)
        lines = [first.rstrip(), *map(str.strip, others[:-1]), others[-1].lstrip()]
        folded = [line if line.startswith(_NEEDS_NO_BLANK) else f" {line}" for line in lines[1:] if line]
        return mark_safe("".join((lines[0], *folded)))


@register.tag
def folded(parser: template.base.Parser, token: template.base.Token) -> FoldedNode:
    """Replace line breaks and indentation between `folded` and `endfolded` with one space, or none before some tags.

    Browsers display the same page, except for `pre` and `textarea`. A table of a hundred rows shrinks by a quarter.
    """
    nodes = parser.parse(("endfolded",))
    parser.delete_first_token()
    return FoldedNode(nodes)


class PatternedNode(template.Node):
    """The template node of the tag `patterned`."""

    def __init__(self, name: str, nodelist: template.NodeList) -> None:
        self._name = name
        self.nodelist = nodelist

    def render(self, context: template.Context) -> SafeString:
        known: Any = context.render_context  # shared only within this page
        if self not in known:
            known[self] = RowPatterns()
        patterns: RowPatterns = known[self]

        def draw(row: object) -> SafeString:
            with context.push(**{self._name: row}):
                return self.nodelist.render(context)

        return patterns.draw_row(context[self._name], draw)


@register.tag
def patterned(parser: template.base.Parser, token: template.base.Token) -> PatternedNode:
    """Render the block between `patterned ROW` and `endpatterned` only once for all rows of the same shape.

    ROW is a variable with a `PatternRow`. Everything else in the block must be the same for all rows.
    """
    _, name = token.split_contents()
    nodes = parser.parse(("endpatterned",))
    parser.delete_first_token()
    return PatternedNode(name, nodes)


@register.simple_tag
@lru_cache(maxsize=1024)
def icon(name: str, css: str = "") -> SafeString:
    """Return an icon from the sprite. Screen readers skip it, so text must be next to it."""
    classes = f"icon {css}".rstrip()
    return format_html(
        '<svg class="{}" aria-hidden="true"><use href="{}#{}"/></svg>', classes, static("img/icons.svg"), name
    )


@register.filter
def message_icon(level: str) -> str:
    """Return the icon name for a message level or a tone."""
    return _MESSAGE_ICONS.get(level, "check")


@register.simple_tag
def querystring_of(**parameters: object) -> str:
    """Return a query string such as `q=shop&after=…` from the non-empty parameters."""
    return urlencode({name: str(value) for name, value in parameters.items() if value})


@register.filter
def search_for(value: str, key: str) -> str:
    """Return the query string that searches for this key and (quoted) value, such as `q=team%3Aweb`."""
    return urlencode({"q": f'{key}:"{value}"' if " " in value else f"{key}:{value}"})


register.filter(told_reason)
register.filter(readable_text)
register.filter(approvers_text)


@register.filter
def rrtype(number: int) -> str:
    """Return the mnemonic for a record type number."""
    return rdata.type_to_text(number)


@register.filter
def rrtypes(numbers: Collection[int]) -> str:
    """Return the mnemonics for record type numbers, as a list."""
    return ", ".join(map(rdata.type_to_text, numbers))


@register.filter
def count(number: int) -> str:
    """Return the number with thousands separators: 12345 → 12,345."""
    return f"{number:,}"


@register.filter
def sentence(text: str) -> str:
    """Add a full stop, unless the text already ends with a punctuation mark."""
    return text if text.endswith((".", "!", "?")) else f"{text}."


@register.filter
def to_select(name: str) -> str:
    """Return the screen reader label of the checkbox that selects this name."""
    return gettext("Select %(name)s") % {"name": name}


@register.filter
def idn(name: str) -> str:
    """Return the name in Unicode, or "" if the Unicode name is the same."""
    display = names.display(name)
    return "" if display == name else display


@register.filter
def ago(at: datetime | None) -> SafeString | str:
    """Return the age of a time as HTML, with the exact time on hover. Return "never" for None."""
    if at is None:
        return gettext("never")
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        at.isoformat(timespec="seconds"),
        f"{timezone.localtime(at):%Y-%m-%d %H:%M:%S %Z}",
        spoken_age((timezone.now() - at).total_seconds()),
    )


@register.filter
def day(at: datetime) -> SafeString:
    """Return the date as HTML that doesn't break at its hyphens."""
    return format_html('<time datetime="{0}">{0}</time>', f"{timezone.localtime(at):%Y-%m-%d}")


@register.filter
def unbroken(text: str) -> SafeString:
    """Return the text as HTML in which names and dates don't break at their hyphens."""
    return mark_safe(_HYPHENATED.sub(r'<span class="long">\g<0></span>', escape(str(text))))


@register.filter
def duration(seconds: float) -> str:
    """Format a duration in the largest unit that fits: 40 s, 3 min, 2 h, 5 days."""
    unit, number = _largest_unit(seconds)
    return unit.span(number).format(number=number)


def _largest_unit(seconds: float) -> tuple[_Unit, int]:
    unit = next(unit for unit in _UNITS if seconds < unit.limit)
    return unit, int(seconds // unit.size)


def moment(at: datetime) -> str:
    """Format a time to the minute in the user's time zone, followed by the zone's name."""
    return f"{timezone.localtime(at):%Y-%m-%d %H:%M %Z}"


def spoken_age(seconds: float) -> str:
    """Format an age as text, such as `3 min ago`, or `just now` below 5 seconds."""
    if seconds < 5:
        return gettext("just now")
    unit, number = _largest_unit(seconds)
    return unit.ago(number).format(number=number)


@register.filter
def qr_code(text: str) -> str:
    """Return the text as the URL of a QR code, for the attribute `src` of a picture. It takes some 40 ms."""
    picture = get_adapter().build_totp_svg(text)
    return f"data:image/svg+xml;base64,{base64.b64encode(picture.encode()).decode()}"


@register.filter
def mark_matches(text: str, needles: Collection[str]) -> SafeString:
    """Return the text as HTML. Mark each occurrence of a lowercase needle, unless lower case changes the length."""
    lowered, parts, at = text.lower(), [], 0
    while len(lowered) == len(text):  # otherwise positions differ
        places = [(lowered.find(needle, at), -len(needle)) for needle in needles if needle]
        start, length = min((place for place in places if place[0] >= 0), default=(-1, 0))
        if start < 0:
            break
        parts += [escape(text[at:start]), format_html("<mark>{}</mark>", text[start : start - length])]
        at = start - length
    return mark_safe("".join((*parts, escape(text[at:]))))
