"""The base class of all zone errors, and errors about zones and their settings, views, runs and templates."""

from collections.abc import Mapping
from datetime import UTC, datetime

from dnspanel.accounts.errors import NotFound
from dnspanel.field_faults import FieldsRefused
from dnspanel.texts import gettext, gettext_noop, joined


class ZoneError(Exception):
    """The base class of errors about zones. Messages can be shown to the people who caused the errors."""


class Unknown(ZoneError, NotFound):
    """The zone doesn't exist, or this person isn't allowed to see it."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(gettext("Zone not found: {name}").format(name=name))


class RevisionUnknown(ZoneError, NotFound):
    """The zone has no such revision, or the revision was removed because of its age."""

    def __init__(self, name: str, number: int, *, newest: int) -> None:
        if 0 < number <= newest:
            message = gettext("Revision {number} of {name} was removed, because it was too old to be kept.")
        else:
            message = gettext("{name} doesn’t have a revision {number}.")
        super().__init__(message.format(name=name, number=number))


class InTrash(Unknown):
    """A zone with this name was deleted. It can be restored until `gone_at`."""

    def __init__(self, name: str, *, zone_id: int, deleted_at: datetime, gone_at: datetime) -> None:
        super().__init__(name)
        self.zone_id, self.deleted_at, self.gone_at = zone_id, deleted_at, gone_at
        since, until = (f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC" for at in (deleted_at, gone_at))
        message = gettext("The zone {name} was moved to the trash on {since} and can be restored until {until}.")
        self.args = (message.format(name=name, since=since, until=until),)


class RevisionMoved(ZoneError):
    """The zone isn't at the revision that the caller expects."""

    def __init__(self, zone_name: str, *, expected: int, found: int) -> None:
        self.zone_name, self.expected, self.found = zone_name, expected, found
        super().__init__(
            gettext("{zone_name} is already at revision {found}, not {expected}.").format(
                zone_name=zone_name, found=found, expected=expected
            )
        )


class SettingsRefused(ZoneError):
    """The zone can't have this tag, team or serial setting. `field` is the invalid field's name."""

    def __init__(self, field: str, reason: str) -> None:
        self.field = field
        super().__init__(reason)


class DefaultsFixed(ZoneError):
    """An environment variable sets this value, so a page can't change it."""

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
    """The zone isn't in the trash."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(gettext("{name} is not in the trash.").format(name=name))


class StillOnItsWay(ZoneError):
    """A zone can't be permanently deleted before its deletion is in the nodes' log and the audit log's chain."""

    def __init__(self, name: str) -> None:
        super().__init__(
            gettext("The deletion of {name} is still being processed. Try again in a few seconds.").format(name=name)
        )


class ViewUnknown(ZoneError, NotFound):
    """The saved view doesn't exist, or this person isn't allowed to see it."""

    text = gettext_noop("View not found.")


class ViewRefused(ZoneError):
    """A view is empty or has an invalid name or team, or the person has too many views. Nothing was changed."""


class ChangeRunUnknown(ZoneError, NotFound):
    """The run over many zones doesn't exist, or this person isn't allowed to see it."""

    text = gettext_noop("Run not found.")


class RunUnknown(ZoneError, NotFound):
    """The DNSSEC policy run doesn't exist, or this person isn't allowed to see it."""

    text = gettext_noop("Policy run not found.")


class RunRefused(ZoneError):
    """A run over many zones can't be started, applied, undone or canceled now."""


class BadFields(ZoneError):
    """Some fields of a value are invalid. `faults` maps fields to messages ("": the whole value)."""

    def __init__(self, faults: Mapping[str, str]) -> None:
        self.faults = dict(faults)
        super().__init__(joined(" ", self.faults.values()))


class TemplateUnknown(ZoneError, NotFound):
    """The template doesn't exist, or this person isn't allowed to see it."""

    text = gettext_noop("Template not found.")


class TemplateRefused(ZoneError, FieldsRefused):
    """A template, or its result, is invalid. `fields` maps field names to messages.

    A message about the text begins with the line and column.
    """


class TemplateMoved(ZoneError):
    """A newer version of the template was published after this one was displayed."""

    def __init__(self, *, found: int) -> None:
        self.found = found
        super().__init__(
            gettext(
                "The template is already at version {found}. Compare that version with yours before you publish."
            ).format(found=found)
        )


class TemplateRunUnknown(ZoneError, NotFound):
    """The template run doesn't exist, or this person isn't allowed to see it."""

    text = gettext_noop("Template run not found.")
