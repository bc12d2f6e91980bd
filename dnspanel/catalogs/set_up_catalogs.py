"""Follow, change and unfollow consumer catalogs, set their rules, and confirm removals of members. Verbs."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction

from dnspanel.accounts.actors.actors import Actor
from dnspanel.accounts.audit import audit
from dnspanel.accounts.models import Team, User
from dnspanel.catalogs.access import require_set_up
from dnspanel.catalogs.errors import CatalogRefused, CatalogUnknown, NothingKept
from dnspanel.catalogs.models import Catalog, Listing, Rule, State
from dnspanel.catalogs.signals import due
from dnspanel.database.first_rows import first_or
from dnspanel.primaries import set_up_primaries as primaries
from dnspanel.primaries.errors import PrimariesRefused
from dnspanel.primaries.models import TERMS
from dnspanel.primaries.set_up_primaries import Terms
from dnspanel.texts import gettext
from dnspanel.zones.acting import Acting
from dnspanel.zones.errors import SettingsRefused
from dnspanel.zones.governance import publish_guards
from dnspanel.zones.governance.parts import REPLACE
from dnspanel.zones.governance.publish_hooks import after_hooks
from dnspanel.zones.log import panel_reasons
from dnspanel.zones.models import Channel, Publication, Zone
from dnspanel.zones.publishing import edit
from dnspanel.zones.publishing.transferred import stop_serving
from dnspanel.zones.settings.settings_of_zone import canonical_tags
from replication.dns import names
from replication.errors import BadName

MOST = 50
MOST_RULES = 16
MOST_WITHIN = 32
MOST_MEMBERS = 100_000
LONGEST_GROUP = 255


@dataclass(frozen=True, slots=True)
class CatalogTerms:
    """The terms for the members of a catalog, from a form or the API.

    If `within` isn't empty, members must be at or below one of its names. `most_lost` is the percentage of members that
    can leave without a confirmation.
    """

    team: int | None = None
    tags: Collection[str] = ()
    within: Collection[str] = ()
    most_members: int = 1_000
    most_lost: int = 20


@dataclass(frozen=True, slots=True)
class RuleTerms:
    """The terms for the members of a group. If `primaries` is None, members have the catalog zone's primaries."""

    group: str
    team: int | None = None
    tags: Collection[str] = ()
    primaries: Terms | None = None


def follow_catalog(*, name: str, primaries_terms: Terms, terms: CatalogTerms, acting: Acting) -> Catalog:
    """Follow a consumer catalog: transfer the catalog zone, and create the zones that it lists.

    Nodes do not receive the catalog zone. Raise Forbidden if the author isn't allowed to set up catalogs,
    CatalogRefused with the invalid fields, and the errors of `create_transferred_zone`.
    """
    assert acting.author is not None, "a person follows a catalog"
    actor = require_set_up(acting.author)
    columns = _check_terms(terms)
    if Catalog.objects.filter(zone__deleted_at=None).count() >= MOST:
        raise CatalogRefused({"name": [gettext("The panel can have at most {most} catalogs.").format(most=MOST)]})

    def in_transaction(zone: Zone) -> None:
        _begin(zone, columns, by=actor, now=acting.now)

    primaries.create_transferred_zone(name=name, terms=primaries_terms, acting=acting, in_transaction=in_transaction)
    return Catalog.objects.select_related("zone").get(zone__name=names.parse(name), zone__deleted_at=None)


@after_hooks
def follow_zone(*, zone: Zone, author: User | Actor, now: datetime) -> None:
    """Convert a transferred zone to a consumer catalog, and remove it from the nodes. A second call changes nothing.

    Raise Forbidden if the author isn't allowed to set up catalogs, CatalogRefused if the panel is the zone's primary,
    and the errors of `publish_guards.refuse_act`.
    """
    actor = require_set_up(author)
    if Catalog.objects.filter(zone=zone).exists():
        return
    if not zone.transferred_from:
        reason = gettext(
            "This panel is the zone’s primary, but a consumed catalog must be transferred from another server."
        )
        raise CatalogRefused({"name": [reason]})
    columns = _check_terms(CatalogTerms())

    def begin(publication: Publication | None = None) -> None:
        _refuse_by_rules(zone, actor, now)
        _begin(zone, columns, by=actor, now=now, due_at=now)
        _wake_on_commit()

    reason = panel_reasons.CATALOG
    if stop_serving(zone_ids=[zone.pk], channel=Channel.TRANSFER, now=now, reason=reason, in_transaction=begin) is None:
        with transaction.atomic():
            begin()
    zone.is_catalog, zone.is_served = True, False


@after_hooks
def release_zone(*, zone: Zone, author: User | Actor, now: datetime) -> None:
    """Convert a consumer catalog to an ordinary transferred zone. Nodes receive it after the next transfer.

    The members do not change. If the zone isn't a catalog, do nothing. Raise Forbidden if the author isn't allowed to
    set up catalogs, and the errors of `publish_guards.refuse_act`.
    """
    actor = require_set_up(author)
    with transaction.atomic():
        if Catalog.objects.select_for_update().filter(zone=zone).first() is None:
            return
        _refuse_by_rules(zone, actor, now)
        _end(zone, by=actor, now=now)
        Zone.objects.filter(pk=zone.pk).update(is_catalog=False)
    zone.is_catalog = False
    primaries.ask_now(zone=zone, author=author, now=now, wants_all=True)


def change_catalog(*, catalog: Catalog, terms: CatalogTerms, author: User | Actor, now: datetime) -> Catalog:
    """Change the terms for a catalog's new and existing members.

    Raise Forbidden if the author isn't allowed to set up catalogs, CatalogUnknown if the catalog was deleted, and
    CatalogRefused for invalid terms.
    """
    actor = require_set_up(author)
    columns = _check_terms(terms)
    with transaction.atomic():
        stored = _lock_catalog(catalog)
        before = _columns_for_audit({name: getattr(stored, name) for name in columns})
        after = _columns_for_audit(columns)
        for name, value in columns.items():
            setattr(stored, name, value)
        stored.due_at = now
        stored.save(update_fields=[*columns, "due_at"])
        if before != after:
            audit.record(
                action="catalog.change", by=actor, now=now, target=stored.zone.name, before=before, after=after
            )
        _wake_on_commit()
    return stored


def set_rules(*, catalog: Catalog, rules: Sequence[RuleTerms], author: User | Actor, now: datetime) -> list[Rule]:
    """Replace the rules of a catalog. The first rule that matches one of a member's groups applies to the member.

    A rule without a secret keeps the secret of the group's old rule if both name the same TSIG key. Raise the errors of
    `change_catalog`.
    """
    actor = require_set_up(author)
    with transaction.atomic():
        stored = _lock_catalog(catalog)
        there = {rule.group: rule for rule in stored.rules.all()}
        checked = _checked_rules(rules, there)
        stored.rules.all().delete()
        made = Rule.objects.bulk_create([Rule(catalog=stored, **columns) for columns in checked])
        Catalog.objects.filter(pk=stored.pk).update(due_at=now)
        audit.record(
            action="catalog.rules",
            by=actor,
            now=now,
            target=stored.zone.name,
            rules=[{"group": each["group"], **_columns_for_audit(each)} for each in checked],
        )
        _wake_on_commit()
    return made


def confirm_removals(*, catalog: Catalog, revision: int, author: User | Actor, now: datetime) -> None:
    """Confirm the removal of all members that left in this revision of the catalog zone.

    Raise the errors of `change_catalog`, and NothingKept if no removal of this revision waits for a confirmation.
    """
    actor = require_set_up(author)
    with transaction.atomic():
        stored = _lock_catalog(catalog)
        if stored.kept_since is None or stored.kept_revision != revision:
            raise NothingKept(stored.zone.name)
        Catalog.objects.filter(pk=stored.pk).update(confirmed_revision=revision, due_at=now)
        audit.record(
            action="catalog.confirm",
            by=actor,
            now=now,
            target=stored.zone.name,
            members=stored.kept_count,
            revision=revision,
        )
        _wake_on_commit()


def unfollow_catalog(*, catalog: Catalog, author: User | Actor, channel: str, now: datetime) -> None:
    """Delete the catalog zone, and keep its members as ordinary transferred zones.

    This takes two transactions. After a crash between them, the catalog zone is in the trash, and the catalog is no
    longer followed. Raise the errors of `change_catalog` and `edit.delete_zone`.
    """
    actor = require_set_up(author)
    zone, reason = catalog.zone, panel_reasons.FOLLOWED_NO_MORE
    edit.delete_zone(zone=zone, acting=Acting(author, channel, now, reason), confirmed=True)
    with transaction.atomic():
        _end(zone, by=actor, now=now)


def terms_of(catalog: Catalog) -> CatalogTerms:
    """Return the terms for the catalog's members."""
    return CatalogTerms(
        catalog.team_id, tuple(catalog.tags), tuple(catalog.within), catalog.most_members, catalog.most_lost
    )


def _begin(zone: Zone, columns: Mapping[str, Any], *, by: Actor, now: datetime, due_at: datetime | None = None) -> None:
    Zone.objects.filter(pk=zone.pk).update(is_catalog=True)
    Catalog.objects.create(zone=zone, created_at=now, due_at=due_at, **columns)
    audit.record(action="catalog.follow", by=by, now=now, target=zone.name, **_columns_for_audit(columns))


def _refuse_by_rules(zone: Zone, author: Actor, now: datetime) -> None:
    """Raise the errors of `publish_guards.refuse_act` if a rule forbids converting the zone. Else record the act."""
    passed = publish_guards.refuse_act(zone, REPLACE, acting=Acting(author, Channel.API, now), past_rules=False)
    publish_guards.record_act(passed, zone, author=author, reason="", now=now)


def _end(zone: Zone, *, by: Actor, now: datetime) -> None:
    """Delete the catalog's terms, its rules, and its list of members."""
    members = Listing.objects.filter(catalog=zone.pk, state=State.MEMBER).count()
    Catalog.objects.filter(pk=zone.pk).delete()
    audit.record(action="catalog.unfollow", by=by, now=now, target=zone.name, members=members)


def _check_terms(terms: CatalogTerms) -> dict[str, Any]:
    """Return the database columns for these terms. Raise CatalogRefused with the invalid fields."""
    faults: dict[str, list[str]] = {}
    columns = {
        "team": _team(terms.team, faults),
        "tags": _tags(terms.tags, faults),
        "within": _within(terms.within, faults),
        "most_members": terms.most_members,
        "most_lost": terms.most_lost,
    }
    if not 1 <= terms.most_members <= MOST_MEMBERS:
        faults["most_members"] = [gettext("Enter a number from 1 to {most:,}.").format(most=MOST_MEMBERS)]
    if not 0 <= terms.most_lost <= 100:
        faults["most_lost"] = [gettext("Enter a percentage from 0 to 100.")]
    if faults:
        raise CatalogRefused(faults)
    return columns


def _checked_rules(rules: Sequence[RuleTerms], there: Mapping[str, Rule]) -> list[dict[str, Any]]:
    faults: dict[str, list[str]] = {}
    checked: list[dict[str, Any]] = []
    if len(rules) > MOST_RULES:
        raise CatalogRefused({"rules": [gettext("A catalog can have at most {most} rules.").format(most=MOST_RULES)]})
    for rule in rules:
        group = rule.group.strip()
        if not group or len(group) > LONGEST_GROUP or not group.isprintable():
            faults["group"] = [gettext("Enter a group name of at most {most} characters.").format(most=LONGEST_GROUP)]
        elif any(each["group"] == group for each in checked):
            faults["group"] = [gettext("The group {group} already has a rule.").format(group=group)]
        columns: dict[str, Any] = {"group": group, "team": _team(rule.team, faults), "tags": _tags(rule.tags, faults)}
        if rule.primaries is None:
            columns["addresses"] = []
        else:
            try:
                columns |= primaries.checked_columns(rule.primaries, there.get(group))
            except PrimariesRefused as exc:
                faults |= exc.fields
        checked.append(columns)
    if faults:
        raise CatalogRefused(faults)
    return checked


def _team(pk: int | None, faults: dict[str, list[str]]) -> Team | None:
    found = None if pk is None else Team.objects.filter(pk=pk).first()
    if pk is not None and found is None:
        faults["team"] = [gettext("Choose a team.")]
    return found


def _tags(tags: Collection[str], faults: dict[str, list[str]]) -> list[str]:
    try:
        return canonical_tags(tags)
    except SettingsRefused as exc:
        faults["tags"] = [str(exc)]
        return []


def _within(texts: Collection[str], faults: dict[str, list[str]]) -> list[str]:
    found: dict[str, None] = {}
    if len(texts) > MOST_WITHIN:
        faults["within"] = [gettext("Enter at most {most} names.").format(most=MOST_WITHIN)]
        return []
    for text in texts:
        try:
            found[names.parse(text)] = None
        except BadName as exc:
            faults.setdefault("within", []).append(str(exc))
    return list(found)


def _columns_for_audit(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns for the audit log, without secrets."""
    recorded = {name: value for name, value in columns.items() if name not in TERMS}
    if columns.get("addresses"):
        recorded |= primaries.columns_for_audit({name: columns[name] for name in TERMS})
    return {**recorded, "team": columns["team"].name if columns["team"] else ""}


def _lock_catalog(catalog: Catalog) -> Catalog:
    found = Catalog.objects.select_for_update(of=("self",)).select_related("zone", "team")
    return first_or(found.filter(pk=catalog.pk, zone__deleted_at=None), CatalogUnknown)


def _wake_on_commit() -> None:
    transaction.on_commit(lambda: due.send_robust(sender=Catalog), robust=True)
