"""What may go wrong with webhooks, as one tree. Every message can be shown to the person who caused it.

WebhookError
├── WebhookUnknown        no such webhook or delivery, as far as this person may know
├── WebhookRefused        a field of the webhook is not acceptable
├── AddressRefused        the panel does not send to where this URL leads
├── NoAnswer              the receiver did not answer, or not as HTTP asks
└── NotTold               the mail server did not take the mail

TooNarrow is a zones.errors.Forbidden: a token of some names or types makes no webhook.
"""

from dnspanel.accounts.actors.roles import Permission
from dnspanel.field_faults import FieldsRefused
from dnspanel.texts import gettext
from dnspanel.zones.errors import Forbidden, ZoneError


class WebhookError(Exception):
    """A problem with a webhook that a person can read and fix."""


class WebhookUnknown(WebhookError):
    """No such webhook or delivery, as far as this person may know."""

    def __init__(self, what: str = "webhook") -> None:
        super().__init__(gettext("There is no such {what}.").format(what=what))


class WebhookRefused(WebhookError, FieldsRefused):
    """The webhook cannot be made like this; `fields` maps each field to what is wrong with it."""


class AddressRefused(WebhookError):
    """The panel does not send to this URL, or to an address of its host."""


class NoAnswer(WebhookError):
    """The receiver did not answer in time, did not speak HTTP, or has a bad certificate."""


class NotTold(WebhookError):
    """The mail server did not accept the mail; the message has its words."""


class TooNarrow(Forbidden):
    """The token sees only parts of zones, and a webhook gets events about whole zones."""

    def __init__(self) -> None:
        self.permission = Permission.READ
        ZoneError.__init__(
            self, gettext("This token is limited to some names or types, and a webhook tells of whole zones.")
        )
