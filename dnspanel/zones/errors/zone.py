"""The base class of all zone errors, and errors about zones, their settings, views, runs and templates."""

from collections.abc import Mapping
from datetime import UTC, datetime

from dnspanel.accounts.errors import NotFound
from dnspanel.field_faults import FieldsRefused
from dnspanel.texts import gettext, gettext_noop, joined


class ZoneError(Exception):
    """The base class of errors about zones. The messages are written for the people who caused the errors."""


class Unknown(ZoneError, NotFound):
    """There is no such zone, or this person is not allowed to see it."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(gettext("Zone not found: {name}").format(name=name))


class InTrash(Unknown):
    """A zone with this name was deleted. It can be restored until `gone_at`."""

    def __init__(self, name: str, *, zone_id: int, deleted_at: datetime, gone_at: datetime) -> None:
        super().__init__(name)
        self.zone_id, self.deleted_at, self.gone_at = zone_id, deleted_at, gone_at
        since, until = (f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC" for at in (deleted_at, gone_at))
        message = gettext("The zone {name} was moved to the trash on {since} and can be restored until {until}.")
        self.args = (message.format(name=name, since=since, until=until),)


class RevisionMoved(ZoneError):
    """The zone is not at the revision that the writer expects."""

    def __init__(self, zone_name: str, *, expected: int, found: int) -> None:
        self.zone_name, self.expected, self.found = zone_name, expected, found
        super().__init__(
            gettext("{zone_name} is already at revision {found}, not {expected}.").format(
                zone_name=zone_name, found=found, expected=expected
            )
        )


class SettingsRefused(ZoneError):
    """The zone cannot have this tag, team or serial setting. `field` is the name of the invalid field."""

    def __init__(self, field: str, reason: str) -> None:
        self.field = field
        super().__init__(reason)


class DefaultsFixed(ZoneError):
    """The environment sets this value, so a page cannot change it."""

    def __init__(self, variable: str) -> None:
        super().__init__(
            gettext("{variable} is set in the panel’s environment and cannot be changed here.").format(
                variable=variable
            )
        )


class DefaultsMoved(ZoneError):
    """Another person changed the same settings after they were displayed."""

    def __init__(self, username: str) -> None:
        super().__init__(
            gettext("{value} changed these settings in the meantime. Check them, then make your change again.").format(
                value=username or gettext("Someone")
            )
        )


class NotInTrash(ZoneError):
    """The zone is not in the trash."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(gettext("{name} is not in the trash.").format(name=name))


class StillOnItsWay(ZoneError):
    """A zone cannot be deleted permanently before the nodes' log and the audit log's chain have its deletion."""

    def __init__(self, name: str) -> None:
        super().__init__(
            gettext("The deletion of {name} is still being processed. Try again in a few seconds.").format(name=name)
        )


class ViewUnknown(ZoneError, NotFound):
    """There is no such saved view, or this person is not allowed to see it."""

    text = gettext_noop("View not found.")


class ViewRefused(ZoneError):
    """A view is empty or has an invalid name or team, or the person has too many views. Nothing was changed."""


class ChangeRunUnknown(ZoneError, NotFound):
    """There is no such run over many zones, or this person is not allowed to see it."""

    text = gettext_noop("Run not found.")


class RunUnknown(ZoneError, NotFound):
    """There is no such DNSSEC policy run, or this person is not allowed to see it."""

    text = gettext_noop("Policy run not found.")


class RunRefused(ZoneError):
    """A DNSSEC policy run cannot begin, or cannot be canceled."""


class BadFields(ZoneError):
    """Some fields of a value are invalid. `faults` has a message by field ("": the whole value)."""

    def __init__(self, faults: Mapping[str, str]) -> None:
        self.faults = dict(faults)
        super().__init__(joined(" ", self.faults.values()))


class TemplateUnknown(ZoneError, NotFound):
    """There is no such template, or this person is not allowed to see it."""

    text = gettext_noop("Template not found.")


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

    text = gettext_noop("Template run not found.")
