"""Translate texts into the language of the person who reads the page or email.

`gettext` and `ngettext` immediately translate into the current reader's language. `gettext_lazy` translates each time
that its text is shown. It is for texts made when a module is imported, such as form labels. `format_lazy` inserts
values into such a text. All of them return a `Text`, which can be stored and shown to each reader in their language
(`replication.message_texts`, `text_fields`). Outside of pages, the language is English: in the APIs, the command line,
logs, the audit log and tasks of workers.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import cast

from django.apps import apps
from django.utils import functional, text, translation

from replication import message_texts
from replication.message_texts import Text as Text
from replication.message_texts import gettext as gettext
from replication.message_texts import gettext_noop as gettext_noop
from replication.message_texts import in_english as in_english
from replication.message_texts import joined as joined
from replication.message_texts import ngettext as ngettext
from replication.message_texts import one_language as one_language
from replication.message_texts import shortened as shortened
from replication.message_texts import spoken as spoken
from replication.message_texts import with_value as with_value

# Lazy texts behave like strings wherever texts are shown. Elsewhere, `str(text)` converts them.
gettext_lazy = cast(Callable[[str], str], functional.lazy(gettext, str))
format_lazy = cast(Callable[..., str], text.format_lazy)


def join_list(parts: Sequence[object]) -> str:
    """Join items as a list in a sentence: `a, b and c`."""
    if len(parts) == 1:
        return joined("", parts)
    return gettext("{first} and {last}").format(first=joined(", ", parts[:-1]), last=parts[-1])


@contextmanager
def speaking(language: str) -> Iterator[None]:
    """Set the language of texts within the block, by its code."""
    with translation.override(language):
        yield


def _of_this_moment() -> message_texts.Translate:
    # Texts are in English until the apps are ready. English has no catalog to search.
    return message_texts.english_form if not apps.ready or translation.get_language() == "en" else _from_catalogs


def _from_catalogs(english: str, plural: str, number: int) -> str:
    # `gettext` of Python 3.11 doesn't find a message that has a plural elsewhere. `ngettext` does.
    if plural or (found := translation.gettext(english)) == english:
        found = translation.ngettext(english, plural or english, number if plural else 1)
    return found


message_texts.translate_by(_of_this_moment)


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
