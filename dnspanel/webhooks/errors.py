"""The errors of webhooks as one tree. Every message can be shown to the person who caused it.

    WebhookError
    ├── WebhookUnknown        the webhook or delivery doesn't exist, or the person isn't allowed to see it
    ├── WebhookRefused        a field of the webhook is invalid
    ├── AddressRefused        the panel isn't allowed to send to this URL
    ├── NoAnswer              the receiver didn't answer, or not in valid HTTP
    └── NotTold               the mail server didn't accept the mail

TooNarrow is a zones.errors.Forbidden, for a token that is limited to some names or types and can't create a webhook.
"""

from dnspanel.accounts.actors.actors import Permission
from dnspanel.accounts.errors import NotFound
from dnspanel.field_faults import FieldsRefused
from dnspanel.texts import gettext, gettext_noop
from dnspanel.zones.errors import Forbidden, ZoneError


class WebhookError(Exception):
    """A problem with a webhook. The message explains to the user how to fix it."""


class WebhookUnknown(WebhookError, NotFound):
    """The webhook or delivery doesn't exist, or the user isn't allowed to see it."""

    text = gettext_noop("Webhook not found.")


class WebhookRefused(WebhookError, FieldsRefused):
    """The webhook's settings are invalid. `fields` maps each field to its errors."""


class AddressRefused(WebhookError):
    """The panel isn't allowed to send to this URL, or to an address of the URL's host."""


class NoAnswer(WebhookError):
    """The receiver has no address, can't be reached, has an invalid certificate, or sent no HTTP response in time."""


class NotTold(WebhookError):
    """The email couldn't be sent, for example because the mail server rejected it. The message contains any reply."""


class TooNarrow(Forbidden):
    """The token can see only parts of zones, but a webhook receives events about whole zones."""

    def __init__(self) -> None:
        self.permission = Permission.READ
        ZoneError.__init__(
            self, gettext("This token is limited to some names or types, but webhooks need access to whole zones.")
        )
