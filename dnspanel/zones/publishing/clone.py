"""Clone a zone: create zones with its records. Names in the source zone become names in the new zone. Verbs."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from dnspanel.accounts.actors.actors import Author, Right
from dnspanel.accounts.models import Team
from dnspanel.texts import gettext
from dnspanel.zones.acting import Acting
from dnspanel.zones.errors import CannotClone, RightMissing
from dnspanel.zones.models import Publication, Zone
from dnspanel.zones.publishing import edit
from dnspanel.zones.rights import access
from dnspanel.zones.settings.settings_of_zone import change_settings
from dnspanel.zones.store import store_rrsets
from dnspanel.zones.values import soa
from replication.dns import names, rdata, rdtypes
from replication.dns.rrset import RRset, make

MOST_CLONED = 20_000  # RRsets, in all new zones together
# Keys and signatures are only valid for one name. A DS is a digest that includes the zone's name.
_OF_ONE_NAME = frozenset({rdtypes.DS, rdtypes.RRSIG, rdtypes.NSEC, rdtypes.NSEC3, rdtypes.NSEC3PARAM})
_OF_KEYS = frozenset({rdtypes.DNSKEY, rdtypes.CDS, rdtypes.CDNSKEY, rdtypes.SIGNING_STATE})


@dataclass(frozen=True, slots=True)
class Content:
    """The records that clones of a zone get, and the number of omitted RRsets of each type."""

    zone: Zone
    rrsets: tuple[RRset, ...]
    left_out: Mapping[int, int]

    def rrsets_of_copy(self, name: str, now: datetime) -> Iterator[RRset]:
        """Yield the RRsets of a clone with this canonical name. Raise BadName if a name becomes too long."""
        for rrset in self.rrsets:
            copy = move_to_zone(rrset, self.zone.name, name)
            yield soa.with_serial(copy, soa.first_serial(now)) if copy.type == rdtypes.SOA else copy


def move_to_zone(rrset: RRset, source: str, target: str) -> RRset:
    """Return the RRset with names in the source zone moved to the target zone. Raise BadName if a name is too long."""

    def rename(old: str) -> str:
        lowered = old.lower()
        if not names.is_within(lowered, source):
            return old
        if lowered == source:
            return target
        relative = old[: len(names.relative_text(lowered, source))]
        return f"{relative}.{'' if target == names.ROOT else target}"

    texts = {text: rdata.with_names(rrset.type, text, rename) for text in rrset.rdata}
    disabled = [texts[text] for text in rrset.disabled]
    owner, notes = names.parse(rename(rrset.name)), rrset.notes.rename_values(texts.__getitem__)
    return make(owner, rrset.type, rrset.ttl, texts.values(), disabled, rrset.comment, notes=notes)


def content_for_clones(*, source: Zone, author: Author, count: int = 1) -> Content:
    """Return the content that `count` clones of the zone get.

    Raise RightMissing if the author can't read the whole zone, and CannotClone if the clones have too many RRsets.
    """
    access.require_right(author, source, Right.READ)
    if author is not None and access.visibility_of(author, source) is not None:
        raise RightMissing(Right.READ, source.name)
    if source.rrset_count * count > MOST_CLONED:
        raise CannotClone(
            gettext(
                "{name} has {rrset_count:,} records, but all clones together can have at most {most_cloned:,}. "
                "Export the zone and import the file under the new name"
            ).format(name=source.name, rrset_count=source.rrset_count, most_cloned=MOST_CLONED)
        )
    found = store_rrsets.rrsets_of_zones([source.pk])[source.pk].values()
    left = [rrset for rrset in found if is_of_one_name(rrset, source.name)]
    kept = tuple(rrset for rrset in found if not is_of_one_name(rrset, source.name))
    return Content(source, kept, Counter(rrset.type for rrset in left))


def clone_zone(
    *, source: Zone, zone_names: Sequence[str], acting: Acting, team: Team | None = None, with_tags: bool = False
) -> Publication:
    """Create copies of the source with these canonical names, in one publication. If any zone fails, create none.

    Published RRsets are copied with comments and disabled values. The default TTL and the rules for the serial are
    copied too. Names in the source zone become names in the new zone, also in record values. Keys, signatures and DS
    are not copied, because they are only valid for the source's name. Each zone has its own serial, and is signed from
    the start if its policy requires that. `with_tags` copies the tags, and needs the right to change the new zones'
    settings. Raise the errors of `content_for_clones` and `edit.create_zones`.
    """
    content = content_for_clones(source=source, author=acting.author, count=len(zone_names))

    def in_transaction() -> None:
        made = Zone.objects.filter(name__in=zone_names, deleted_at=None)
        made.update(soa_edit_api=source.soa_edit_api, soa_edit=source.soa_edit, default_ttl=source.default_ttl)
        for zone in made.select_related("team") if with_tags and source.tags else ():
            change_settings(zone=zone, tags=source.tags, team=zone.team, author=acting.author, now=acting.now)

    return edit.create_zones(
        zones=[edit.NewZone(name, tuple(content.rrsets_of_copy(name, acting.now))) for name in zone_names],
        acting=acting,
        team=team,
        in_transaction=in_transaction,
    )


def is_of_one_name(rrset: RRset, zone: str) -> bool:
    """Return True for keys, signatures and DS, which are invalid under any other name."""
    return rrset.type in _OF_ONE_NAME or (rrset.type in _OF_KEYS and rrset.name == zone)
