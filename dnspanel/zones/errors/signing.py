"""Errors about keys, signing and DNSSEC policies."""

from collections.abc import Mapping, Sequence

from dnspanel.texts import gettext, joined
from dnspanel.zones.errors.zone import ZoneError


class DnssecRefused(ZoneError):
    """The zone cannot be signed in this way; nothing was changed."""


class NotSigned(DnssecRefused):
    """What is asked for needs a zone that is signed."""

    def __init__(self, zone_name: str) -> None:
        self.zone_name = zone_name
        super().__init__(gettext("{zone_name} is not signed.").format(zone_name=zone_name))


class BadKey(DnssecRefused):
    """An invalid DNSSEC key. The message quotes nothing of it: it may be a secret of another kind."""


class BadPublicKey(BadKey):
    """An invalid public part of a DNSSEC key, or that of another key or zone."""


class KeyUnknown(DnssecRefused):
    """The zone has no key of this id."""

    def __init__(self, zone_name: str, key_id: int) -> None:
        super().__init__(gettext("{zone_name} has no DNSSEC key {key_id}.").format(zone_name=zone_name, key_id=key_id))


class PolicyRefused(ZoneError):
    """A DNSSEC policy cannot be so; `fields` has sentences by the name of what they are about."""

    def __init__(self, fields: Mapping[str, Sequence[str]]) -> None:
        self.fields = {name: list(messages) for name, messages in fields.items()}
        super().__init__(joined(" ", (message for messages in self.fields.values() for message in messages)))


class PolicyUnknown(ZoneError):
    """No such policy."""

    def __init__(self) -> None:
        super().__init__(gettext("There is no such DNSSEC policy."))


class RolloverUnknown(ZoneError):
    """The zone has no such rollover."""

    def __init__(self) -> None:
        super().__init__(gettext("The zone has no such rollover."))
