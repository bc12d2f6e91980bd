"""Texts that people read, in the language of the person whom a request, or a mail, is for.

`gettext` and `ngettext` answer at once: for what is made while somebody waits for it. `gettext_lazy` answers each time
that its text is shown: for what is made when a module is read, such as labels of forms; `format_lazy` puts values into
one of these.
Outside of a page the language is English: APIs, the command line, logs, the audit log and tasks of workers.
"""

from collections.abc import Callable
from typing import cast

from django.utils import text, translation

gettext = translation.gettext
ngettext = translation.ngettext
gettext_noop = translation.gettext_noop  # English as it is, found by those who collect texts
# They behave as strings wherever texts are shown; `str(text)` makes one for what insists on it, such as `str.join`.
gettext_lazy = cast(Callable[[str], str], translation.gettext_lazy)
format_lazy = cast(Callable[..., str], text.format_lazy)
