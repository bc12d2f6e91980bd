"""Template filters that render docstrings as HTML and mark the place of the reader's token in API examples."""

import re

from django import template
from django.utils.html import conditional_escape, format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from dnspanel.web.api_document import TOKEN

register = template.Library()

_CODE = re.compile(r"`([^`]+)`")


@register.filter
def inline_code(text: str) -> SafeString:
    """Convert text to HTML. Text between backticks becomes a `code` element."""
    parts = _CODE.split(text)  # text, code, text, code, …, text
    marked = [conditional_escape(part) for part in parts]
    marked[1::2] = [format_html("<code>{}</code>", part) for part in parts[1::2]]
    return mark_safe("".join(marked))


@register.filter
def paragraphs(text: str) -> SafeString:
    """Convert text to HTML paragraphs. A block becomes a list if each of its lines starts with a dash."""
    blocks = []
    for block in re.split(r"\n\s*\n", text.strip()):
        lines = [line.strip() for line in block.splitlines() if line.strip()]
        if lines and all(line.startswith("- ") for line in lines):
            items = format_html_join("", "<li>{}</li>", ((inline_code(line[2:]),) for line in lines))
            blocks.append(format_html("<ul>{}</ul>", items))
        elif lines:
            blocks.append(format_html("<p>{}</p>", inline_code(" ".join(lines))))
    return mark_safe("".join(blocks))


@register.filter
def with_token(text: str) -> SafeString:
    """Return an API example as HTML, with an element for the token. `docs.js` inserts the token in the browser."""
    place = format_html("<span data-secret>{}</span>", TOKEN)
    return mark_safe(place.join(conditional_escape(part) for part in text.split(TOKEN)))
