"""What may go wrong with catalogs of others, as one tree. Every message can be shown to the person who caused it.

CatalogError
├── CatalogUnknown      there is no such catalog
├── CatalogRefused      a field of a catalog, or of one of its rules, is not acceptable
└── NothingKept         no removal waits to be confirmed, or another one does
"""

from dnspanel.field_faults import FieldsRefused
from dnspanel.texts import gettext


class CatalogError(Exception):
    """The base of errors about catalogs. A person can read and fix each of them."""


class CatalogUnknown(CatalogError):
    """There is no such catalog."""

    def __init__(self) -> None:
        super().__init__(gettext("There is no such catalog."))


class CatalogRefused(CatalogError, FieldsRefused):
    """The catalog cannot be like this; `fields` maps each field to what is wrong with it."""


class NothingKept(CatalogError):
    """What is confirmed does not wait: nothing does, or the catalog has changed since."""

    def __init__(self, zone_name: str) -> None:
        super().__init__(
            gettext("No removal of {zone_name} waits for this: it has changed meanwhile.").format(zone_name=zone_name)
        )
