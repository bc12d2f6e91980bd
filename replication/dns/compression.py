"""Expand compressed names in DNS messages (RFC 1035 4.1.4), including names in the rdata of each type. Pure."""

from replication.dns import names, rdtypes

_POINTER = 0xC0
_MD, _MF, _RT, _PX = 3, 4, 21, 26

# Types whose names may be compressed (RFC 1035, and RFC 3597 section 4 for older servers): bytes before the first
# name, number of names, bytes after the last.
NAMES_IN_RDATA: dict[int, tuple[int, int, int]] = {
    **dict.fromkeys((rdtypes.NS, rdtypes.CNAME, rdtypes.PTR, rdtypes.DNAME, _MD, _MF), (0, 1, 0)),
    **dict.fromkeys((rdtypes.MB, rdtypes.MG, rdtypes.MR), (0, 1, 0)),
    **dict.fromkeys((rdtypes.MINFO, rdtypes.RP), (0, 2, 0)),
    rdtypes.SOA: (0, 2, 20),
    **dict.fromkeys((rdtypes.MX, rdtypes.AFSDB, rdtypes.KX, _RT), (2, 1, 0)),
    _PX: (2, 2, 0),
    rdtypes.SRV: (6, 1, 0),
}


class BadCompression(ValueError):
    """An error in a compressed name. The error's text is the reason, as a part of a sentence."""


def name_at(message: bytes, at: int, known: dict[int, bytes] | None = None) -> tuple[bytes, int]:
    """Expand the name at an offset. Return its wire form, with letter case kept, and the offset after it.

    `known` caches names by their offsets, because many pointers can lead to one name. Raise BadCompression if a pointer
    or label is invalid or the name is too long, or IndexError if the message ends inside it.
    """
    parts: list[bytes] = []
    first, behind, limit = at, -1, at
    while True:
        length = message[at]
        if length == 0:
            parts.append(b"\0")
            behind = at + 1 if behind < 0 else behind
            break
        if length <= names.MAX_LABEL:
            parts.append(message[at : at + 1 + length])
            at += 1 + length
            continue
        if length < _POINTER:
            raise BadCompression(f"{length:#x} is not a label length")
        target = (length & 0x3F) << 8 | message[at + 1]
        behind = at + 2 if behind < 0 else behind
        # Pointers only lead backwards, so there can be no loop.
        if target >= limit:
            raise BadCompression("a compression pointer does not point backwards")
        if known is not None and target in known:
            parts.append(known[target])
            break
        at = limit = target
    name = b"".join(parts)
    if len(name) > names.MAX_WIRE:
        raise BadCompression("a name is too long")
    if known is not None:
        known[first] = name
    return name, behind


def expand_rdata(
    message: bytes, start: int, end: int, type: int, known: dict[int, bytes] | None = None
) -> tuple[bytes, int]:
    """Return the rdata `message[start:end]` with expanded names, and the number of bytes after the last name.

    If a type has no compressible names, return its rdata unchanged, and 0. Raise the errors of `name_at`.
    """
    if type not in NAMES_IN_RDATA:
        return message[start:end], 0
    before, count, _ = NAMES_IN_RDATA[type]
    at = start + before
    parts = [message[start:at]]
    for _ in range(count):
        name, at = name_at(message, at, known)
        parts.append(name)
    if at > end:
        raise BadCompression("a name runs off the end of its record")
    parts.append(message[at:end])
    return b"".join(parts), end - at
