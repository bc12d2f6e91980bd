"""Which secondaries do not answer yet with what a publication made of their zones: for those who wait for it. Reads."""

from dataclasses import dataclass

from django.db import connection

from dnspanel.texts import gettext
from dnspanel.zones.models import Publication

# Newer or the same, by RFC 1982: the difference of two serials lies in the lower half of what 32 bits hold.
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


@dataclass(frozen=True, slots=True)
class Lacking:
    """A secondary that does not answer with some zones of a publication; no zones: nobody has looked at it yet."""

    name: str
    zones: int
    first: str  # the name of the first of them

    @property
    def text(self) -> str:
        """In words."""
        if not self.zones:
            return gettext("{name}: it is about to be told").format(name=self.name)
        if self.zones > 1:
            return gettext("{name}: it does not answer with {first} and {count:,} more yet").format(
                name=self.name, first=self.first, count=self.zones - 1
            )
        return gettext("{name}: it does not answer with {first} yet").format(name=self.name, first=self.first)


def secondaries_lacking(publication: Publication) -> list[Lacking]:
    """The active secondaries whose own answers over DNS do not show the publication yet, by name. One query.

    A zone that a secondary does not get, such as one that is deleted, is nothing that it lacks.
    """
    with connection.cursor() as cursor:
        cursor.execute(_LACKING, {"sequence": publication.sequence})
        return [Lacking(name, zones, first or "") for name, zones, first in cursor.fetchall()]
