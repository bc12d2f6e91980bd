"""Errors about keys, signing and DNSSEC policies."""

from dnspanel.accounts.errors import NotFound
from dnspanel.field_faults import FieldsRefused
from dnspanel.texts import gettext, gettext_noop
from dnspanel.zones.errors.zone import ZoneError


class DnssecRefused(ZoneError):
    """The requested change to the zone's signing isn't possible. Nothing was changed."""


class NotSigned(DnssecRefused):
    """The requested action needs a signed zone."""

    def __init__(self, zone_name: str) -> None:
        self.zone_name = zone_name
        super().__init__(gettext("{zone_name} is not signed.").format(zone_name=zone_name))


class BadKey(DnssecRefused):
    """A DNSSEC key is invalid. The message doesn't quote the key's text, which can be a secret."""


class BadPublicKey(BadKey):
    """The public part of a DNSSEC key is invalid, or belongs to another key or zone."""


class KeyUnknown(DnssecRefused, NotFound):
    """The zone has no key with this id."""

    def __init__(self, zone_name: str, key_id: int) -> None:
        super().__init__(
            gettext("{zone_name} doesn’t have a DNSSEC key {key_id}.").format(zone_name=zone_name, key_id=key_id)
        )


class PolicyRefused(ZoneError, FieldsRefused):
    """A DNSSEC policy has invalid settings. `fields` maps field names to messages."""


class PolicyUnknown(ZoneError, NotFound):
    """The DNSSEC policy doesn't exist, or this person isn't allowed to see it."""

    text = gettext_noop("DNSSEC policy not found.")


class RolloverUnknown(ZoneError, NotFound):
    """The zone has no such rollover."""

    text = gettext_noop("Rollover not found.")
