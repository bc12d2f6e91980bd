"""Outcomes of actions on pages: messages, and blocks that a refusal ends, after which the view continues."""

from collections.abc import Callable
from types import TracebackType

from django.contrib import messages
from django.http import HttpRequest

from dnspanel.texts import gettext_lazy

NOTHING_CHANGED = gettext_lazy("{exc} Nothing was changed.")


class RefusalBlock:
    """A block that passes an exception of these kinds to a function, instead of raising it."""

    def __init__(self, report: Callable[[Exception], object], kinds: tuple[type[Exception], ...]) -> None:
        self._report, self._kinds = report, kinds

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if not isinstance(exc, self._kinds):
            return False
        self._report(exc)
        return True


def reporting(
    request: HttpRequest, *kinds: type[Exception], text: str = "{exc}", level: int = messages.ERROR
) -> RefusalBlock:
    """Return a block that shows a refusal of these kinds as a message, with the refusal in place of `{exc}`."""
    return RefusalBlock(lambda exc: messages.add_message(request, level, text.format(exc=exc)), kinds)


def say_done(request: HttpRequest, text: str, **values: object) -> None:
    """Show a message that an action succeeded. `values` replace the placeholders in `text`."""
    messages.success(request, text.format(**values) if values else text)
