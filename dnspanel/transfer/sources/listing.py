"""Find the zones that an upload's configurations list, and the files of these zones in the upload."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from dnspanel.texts import gettext
from dnspanel.transfer.archives.paths import PathIndex
from dnspanel.transfer.documents import SourceFault
from dnspanel.transfer.sources.knot_nsd_conf import is_indented_conf, parse_indented_conf
from dnspanel.transfer.sources.namedconf import (
    PRIMARY_TYPES,
    Configuration,
    Included,
    ListedZone,
    is_named_conf,
    parse_named_conf,
)
from dnspanel.zones.rules.violations import Severity
from replication.dns import names
from replication.errors import BadName

_MOST_DEPTH = 20
_MOST_LISTED = 3


@dataclass(slots=True)
class Listing:
    """The zones that configurations list.

    `zones` maps each file's path to the canonical names of its zones. `passed_over` has the files of zones that are not
    imported. `directory` is the first directory that a configuration sets for its files.
    """

    zones: dict[str, list[str]] = field(default_factory=dict)
    passed_over: set[str] = field(default_factory=set)
    directory: str = ""
    faults: list[SourceFault] = field(default_factory=list)


def is_configuration(text: bytes) -> bool:
    """Return True if the text is a BIND, NSD or Knot DNS configuration, and clearly not a zone."""
    return is_named_conf(text) or is_indented_conf(text)


def configurations_of(texts: dict[str, bytes]) -> dict[str, Configuration]:
    """Return the parsed configurations, keyed by path.

    NSD and Knot DNS configurations are used only if no BIND configuration lists a zone. This prevents duplicates if an
    operator serves zones with several programs.
    """
    found = {path: parse_named_conf(path, text) for path, text in texts.items() if is_named_conf(text)}
    if any(isinstance(statement, ListedZone) for conf in found.values() for statement in conf.listed):
        return found
    return found | {path: parse_indented_conf(path, text) for path, text in texts.items() if path not in found}


def listing_of(configurations: dict[str, Configuration], index: PathIndex) -> Listing:
    """Combine all configurations of an upload into one listing, with zones in the order in which they are listed."""
    return _Lister(configurations, index).listing()


class _Lister:
    def __init__(self, configurations: dict[str, Configuration], index: PathIndex) -> None:
        self._configurations = configurations
        self._index = index
        self._listing = Listing()
        self._views: dict[str, str] = {}  # the view in which each zone was listed first
        self._seen: set[tuple[str, str]] = set()

    def listing(self) -> Listing:
        for configuration in self._configurations.values():
            self._listing.faults += configuration.faults
        for root in self._roots():
            listed = list(self._flat(root, "", ()))
            directory = next((conf.directory for conf, _, _ in listed if conf.directory), "")
            self._listing.directory = self._listing.directory or directory
            for conf, zone, view in listed:
                if zone is not None:
                    self._add(conf, zone, zone.view or view, directory)
        return self._listing

    def _roots(self) -> list[Configuration]:
        """Return the configurations that no other includes, or all if they include each other in a circle."""
        included = {
            path
            for conf in self._configurations.values()
            for statement in conf.listed
            if isinstance(statement, Included)
            for path in self._files(conf, statement)
            if path != conf.path
        }
        roots = [conf for path, conf in self._configurations.items() if path not in included]
        return roots or list(self._configurations.values())

    def _files(self, conf: Configuration, statement: Included) -> list[str]:
        if "*" in statement.path:
            return self._index.fitting(statement.path)
        return self._index.find_paths(statement.path, conf.path.rpartition("/")[0])

    def _flat(
        self, conf: Configuration, view: str, above: tuple[str, ...]
    ) -> Iterator[tuple[Configuration, ListedZone | None, str]]:
        """Yield the zones of a configuration and of all files that it includes, in order and with their view.

        Also yield each file with None as the zone, because a file without zones can still set the directory.
        """
        yield conf, None, view
        for statement in conf.listed:
            if isinstance(statement, ListedZone):
                yield conf, statement, view
                continue
            files = self._files(conf, statement)
            if len(files) != 1 and "*" not in statement.path:
                reason = (
                    gettext("the included file “{path}” could be any of {files}").format(
                        path=statement.path, files=_some(files)
                    )
                    if files
                    else gettext("the included file “{path}” is not in the upload").format(path=statement.path)
                )
                self._say(conf, statement, reason, "include", Severity.WARNING)
                continue
            for path in files:
                inner = self._configurations.get(path)
                if inner and path not in above and path != conf.path and len(above) < _MOST_DEPTH:
                    yield from self._flat(inner, statement.view or view, (*above, conf.path))

    def _add(self, conf: Configuration, zone: ListedZone, view: str, directory: str) -> None:
        files = self._index.find_paths(zone.file, conf.path.rpartition("/")[0], directory) if zone.file else []
        reason = _reason_left_out(zone)
        if reason:
            self._listing.passed_over.update(files)
            self._say(conf, zone, reason, "zone-type", Severity.NOTE)
            return
        try:
            name = names.parse(zone.name)
        except BadName as exc:
            self._say(conf, zone, str(exc), "zone-name")
            return
        if not zone.file:
            reason = gettext("no file is configured for the zone {name}").format(name=name)
            self._say(conf, zone, reason, "zone-file", zone=name)
        elif not files:
            reason = gettext("the file “{file}” is not in the upload").format(file=zone.file)
            self._say(conf, zone, reason, "zone-file", zone=name)
        elif len(files) > 1:
            reason = gettext("the file “{file}” could be any of {files}").format(file=zone.file, files=_some(files))
            self._say(conf, zone, reason, "zone-file", zone=name)
        elif (name, files[0]) not in self._seen:
            self._seen.add((name, files[0]))
            self._listing.zones.setdefault(files[0], []).append(name)
            self._say_view(conf, zone, view, name)

    def _say_view(self, conf: Configuration, zone: ListedZone, view: str, name: str) -> None:
        first = self._views.setdefault(name, view)
        if first != view:
            reason = gettext(
                "the zone {name} is in the views “{view}” and “{first}”, but the panel doesn’t support views"
            ).format(name=name, view=view, first=first)
            self._say(conf, zone, reason, "view", Severity.WARNING, zone=name)

    def _say(
        self,
        conf: Configuration,
        about: ListedZone | Included,
        reason: str,
        code: str,
        severity: Severity = Severity.ERROR,
        *,
        zone: str = "",
    ) -> None:
        place = conf.lines.place(about.offset)
        fault = SourceFault(
            place.path, place.line, place.column, place.source, reason, code, severity=severity, zone=zone
        )
        self._listing.faults.append(fault)


def _reason_left_out(zone: ListedZone) -> str:
    if zone.rdclass != "in":
        return gettext("{name} has the class {rdclass}, but only IN is imported").format(
            name=zone.name, rdclass=zone.rdclass.upper()
        )
    if zone.type and zone.type not in PRIMARY_TYPES:
        return gettext("{name} has the type {type}, but only primary zones are imported").format(
            name=zone.name, type=zone.type
        )
    return ""


def _some(paths: list[str]) -> str:
    listed = ", ".join(paths[:_MOST_LISTED])
    if len(paths) <= _MOST_LISTED:
        return listed
    return gettext("{listed} and {count:,} others").format(listed=listed, count=len(paths) - _MOST_LISTED)
