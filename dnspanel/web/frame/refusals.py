"""Blocks that a refusal ends: it becomes an error of a form or a message, and the view continues after the block."""

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
    """Return a block that shows a refusal of these kinds as a message. `{exc}` in `text` stands for the refusal."""
    return RefusalBlock(lambda exc: messages.add_message(request, level, text.format(exc=exc)), kinds)
