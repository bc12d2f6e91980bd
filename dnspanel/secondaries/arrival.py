"""Find the secondaries that don't serve a publication's zones yet."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dnspanel.database.sql import fetch_all
from dnspanel.secondaries.models import Kind
from dnspanel.texts import gettext
from dnspanel.zones.models import Publication, Revision

_PROGRAMS = {Kind.BIND: "BIND", Kind.NSD: "NSD", Kind.KNOT: "Knot DNS", Kind.POWERDNS: "PowerDNS"}

# Newer or the same by RFC 1982: the difference of two serials is in the lower half of the 32-bit range.
_LACKING = """
SELECT s.name, count(m.id), min(m.zone_name)
FROM secondaries_secondary s
LEFT JOIN (
    secondaries_member m JOIN zones_revision r ON r.zone_id = m.zone_id AND r.publication_id = %(sequence)s
) ON m.secondary_id = s.id AND m.until IS NULL AND (
    m.served_serial IS NULL OR (m.served_serial - r.serial + 4294967296) %% 4294967296 >= 2147483648
)
WHERE s.active
GROUP BY s.id
HAVING s.noted < %(sequence)s OR count(m.id) > 0
ORDER BY s.name"""

# Members whose serial is before the step's, or beyond the zone's own serial, which means content from elsewhere.
# A zone that moves to another catalog of the same server is queried as a member of the new catalog.
_BEFORE_STEP = """
SELECT step.zone_id, s.name, s.kind, s.noted < step.sequence, m.served_serial, step.serial, m.question_error <> ''
FROM unnest(%(zones)s::int[], %(sequences)s::bigint[], %(serials)s::bigint[]) AS step (zone_id, sequence, serial)
JOIN zones_zone z ON z.id = step.zone_id
CROSS JOIN secondaries_secondary s
LEFT JOIN secondaries_member m
    ON m.secondary_id = s.id AND m.zone_id = step.zone_id AND m.until IS NULL AND m.coo = ''
WHERE s.active AND (s.noted < step.sequence OR m.id IS NOT NULL AND (
    m.served_serial IS NULL
    OR (m.served_serial - step.serial + 4294967296) %% 4294967296
        > (z.serial - step.serial + 4294967296) %% 4294967296
))
ORDER BY s.name"""


@dataclass(frozen=True, slots=True)
class Lacking:
    """A secondary that doesn't serve some zones of a publication yet.

    If `zones` is 0, the panel hasn't processed the publication for this secondary yet.
    """

    name: str
    zones: int
    first: str  # the name of the first of these zones

    @property
    def text(self) -> str:
        """The zones that the secondary doesn't serve yet, as text for pages and messages."""
        if not self.zones:
            return gettext("{name} will be notified soon").format(name=self.name)
        if self.zones > 1:
            return gettext("{name} is still behind on {first} and {count:,} more").format(
                name=self.name, first=self.first, count=self.zones - 1
            )
        return gettext("{name} is still behind on {first}").format(name=self.name, first=self.first)


def secondaries_lacking(publication: Publication) -> list[Lacking]:
    """Return the active secondaries that don't serve the publication yet, ordered by name, in one query.

    Zones that a secondary doesn't transfer, such as deleted ones, don't count.
    """
    return [
        Lacking(name, zones, first or "")
        for name, zones, first in fetch_all(_LACKING, {"sequence": publication.sequence})
    ]


def secondaries_before(steps: Mapping[int, Revision], **_: Any) -> dict[int, dict[str, str]]:
    """Return the active secondaries that don't serve these revisions of zones yet: {zone id: {name: reason}}.

    Needs one query. A secondary is included until the panel has processed the publication for it, because the
    publication can add the zone to it. A serial beyond the zone's own also counts, because its content is from
    elsewhere.
    """
    if not steps:
        return {}
    parameters = {
        "zones": list(steps),
        "sequences": [step.publication_id for step in steps.values()],
        "serials": [step.serial for step in steps.values()],
    }
    found: dict[int, dict[str, str]] = {}
    for zone_id, name, kind, is_unaware, served, serial, is_silent in fetch_all(_BEFORE_STEP, parameters):
        reason = _reason(name, Kind(kind), served, serial, is_unaware=is_unaware, is_silent=is_silent)
        found.setdefault(zone_id, {})[name] = reason
    return found


def _reason(name: str, kind: Kind, served: int | None, serial: int, *, is_unaware: bool, is_silent: bool) -> str:
    if is_unaware:
        return gettext("{name} will be notified soon").format(name=name)
    program = f" ({_PROGRAMS[kind]})" if kind in _PROGRAMS else ""
    if served is None:
        message = gettext("{name} hasn’t answered for the zone yet")
    elif is_silent:
        message = gettext("{name} isn’t responding and last had serial {served} instead of {serial}")
    else:
        message = gettext("{name} answers with serial {served} instead of {serial}")
    return message.format(name=name + program, served=served, serial=serial)
