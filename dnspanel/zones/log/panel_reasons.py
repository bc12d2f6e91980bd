"""Translate the reasons that the panel gives for its own publications. Pure.

Reasons are stored in English. A publication's reason is part of the audit chain, so the stored text never changes.
Pages find the message in the stored text and translate it.
"""

from collections.abc import Sequence
from string import Formatter

from dnspanel.texts import gettext, gettext_noop

ADDRESSES = gettext_noop("Name server addresses for {name}")
CATALOG = gettext_noop("The zone is now a consumed catalog, so nodes no longer serve it.")
CATALOG_MEMBERS = gettext_noop("The catalog members changed.")
DUE_DENIAL = gettext_noop("Change from NSEC to the selected NSEC3 settings.")
EXPIRED_RECORDS = gettext_noop("Expired as scheduled by {username} on {day}.")
EXPIRED_ZONE = gettext_noop("Expired: no primary responded within the expire time in the zone’s SOA record.")
FIRST_DS = gettext_noop("The DNSSEC policy adds the first DS automatically.")
FOLLOWED_NO_MORE = gettext_noop("catalog no longer followed")
IMPORT = gettext_noop("import {number}: {title}")
LIFETIME = gettext_noop("The key has reached the lifetime set in the DNSSEC policy.")
MASTER_KEY_LOST = gettext_noop("The master key was lost and replaced.")
NOT_NAMED = gettext_noop("no longer listed in the catalog {catalog}")
POLICIES = gettext_noop("DNSSEC policies, run {number}")
POLICY = gettext_noop("DNSSEC policy {name}, run {number}")
ROLLOVER_DS = gettext_noop("Rollover for {name}: DS update.")
ROLLOVER_STEP = gettext_noop("Rollover for {name}: next step.")
RUN = gettext_noop("run {number}")
RUN_TAKEN_BACK = gettext_noop("run {undone} undone by run {number}")
SIGNALLING_NAMES = gettext_noop("Signalling names for zones without a DS in the parent zone (RFC 9615).")
SIGNATURES = gettext_noop("Weekly signatures for servers that transfer the zone.")
TAKEN_BACK = gettext_noop("Publication {sequence} was reverted: {reason}")
TAKEN_OVER = gettext_noop("taken over from {server}")
TEMPLATE = gettext_noop("template {name} version {version}, run {number}")
TRANSFERRED = gettext_noop("transferred from {address}")
UNDO_OF_IMPORT = gettext_noop("undo import {number}: {title}")

# A message comes after every longer message that begins with it.
_MESSAGES = (
    *(ADDRESSES, CATALOG, CATALOG_MEMBERS, DUE_DENIAL, EXPIRED_RECORDS, EXPIRED_ZONE, FIRST_DS, FOLLOWED_NO_MORE),
    *(
        IMPORT,
        LIFETIME,
        MASTER_KEY_LOST,
        POLICIES,
        POLICY,
        ROLLOVER_DS,
        ROLLOVER_STEP,
        RUN_TAKEN_BACK,
        RUN,
        SIGNALLING_NAMES,
        SIGNATURES,
        TAKEN_BACK,
        TAKEN_OVER,
    ),
    *(TEMPLATE, TRANSFERRED, UNDO_OF_IMPORT, NOT_NAMED),
)
_PIECES = [(message, [(text, name) for text, name, _, _ in Formatter().parse(message)]) for message in _MESSAGES]


def told_reason(reason: str) -> str:
    """Translate one of the panel's own reasons into the current language. Return a person's reason unchanged."""
    for message, pieces in _PIECES:
        values = _values_in(reason, pieces)
        if values is not None:
            return gettext(message).format(**values) if values else gettext(message)
    return reason


def _values_in(reason: str, pieces: Sequence[tuple[str, str | None]]) -> dict[str, str] | None:
    """Return the placeholders' values in a reason, or None if the message's pieces don't match it."""
    values: dict[str, str] = {}
    rest, name = reason, None
    for text, next_name in pieces:
        before, found, rest = rest.partition(text) if text else ("", "", rest)
        if found != text or (name is None and before):
            return None
        if name is not None:
            values[name] = before
        name = next_name
    if name is not None:
        values[name], rest = rest, ""
    return None if rest or not all(values.values()) else values
