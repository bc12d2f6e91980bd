"""Parse values from programs: all names in them must be absolute. Pure.

A program works with many zones and doesn't have an origin. `CNAME www` would mean `www.` here, but `www.example.com.`
in a zone file. Relative names are therefore rejected as ambiguous.
"""

from collections.abc import Iterable

from dnspanel.texts import gettext
from replication.dns import rdata, rdtypes
from replication.errors import BadRdata

# Relative names get this origin, so that they can be detected.
RELATIVE = "a.relative.name.invalid."

_WITH_NAMES = rdata.POINTING | {rdtypes.SOA, rdtypes.RP, rdtypes.MINFO}


# The zone in the message about a name without a trailing dot, if the zone of the value is unknown.
EXAMPLE_ZONE = "example.com."


def parse_absolute(type: int, text: str, zone_name: str = EXAMPLE_ZONE) -> str:
    """Convert `text` to canonical rdata. Raise BadRdata if it is invalid or contains a name without a trailing dot.

    The message about a missing dot has both possible names: the absolute name, and the name in the zone.
    """
    parsed = rdata.parse(type, text, RELATIVE if type in _WITH_NAMES else None)
    if not has_relative_name(type, (parsed,)):
        return parsed
    name = next(word for word in parsed.split(" ") if word.endswith(RELATIVE)).removesuffix(RELATIVE) or "@"
    if name == "@":
        reason = gettext("“@” is relative, but names in values must be absolute. Enter “{zone}” for the zone itself.")
        raise BadRdata(type=type, text=text, reason=reason.format(zone=zone_name))
    reason = gettext(
        "The name “{name}” doesn’t have a trailing dot, but names in values must be absolute. Enter "
        "“{absolute}” if the name is complete, or add the zone name: “{inside}”."
    )
    bare = name.removesuffix(".")
    inside = f"{bare}." if zone_name == "." else f"{bare}.{zone_name}"
    raise BadRdata(type=type, text=text, reason=reason.format(name=bare, absolute=f"{bare}.", inside=inside))


def reason_in_zone(exc: BadRdata, zone_name: str) -> str:
    """Return the reason for an error from `parse_absolute`, with the names that are possible in this zone."""
    try:
        parse_absolute(exc.type, exc.text, zone_name)
    except BadRdata as in_zone:
        return in_zone.reason
    return exc.reason


def has_relative_name(type: int, texts: Iterable[str]) -> bool:
    """Return True if one of these values, parsed with the origin RELATIVE, has a name without a trailing dot."""
    return type in _WITH_NAMES and any(RELATIVE in text for text in texts)
