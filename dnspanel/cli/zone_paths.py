"""The API paths of zones and other resources that people name on the command line."""

from urllib.parse import quote


def zone_path(zone: str, *rest: object) -> str:
    """Return the API path of a zone, or of a resource below the zone."""
    return "/".join(["/zones", segment(zone), *map(str, rest)])


def segment(name: str) -> str:
    """Return a name as one path segment. A slash in the name is escaped as in DNS."""
    return quote(name.replace("/", "\\047"), safe="*@")
