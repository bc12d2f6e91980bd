"""The errors of notifications as one tree. Every message can be shown to the person who caused it.

AlertError
├── RouteUnknown          the route doesn't exist
└── RouteRefused          a field of the route is invalid
"""

from dnspanel.accounts.errors import NotFound
from dnspanel.field_faults import FieldsRefused
from dnspanel.texts import gettext_noop


class AlertError(Exception):
    """The base class of errors about alerts. Users can read the messages and fix the cause."""


class RouteUnknown(AlertError, NotFound):
    """The route doesn't exist."""

    text = gettext_noop("Alert route not found.")


class RouteRefused(AlertError, FieldsRefused):
    """The route's settings are invalid. `fields` maps each field to its errors."""
