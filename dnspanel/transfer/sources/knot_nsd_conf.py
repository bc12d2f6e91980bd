"""Read the zones listed in NSD and Knot DNS configurations.

Both formats consist of lines `key: value` in sections. Knot configurations are YAML, with entries that begin with `- `.
Only settings that lead to zone files are read: names, files, directories, NSD's patterns, Knot's templates, and
includes.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from dnspanel.transfer.sources.namedconf import Configuration, Included, Lines, ListedZone

_LOOKS_LIKE = re.compile(rb"^[ \t]*zone[ \t]*:[ \t]*(?:#[^\n]*)?\r?$", re.MULTILINE)
_LINE = re.compile(
    r"""^(?P<indent>[ \t]*)(?P<dash>-[ \t]+)?(?P<key>[a-z][a-z0-9-]*)[ \t]*:
        (?:[ \t]+|(?=\r?$))(?P<value>"[^"\n]*"(?=[ \t]*(?:\#|\r?$))|[^\#\n]*)[^\n]*$""",
    re.MULTILINE | re.VERBOSE,
)
_SECTIONS = frozenset({"zone", "pattern", "template", "server", "include"})
_NAMES = {"zone": ("name", "domain"), "pattern": ("name",), "template": ("id",)}
# Only zones of a secondary have the servers that they are transferred from.
_FROM_PRIMARY = frozenset({"request-xfr", "master", "primary"})


@dataclass(slots=True)
class _Entry:
    """A section's entry: a zone, a pattern or template that zones refer to, or other settings."""

    section: str
    offset: int
    options: dict[str, str] = field(default_factory=dict)


def is_indented_conf(text: bytes) -> bool:
    """Return True if the text has a `zone:` line. Zone files have such lines only in comments."""
    return b"zone" in text and _LOOKS_LIKE.search(text) is not None


def parse_indented_conf(path: str, text: bytes) -> Configuration:
    """Return the file's zones, includes and zone directory. Ignore unknown lines."""
    decoded = text.decode("utf-8", "backslashreplace")
    conf = Configuration(path, Lines(path, decoded))
    entries = list(_entries(decoded))
    patterns = {_name(entry): entry for entry in entries if entry.section in ("pattern", "template")}
    for entry in entries:
        if entry.section == "include":
            conf.listed.append(Included(entry.options["include"], entry.offset))
        elif entry.section == "server":
            conf.directory = conf.directory or entry.options.get("zonesdir", "")
        elif entry.section == "zone" and (name := _name(entry)):
            conf.listed.append(_zone_of_entry(entry, name, patterns))
    return conf


def _entries(text: str) -> Iterator[_Entry]:
    entry = _Entry("", 0)
    for match in _LINE.finditer(text):
        key, value, offset = match["key"], match["value"].rstrip(" \t\r").strip('"'), match.start("key")
        begins = match["dash"] is not None and entry.section in ("zone", "template")
        if key == "include" and value:
            yield _Entry("include", offset, {"include": value})
            continue
        if not value and not match["dash"] and (key in _SECTIONS or not match["indent"]):
            yield entry
            entry = _Entry(key, offset)
            continue
        if begins:
            yield entry
            entry = _Entry(entry.section, offset)
        entry.options.setdefault(key, value)
    yield entry


def _name(entry: _Entry) -> str:
    for key in _NAMES.get(entry.section, ()):
        if key in entry.options:
            return entry.options[key]
    return ""


def _zone_of_entry(entry: _Entry, name: str, patterns: dict[str, _Entry]) -> ListedZone:
    options = entry.options
    pattern = patterns.get(options.get("include-pattern") or options.get("template") or "default")
    if pattern is not None:
        options = {**pattern.options, **options}
    file = options.get("zonefile") or options.get("file") or ("%s.zone" if "domain" in options else "")
    if "%s" in file:
        file = file.replace("%s", name.rstrip(".").lower())
    if file and not file.startswith("/") and "storage" in options:
        file = f"{options['storage']}/{file}"
    kind = "primary" if _FROM_PRIMARY.isdisjoint(options) else "secondary"
    return ListedZone(name, kind, file, entry.offset)
