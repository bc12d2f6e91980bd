"""Change a zone's tags and team, which filters and grants use, and its default TTL and serial rules. Verbs."""

from collections.abc import Iterable
from datetime import datetime

from django.db import transaction

from dnspanel.accounts.actors.actors import Author, Grant, Right, actor_of
from dnspanel.accounts.audit import audit
from dnspanel.accounts.models import Team
from dnspanel.texts import gettext
from dnspanel.zones.errors import NamesRefused, RightMissing, SettingsRefused, Unknown
from dnspanel.zones.governance import publish_guards
from dnspanel.zones.models import Zone
from dnspanel.zones.names import nesting
from dnspanel.zones.plan import zone_quotas
from dnspanel.zones.rights import access
from dnspanel.zones.values.rrset_notes import TAG_HINT, is_tag
from dnspanel.zones.values.soa import SOA_EDIT, SOA_EDIT_API, SoaEdit
from replication.dns.rrset import MAX_TTL

MOST_TAGS = 50


def change_settings(*, zone: Zone, tags: Iterable[str], team: Team | None, author: Author, now: datetime) -> None:
    """Set the zone's tags and team (None: no team). Record the old and new values in the audit log.

    Raise Unknown for a deleted zone. Raise RightMissing if the author isn't allowed to change the zone's settings or
    would gain a right over the zone. Also raise it if the zone would escape an approval rule or a freeze. Raise
    SettingsRefused for an invalid tag, or for a team that the author can't choose. Also raise it if the team changes
    while other people's zones are above or below the zone, because the new team would control the names of these zones.
    Raise QuotaExceeded if the team has reached its zone quota.
    """
    new_tags = canonical_tags(tags)
    with transaction.atomic():
        locked = _locked_to_set(zone, author)
        if team is not None and team.pk != locked.team_id and team not in teams_to_choose_from(author):
            raise SettingsRefused(
                "team", gettext("You cannot assign a zone to the team {name}.").format(name=team.name)
            )
        refuse_gain(author, locked, new_tags, team.pk if team else None)
        publish_guards.refuse_escape(
            publish_guards.rules_about([locked]), author, locked, new_tags, team.pk if team else None
        )
        if (team.pk if team else None) != locked.team_id:
            try:
                nesting.refuse_rights(zone_names=[locked.name], own=[locked.pk], author=author)
            except NamesRefused as refused:
                raise SettingsRefused("team", str(refused.first)) from refused
        if author is not None and team is not None and team.pk != locked.team_id:
            zone_quotas.refuse_zone_of(creator=None, team=team)
        if (new_tags, team.pk if team else None) != (locked.tags, locked.team_id):
            audit.record(
                action="zone.settings",
                by=author,
                now=now,
                target=locked.name,
                tags=new_tags,
                tags_before=locked.tags,
                team=team.name if team else "",
                team_before=locked.team.name if locked.team else "",
            )
            Zone.objects.filter(pk=locked.pk).update(tags=new_tags, team=team)
    zone.tags, zone.team = new_tags, team


def change_soa_edit(
    *, zone: Zone, api: str | None = None, edit: str | None = None, author: Author, now: datetime
) -> None:
    """Set the rules for the zone's serials from the next publication on. Record the change in the audit log.

    None keeps the current rule. Raise RightMissing if the author isn't allowed to change the zone's settings, Unknown
    for a deleted zone, and SettingsRefused for an unknown rule.
    """
    with transaction.atomic():
        locked = _locked_to_set(zone, author)
        before = locked.soa_edits
        after = soa_edit_of(before.api if api is None else api, before.edit if edit is None else edit)
        if after != before:
            audit.record(
                action="zone.serials",
                by=author,
                now=now,
                target=locked.name,
                soa_edit_api=after.api,
                soa_edit_api_before=before.api,
                soa_edit=after.edit,
                soa_edit_before=before.edit,
            )
            Zone.objects.filter(pk=locked.pk).update(soa_edit_api=after.api, soa_edit=after.edit)
    zone.soa_edit_api, zone.soa_edit = after.api, after.edit


def change_default_ttl(*, zone: Zone, ttl: int | None, author: Author, now: datetime) -> None:
    """Set the TTL for new RRsets (None: the TTL of the SOA). Record the change in the audit log.

    Existing RRsets don't change. Raise RightMissing if the author isn't allowed to change the zone's settings, Unknown
    for a deleted zone, and SettingsRefused for an invalid TTL.
    """
    if ttl is not None and not 0 <= ttl <= MAX_TTL:
        raise SettingsRefused(
            "default_ttl", gettext("A TTL must be from 0 to {max_ttl} seconds.").format(max_ttl=MAX_TTL)
        )
    with transaction.atomic():
        locked = _locked_to_set(zone, author)
        if locked.default_ttl != ttl:
            audit.record(
                action="zone.default-ttl", by=author, now=now, target=locked.name, ttl=ttl, before=locked.default_ttl
            )
            Zone.objects.filter(pk=locked.pk).update(default_ttl=ttl)
    zone.default_ttl = ttl


def soa_edit_of(api: str, edit: str) -> SoaEdit:
    """Parse PowerDNS's SOA-EDIT-API and SOA-EDIT values. Raise SettingsRefused for an unknown value."""
    for field, word, known in (("soa_edit_api", api, SOA_EDIT_API), ("soa_edit", edit, SOA_EDIT)):
        if word and word.upper() not in known:
            raise SettingsRefused(
                field,
                gettext("{field} can’t be {word}. Leave it empty or choose one of these values: {list}.").format(
                    field=field, word=word[:40], list=", ".join(known)
                ),
            )
    return SoaEdit(api, edit)


def canonical_tags(tags: Iterable[str]) -> list[str]:
    """Return the tags in lowercase, sorted and distinct. Raise SettingsRefused for invalid or too many tags."""
    found = sorted({tag.strip().lower() for tag in tags} - {""})
    wrong = [tag for tag in found if not is_tag(tag)]
    if wrong:
        raise SettingsRefused(
            "tags",
            gettext("{value} isn’t a valid tag: {tag_hint}.").format(value=wrong[0][:60], tag_hint=gettext(TAG_HINT)),
        )
    if len(found) > MOST_TAGS:
        raise SettingsRefused(
            "tags",
            gettext("Enter at most {most_tags} tags, not {found}.").format(most_tags=MOST_TAGS, found=len(found)),
        )
    return found


def teams_to_choose_from(author: Author, right: Right = Right.SETTINGS) -> list[Team]:
    """Return the teams that the author can choose for a zone: all teams, or only those that the author's grants cover.

    `right` is SETTINGS for an existing zone and CREATE_ZONE for a new zone.
    """
    teams = Team.objects.order_by("name")
    actor = None if author is None else actor_of(author)
    if author is None or (actor is not None and actor.may_everywhere(right)):
        return list(teams)
    if actor is None:
        return []
    return [team for team in teams if actor.may(right, zone_id=0, tags=(), team_id=team.pk)]


def _locked_to_set(zone: Zone, author: Author) -> Zone:
    """Lock the zone and return its row. Raise Unknown if it is deleted, RightMissing if the author lacks SETTINGS."""
    locked = Zone.objects.select_for_update(no_key=True).filter(pk=zone.pk, deleted_at=None).first()
    if locked is None:
        raise Unknown(zone.name)
    access.require_right(author, locked, Right.SETTINGS)
    return locked


def refuse_gain(author: Author, zone: Zone, tags: list[str], team_id: int | None) -> None:
    """Raise RightMissing if new tags or a new team give the author more rights over the zone.

    Otherwise people could extend a grant for a tag by setting this tag on other zones.
    """
    actor = None if author is None else actor_of(author)
    if actor is None:
        return
    for layer in actor.layers:
        before = [grant for grant in layer if grant.covers_zone(zone.pk, zone.tags, zone.team_id)]
        after = [grant for grant in layer if grant.covers_zone(zone.pk, tags, team_id)]
        for grant in after:
            for right in sorted(grant.rights):
                if not any(_gives(mine, right, grant) for mine in before):
                    raise RightMissing(right, zone.name)


def _gives(mine: Grant, right: Right, grant: Grant) -> bool:
    """Return True if `mine` grants this right over everything that `grant` covers in the zone."""
    same_limits = mine.names == grant.names and mine.types == grant.types
    return right in mine.rights and (not mine.is_limited or same_limits)
