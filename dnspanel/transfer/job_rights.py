"""Check the rights of imports, exports and comparisons.

A job can only do what its author is allowed to do, and each step checks the author's rights again.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from dnspanel.accounts.actors.actors import (
    RECORD_RIGHTS,
    Actor,
    Author,
    Permission,
    Person,
    Right,
    actor_of,
    actor_of_token,
)
from dnspanel.accounts.models import Team
from dnspanel.texts import gettext, gettext_noop
from dnspanel.transfer import zone_changes
from dnspanel.transfer.documents import SourceFault
from dnspanel.transfer.models import CutoverCheck, CutoverZone, ExportJob, ImportJob, ImportPiece
from dnspanel.zones.errors import Forbidden, RightMissing
from dnspanel.zones.governance.parts import Part
from dnspanel.zones.governance.publish_guards import NO_RULES, Rules, every_rule, reasons_over, refusals
from dnspanel.zones.models import UNFINISHED_STATES, Lock, Revision, RevisionKind, Zone, ZoneKey
from dnspanel.zones.names import nesting
from dnspanel.zones.rights import access
from dnspanel.zones.rights.lock_rules import refuse_locked
from replication.dns.rrset import Change, RRset

_ALL_RIGHTS = frozenset({Right.READ, Right.CREATE_ZONE, *RECORD_RIGHTS})
AUTHOR_UNABLE = gettext_noop(
    "The author is no longer allowed to do this because the account was closed or the token was revoked."
)


@dataclass(frozen=True, slots=True)
class ImportRights:
    """The rights of an import. `actor` is None for the panel itself, and for authors with all rights for every zone."""

    author: Author
    actor: Actor | None
    may_create: bool
    team: Team | None  # the team that new zones belong to
    rules: Rules = NO_RULES  # approval rules and freezes for all zones

    def zones_in_reach(self, zone_ids: Collection[int]) -> dict[int, Zone] | None:
        """Return {id: zone with its team loaded} for the zones that the import is allowed to see, or None for all."""
        if self.actor is None:
            return None
        return access.zones_visible_to(self.actor).select_related("team").in_bulk(zone_ids)

    @property
    def may_refuse_names(self) -> bool:
        """True if rights, rules or locks can forbid names of new zones. Otherwise the names needn't be checked."""
        return self.actor is not None or bool(self.rules) or Lock.objects.exists()

    def refused_names(self, new_names: Sequence[str]) -> dict[str, SourceFault]:
        """Return {name: fault} for new zones that other people's zones or rules forbid.

        Such zones are below or above other people's zones, or below a zone with rules. The number of queries doesn't
        depend on the number of zones.
        """
        refused = nesting.refusals_by_others(zone_names=new_names, author=self.actor)
        kept = reasons_over([Zone(name=name) for name in new_names], author=self.author, reason="", now=timezone.now())
        return {name: _fault(name, str(refusal)) for name, refusal in (kept | refused).items()}

    def refusal(
        self, zone: Zone, changes: zone_changes.Changes, current: Mapping[zone_changes.Key, RRset]
    ) -> SourceFault | None:
        """Return a fault if these changes to a visible zone are forbidden, or else None.

        Rights, locks or rules forbid the changes, or the zone is a producer catalog or has its primary elsewhere.
        """
        made = [Change(*key, current.get(key), new) for key, new in changes.items()]
        try:
            access.refuse_transferred(zone)
            if self.actor is None:
                refuse_locked(self.author, zone, made)
            else:
                access.refuse_changes(self.actor, zone, made)
        except RightMissing as refusal:
            return _fault(zone.name, str(refusal))
        if self.rules:
            part = Part(
                zone.pk, RevisionKind.CHANGE, [Change(*key, current.get(key), new) for key, new in changes.items()]
            )
            kept = refusals(self.rules.of(zone), zone, part, self.author, "", (), timezone.now())
            return next((_fault(zone.name, str(each)) for each in kept), None)
        return None


def actor_of_job(job: ImportJob | ExportJob | CutoverCheck) -> Author:
    """Return the job's author with current rights, or None for the panel's own jobs.

    Raise Forbidden if the account is closed or its token is revoked.
    """
    if job.author is None:
        return None
    actor = actor_of_token(job.token) if job.token else actor_of(job.author)
    if actor is None or (job.token and job.token.revoked_at):
        raise Forbidden(Permission.EDIT, gettext(AUTHOR_UNABLE))
    return actor


def rights_of(job: ImportJob) -> ImportRights:
    """Return the import's current rights. Raise Forbidden if the author's account or token is no longer valid."""
    author = actor_of_job(job)
    if author is None or not isinstance(author, Actor) or all(map(author.may_everywhere, _ALL_RIGHTS)):
        return ImportRights(author, None, may_create=True, team=None, rules=every_rule())
    try:
        return ImportRights(author, author, may_create=True, team=team_of_new_zones(author), rules=every_rule())
    except RightMissing:
        return ImportRights(author, author, may_create=False, team=None, rules=every_rule())


def may_sign(job: ImportJob) -> bool:
    """Return True if the import's author is allowed to sign new zones. The zones can then keep their DNSSEC keys.

    Raise Forbidden if the author's account or token is no longer valid.
    """
    author = actor_of_job(job)
    actor = None if author is None else actor_of(author)
    if author is None:
        return True
    team = rights_of(job).team
    return actor is not None and actor.may(Right.DNSSEC, zone_id=0, tags=(), team_id=team.pk if team else None)


def team_of_new_zones(author: Author) -> Team | None:
    """Return the team that will own the zones that this author's imports create, or None if no team will.

    Raise RightMissing if the author isn't allowed to create zones.
    """
    return access.team_for_new_zone(author, None, "")


def jobs_visible_to(person: access.Person) -> QuerySet[ImportJob]:
    """Return all imports if the person is allowed to edit every zone, and otherwise only the person's own imports.

    A limited token sees only the imports that it created.
    """
    actor = actor_of(person)
    jobs = ImportJob.objects.select_related("author", "token")
    if actor is None:
        return jobs.none()
    if all(map(actor.may_everywhere, _ALL_RIGHTS)):
        return jobs
    return jobs.filter(Q(author=actor.user) if actor.token is None else Q(token=actor.token))


def checks_visible_to(person: access.Person) -> QuerySet[CutoverCheck]:
    """Return the comparisons that the person is allowed to see.

    A person who is allowed to read every zone sees all comparisons. Without that right, a person sees only their own,
    and ended comparisons whose zones are all visible to them. An unfinished comparison can still add zones that the
    person must not see. A limited token's own comparisons are those that the token created.
    """
    actor = actor_of(person)
    checks = CutoverCheck.objects.select_related("author", "token", "job")
    if actor is None:
        return checks.none()
    if actor.may_everywhere(Right.READ):
        return checks
    own = Q(author=actor.user) if actor.token is None else Q(token=actor.token)
    compared = CutoverZone.objects.filter(check_run=OuterRef("pk"))
    # A zone that was created later is a different zone, even with the same name.
    visible = access.zones_visible_to(actor).filter(created_at__lte=OuterRef(OuterRef("created_at")))
    hidden = compared.exclude(name__in=visible.values("name"))
    return checks.filter(own | Q(~Q(state__in=UNFINISHED_STATES), Exists(compared), ~Exists(hidden)))


def refuse_undo(job: ImportJob, person: Author) -> None:
    """Raise RightMissing if the import published zones that this person is not allowed to revert."""
    actor = None if person is None else actor_of(person)
    if person is None or (actor is not None and actor.may_everywhere(Right.DELETE_ZONE)):
        return
    pieces = ImportPiece.objects.filter(job=job)
    for right, column in ((Right.DELETE_ZONE, "created_in"), (Right.CHANGE, "changed_in")):
        published = pieces.exclude(**{column: None}).values(column)
        zones = Revision.objects.filter(publication__in=published).values("zone_id")
        mine = access.zones_within_reach(actor or person, right) if actor else Zone.objects.none()
        other = Zone.objects.filter(pk__in=zones).exclude(pk__in=mine.values("pk")).first()
        if other is not None:
            raise RightMissing(right, other.name)


def refuse_partial_visibility(author: Author) -> None:
    """Raise Forbidden for a token that doesn't see whole zones, because its export would look complete."""
    if isinstance(author, Actor) and author.scope is not None:
        reading = [grant for grant in author.scope if Right.READ in grant.rights]
        if not reading or any(grant.is_limited for grant in reading):
            raise Forbidden(Permission.READ, gettext("This token can only see parts of zones and can’t export zones."))


def zones_with_hidden_keys(zones: "QuerySet[Zone]", author: Author) -> "QuerySet[Zone]":
    """Return the given zones with DNSSEC keys that this author is not allowed to export."""
    actor = None if author is None else actor_of(author)
    if author is None or (actor is not None and actor.may_everywhere(Right.EXPORT_KEYS)):
        return zones.none()
    keys = ZoneKey.objects.filter(zone=OuterRef("pk"), deleted_at=None)
    # With a list of all ids, PostgreSQL would search a million of them for each signed zone.
    mine = access.zones_within_reach(author, Right.EXPORT_KEYS).filter(pk=OuterRef("pk"))
    return zones.filter(Exists(keys), ~Exists(mine))


def zone_without_key_export(zone_ids: Sequence[int], person: Person) -> Zone | None:
    """Return the first living zone of these that the person's right EXPORT_KEYS doesn't cover, or None."""
    actor = actor_of(person)
    if actor is not None and actor.may_everywhere(Right.EXPORT_KEYS):
        return None
    mine = access.zones_within_reach(person, Right.EXPORT_KEYS).filter(pk=OuterRef("pk"))
    zones = Zone.objects.filter(pk__in=zone_ids, deleted_at=None)
    return zones.filter(~Exists(mine)).order_by("name").first()


def not_yours(zone: str) -> SourceFault:
    """Return the fault for an existing zone that the author is not allowed to see."""
    return _fault(zone, gettext("The zone already exists, but you don’t have access to it."))


def may_not_create(zone: str) -> SourceFault:
    """Return the fault for a new zone if the author isn't allowed to create zones."""
    return _fault(zone, gettext("You don’t have permission to create zones."))


def too_many_rrsets(zone: str, reason: str) -> SourceFault:
    """Return the fault for a zone with more RRsets than its author or team is allowed to have in one zone."""
    return SourceFault("", 0, 0, "", reason, "too-many-rrsets", zone=zone)


def _fault(zone: str, reason: str) -> SourceFault:
    return SourceFault("", 0, 0, "", reason, "not-allowed", zone=zone)
