"""Errors about templates and their runs."""

from dnspanel.accounts.errors import NotFound
from dnspanel.field_faults import FieldsRefused
from dnspanel.texts import gettext
from dnspanel.zones.errors.zone import ZoneError


class TemplateUnknown(ZoneError, NotFound):
    """There is no such template, or this person is not allowed to see it."""

    def __init__(self) -> None:
        super().__init__(gettext("Template not found."))


class TemplateRefused(ZoneError, FieldsRefused):
    """A template, or its result, is invalid. `fields` has messages by field name.

    A message about the text begins with the line and column.
    """


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
