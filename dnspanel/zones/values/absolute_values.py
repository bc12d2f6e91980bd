"""Values from programs: the names inside are absolute, or the value is refused. Pure.

A program works with many zones and has no origin. `CNAME www` would mean `www.` here and `www.example.com.` in a zone
file, so the meaning would be unclear.
"""

from collections.abc import Iterable

from dnspanel.texts import gettext
from replication.dns import rdata, rdtypes
from replication.errors import BadRdata

# Relative names get this origin, so that they can be detected.
RELATIVE = "a.relative.name.invalid."

_WITH_NAMES = rdata.POINTING | {rdtypes.SOA, rdtypes.RP, rdtypes.MINFO}


def parse_absolute(type: int, text: str) -> str:
    """Return the canonical rdata that a text means; raise BadRdata, for a name without a final dot too."""
    parsed = rdata.parse(type, text, RELATIVE if type in _WITH_NAMES else None)
    if not has_relative_name(type, (parsed,)):
        return parsed
    name = next(word for word in parsed.split(" ") if word.endswith(RELATIVE)).removesuffix(RELATIVE) or "@"
    if name == "@":
        reason = gettext("“@” is relative, and names in values are absolute here: write the whole name and a dot.")
        raise BadRdata(type=type, text=text, reason=reason)
    reason = gettext(
        "The name “{name}” has no final dot, and names in values are absolute here. Write “{absolute}” if that is the "
        "whole name, or add the name of the zone: “{inside}”."
    )
    bare = name.removesuffix(".")
    raise BadRdata(
        type=type, text=text, reason=reason.format(name=bare, absolute=f"{bare}.", inside=f"{bare}.example.com.")
    )


def has_relative_name(type: int, texts: Iterable[str]) -> bool:
    """Return whether a name in these rdata, which were parsed with the origin RELATIVE, was written without a dot."""
    return type in _WITH_NAMES and any(RELATIVE in text for text in texts)
