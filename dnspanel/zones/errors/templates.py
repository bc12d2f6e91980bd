"""Errors about templates and their runs."""

from collections.abc import Mapping, Sequence

from dnspanel.texts import gettext, joined
from dnspanel.zones.errors.zone import ZoneError


class TemplateUnknown(ZoneError):
    """No such template, as far as this person may know."""

    def __init__(self) -> None:
        super().__init__(gettext("There is no such template."))


class TemplateRefused(ZoneError):
    """A template, or its result, that is not acceptable. `fields` has messages by field.

    A message about the text begins with the line and column.
    """

    def __init__(self, fields: Mapping[str, Sequence[str]]) -> None:
        self.fields = {name: list(messages) for name, messages in fields.items()}
        super().__init__(joined(" ", (message for messages in self.fields.values() for message in messages)))


class TemplateMoved(ZoneError):
    """Another version of the template was published since it was shown."""

    def __init__(self, *, found: int) -> None:
        self.found = found
        super().__init__(
            gettext("The template is at version {found} by now. Compare with that, then publish yours.").format(
                found=found
            )
        )


class TemplateRunUnknown(ZoneError):
    """No such run of templates, as far as this person may know."""

    def __init__(self) -> None:
        super().__init__(gettext("There is no such run of templates."))
