"""The errors of consumer catalogs, as one tree. Every message can be shown to the person who caused the error.

CatalogError
├── CatalogUnknown      the catalog does not exist
├── CatalogRefused      a field of a catalog, or of one of its rules, is not acceptable
└── NothingKept         no removal waits to be confirmed, or a different one does
"""

from dnspanel.accounts.errors import NotFound
from dnspanel.field_faults import FieldsRefused
from dnspanel.texts import gettext, gettext_noop


class CatalogError(Exception):
    """Base class of errors about catalogs that a person can fix."""


class CatalogUnknown(CatalogError, NotFound):
    """The catalog does not exist."""

    text = gettext_noop("Catalog not found.")


class CatalogRefused(CatalogError, FieldsRefused):
    """The settings of a catalog or one of its rules are invalid. `fields` maps each field to its errors."""


class NothingKept(CatalogError):
    """No removal waits for a confirmation, or the catalog has changed since the removal was shown."""

    def __init__(self, zone_name: str) -> None:
        super().__init__(
            gettext(
                "No removal from {zone_name} is waiting for confirmation anymore, because the catalog has changed."
            ).format(zone_name=zone_name)
        )
