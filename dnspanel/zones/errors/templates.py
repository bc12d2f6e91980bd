"""Errors about templates and their runs."""

from collections.abc import Mapping, Sequence

from dnspanel.accounts.errors import NotFound
from dnspanel.texts import gettext, joined
from dnspanel.zones.errors.zone import ZoneError


class TemplateUnknown(ZoneError, NotFound):
    """There is no such template, or this person is not allowed to see it."""

    def __init__(self) -> None:
        super().__init__(gettext("Template not found."))


class TemplateRefused(ZoneError):
    """A template, or its result, is invalid. `fields` has messages by field name.

    A message about the text begins with the line and column.
    """

    def __init__(self, fields: Mapping[str, Sequence[str]]) -> None:
        self.fields = {name: list(messages) for name, messages in fields.items()}
        super().__init__(joined(" ", (message for messages in self.fields.values() for message in messages)))


class TemplateMoved(ZoneError):
    """Another version of the template was published after this one was displayed."""

    def __init__(self, *, found: int) -> None:
        self.found = found
        super().__init__(
            gettext(
                "The template is already at version {found}. Compare that version with yours before you publish."
            ).format(found=found)
        )


class TemplateRunUnknown(ZoneError, NotFound):
    """There is no such template run, or this person is not allowed to see it."""

    def __init__(self) -> None:
        super().__init__(gettext("Template run not found."))
