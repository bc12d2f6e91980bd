"""Report the outcome of actions on pages: success messages, and blocks that catch refusals."""

from collections.abc import Callable
from types import TracebackType

from django.contrib import messages
from django.http import HttpRequest

from dnspanel.texts import gettext_lazy

NOTHING_CHANGED = gettext_lazy("{exc} Nothing was changed.")


class RefusalBlock:
    """A context manager that passes exceptions of these kinds to a function instead of raising them."""

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
    """Return a context manager that shows exceptions of these kinds as messages. `{exc}` in `text` is the exception."""
    return RefusalBlock(lambda exc: messages.add_message(request, level, text.format(exc=exc)), kinds)


def say_done(request: HttpRequest, text: str, **values: object) -> None:
    """Show a message that an action succeeded. `values` replace the placeholders in `text`."""
    messages.success(request, text.format(**values) if values else text)
