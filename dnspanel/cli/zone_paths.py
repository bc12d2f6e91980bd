"""Paths of the API for names that people type."""

from urllib.parse import quote


def zone_path(zone: str, *rest: object) -> str:
    """Return the path of a zone, or of something below it."""
    return "/".join(["/zones", segment(zone), *map(str, rest)])


def segment(name: str) -> str:
    """Return a name as one segment of a path; a slash in it is written as DNS escapes it."""
    return quote(name.replace("/", "\\047"), safe="*@")
