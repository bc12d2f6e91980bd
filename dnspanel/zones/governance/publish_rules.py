"""Add and remove approval rules and freezes, for people with the right to govern zones. Verbs.

A person who is allowed to remove a rule can also bypass it. Therefore the same right covers both. Editors of all zones
don't get this right automatically.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, TypeVar

from django.contrib.postgres.fields import ArrayField
from django.db import transaction
from django.db.models import Exists, Func, OuterRef, Q, QuerySet, TextField

from dnspanel.accounts.actors.actors import Author, Person, Right, actor_of, user_of
from dnspanel.accounts.audit import audit
from dnspanel.accounts.models import Role, Team, Token
from dnspanel.database.first_rows import first_or
from dnspanel.texts import gettext
from dnspanel.time_zones import UnknownTimeZone, time_zone_named
from dnspanel.zones.errors import RightMissing, RuleRefused, RuleUnknown
from dnspanel.zones.governance import freeze_times, ticket_patterns
from dnspanel.zones.models import ApprovalRule, Freeze, PublishHook, Zone, ZoneRule
from dnspanel.zones.rights import access

MOST = 200  # approval rules, and freezes: a publication reads all that cover its zones
MOST_APPROVERS = 3
MOST_CHANGES = 1_000  # fewer than a piece of a large publication has
MOST_TOKENS = 20
LONGEST_REASON = 200
LONGEST_LINK = 300

AnyRule = TypeVar("AnyRule", bound=ZoneRule)


@dataclass(frozen=True, slots=True)
class Scope:
    """The zones that a rule covers: one zone, a tag's zones, a team's zones, or all zones if no field is set."""

    zone: Zone | None = None
    tag: str = ""
    team: Team | None = None


@dataclass(frozen=True, slots=True)
class ApprovalTerms:
    needed: int = 1
    types: Sequence[int] = ()
    min_changes: int = 1
    team: Team | None = None
    role: str = ""
    tokens: Collection[Token] = ()
    ticket: str = ""
    ticket_link: str = ""


@dataclass(frozen=True, slots=True)
class FreezeTimes:
    starts_at: datetime
    ends_at: datetime
    repeats: str = ""
    time_zone: str = "UTC"


def may_govern(person: Person, scope: Scope) -> bool:
    """Return True if this person is allowed to add and remove rules with this scope."""
    actor = actor_of(person)
    if actor is None:
        return False
    if scope.zone is not None:
        return access.has_right(actor, scope.zone, Right.GOVERN)
    tags, team = ([scope.tag] if scope.tag else []), (scope.team.pk if scope.team else None)
    return actor.may(Right.GOVERN, zone_id=0, tags=tags, team_id=team)


def add_approval_rule(
    *, scope: Scope, terms: ApprovalTerms, reason: str, author: Author, now: datetime
) -> ApprovalRule:
    """Require approvals, a ticket or both for changes to zones. The rule also covers existing drafts and requests.

    Raise RightMissing if the author can't govern the zones, and RuleRefused for invalid values or if MOST rules exist.
    """
    _refuse_terms(terms)
    with transaction.atomic():
        begin(ApprovalRule, scope, author)
        rule = ApprovalRule.objects.create(
            **columns_of_rule(scope, reason, author, now),
            needed=terms.needed,
            types=sorted(set(terms.types)),
            min_changes=terms.min_changes,
            approver_team=terms.team,
            approver_role=terms.role,
            ticket=terms.ticket,
            ticket_link=terms.ticket_link,
        )
        rule.tokens.set(terms.tokens)
        record("rule.place", rule, author, now, needed=terms.needed, ticket=terms.ticket)
    return rule


def add_freeze(*, scope: Scope, times: FreezeTimes, reason: str, author: Author, now: datetime) -> Freeze:
    """Block publications of zones during the given times.

    Raise RightMissing if the author can't govern the zones, and RuleRefused for invalid values or if MOST freezes
    exist.
    """
    refuse_times(times, now)
    with transaction.atomic():
        begin(Freeze, scope, author)
        freeze = Freeze.objects.create(**columns_of_rule(scope, reason, author, now), **asdict(times))
        record("freeze.place", freeze, author, now, starts_at=f"{times.starts_at:%Y-%m-%dT%H:%M:%S%z}")
    return freeze


def lift_approval_rule(*, rule_id: int, author: Person, now: datetime) -> None:
    """Remove an approval rule. Changes no longer need its approval. Raise the errors of `lock_rule`."""
    lift(ApprovalRule, rule_id, "rule.lift", author, now)


def lift_freeze(*, freeze_id: int, author: Person, now: datetime) -> None:
    """Remove a freeze. Raise the errors of `lock_rule`."""
    lift(Freeze, freeze_id, "freeze.lift", author, now)


def approval_rules(person: Person) -> list[ApprovalRule]:
    """Return the approval rules that this user is allowed to remove. There are at most MOST."""
    rules = ApprovalRule.objects.select_related("zone", "team", "approver_team", "placed_by").prefetch_related("tokens")
    return [rule for rule in rules.order_by("-pk") if may_govern(person, scope_of(rule))]


def freezes(person: Person) -> list[Freeze]:
    """Return the freezes that this user is allowed to remove. There are at most MOST."""
    found = Freeze.objects.select_related("zone", "team", "placed_by").order_by("-pk")
    return [freeze for freeze in found if may_govern(person, scope_of(freeze))]


def freezes_known_to(person: Person) -> "QuerySet[Freeze]":
    """Select the freezes of all zones, and those that cover a zone which this user can see."""
    visible = access.zones_visible_to(person).order_by()
    tag = Func(OuterRef("tag"), template="ARRAY[%(expressions)s]", output_field=ArrayField(TextField()))
    known = Q(zone=None, tag="", team=None) | Q(zone__in=visible.values("pk")) | Q(team__in=visible.values("team"))
    return Freeze.objects.filter(known | (~Q(tag="") & Exists(visible.filter(tags__contains=tag)))).select_related(
        "zone", "team"
    )


def rule_with_id(rules: Iterable[AnyRule], pk: int) -> AnyRule:
    """Return the rule with this id from `rules`. Raise RuleUnknown if none has it."""
    for rule in rules:
        if rule.pk == pk:
            return rule
    raise RuleUnknown


def scope_of(rule: ZoneRule) -> Scope:
    """Return the rule's scope."""
    return Scope(rule.zone, rule.tag, rule.team)


def begin(model: type[ZoneRule], scope: Scope, author: Author, most: int = MOST) -> None:
    """Raise RightMissing if the author can't add this rule, or RuleRefused for a bad scope or if `most` rules exist."""
    require_scope(scope, author)
    if model._default_manager.count() >= most:
        raise RuleRefused(
            "reason",
            gettext("The limit of {most} has been reached. Delete an entry that you no longer need.").format(most=most),
        )


def require_scope(scope: Scope, author: Author) -> None:
    """Raise RuleRefused for an invalid scope, and RightMissing if the author isn't allowed to govern its zones."""
    if (scope.zone is not None) + bool(scope.tag) + (scope.team is not None) > 1:
        raise RuleRefused("zone", gettext("Choose only one: a zone, a tag or a team."))
    if author is not None and not may_govern(author, scope):
        raise RightMissing(Right.GOVERN, scope.zone.name if scope.zone else gettext("these zones"))


def columns_of_rule(scope: Scope, reason: str, author: Author, now: datetime) -> dict[str, Any]:
    """Return the columns that all kinds of rules have: scope, reason, author and time."""
    return {**columns_of_scope(scope, reason), "placed_by": user_of(author), "placed_at": now}


def columns_of_scope(scope: Scope, reason: str) -> dict[str, Any]:
    """Return the columns for the scope and the reason. Raise RuleRefused for an invalid reason."""
    return {"zone": scope.zone, "tag": scope.tag, "team": scope.team, "reason": _reason(reason)}


def lift(
    model: type[ApprovalRule] | type[Freeze] | type[PublishHook], id: int, action: str, author: Person, now: datetime
) -> None:
    """Remove the rule with this id. Raise the errors of `lock_rule`."""
    with transaction.atomic():
        found = lock_rule(model, id, author)
        record(action, found, actor_of(author), now)
        found.delete()


def lock_rule(model: type[AnyRule], id: int, author: Person) -> AnyRule:
    """Lock and return the rule with this id. Raise RuleUnknown if it doesn't exist or the author can't see it.

    Raise RightMissing if the author can read the zone but isn't allowed to govern it.
    """
    rows = model._default_manager.select_for_update(of=("self",)).select_related("zone", "team")
    found = first_or(rows.filter(pk=id), RuleUnknown)
    if not may_govern(author, scope_of(found)):
        if found.zone is not None and access.has_right(author, found.zone, Right.READ):
            raise RightMissing(Right.GOVERN, found.zone.name)
        raise RuleUnknown
    return found


def _refuse_terms(terms: ApprovalTerms) -> None:
    if not 0 <= terms.needed <= MOST_APPROVERS:
        raise RuleRefused(
            "needed",
            gettext("Enter a number of approvals from 0 to {most_approvers}.").format(most_approvers=MOST_APPROVERS),
        )
    if not terms.needed and not terms.ticket:
        raise RuleRefused("needed", gettext("Require an approval or a ticket."))
    if not 1 <= terms.min_changes <= MOST_CHANGES:
        raise RuleRefused(
            "min_changes", gettext("Enter a number from 1 to {most_changes:,}.").format(most_changes=MOST_CHANGES)
        )
    if terms.role and terms.role not in Role.values:
        raise RuleRefused("role", gettext("Role not found."))
    if len(terms.tokens) > MOST_TOKENS:
        raise RuleRefused(
            "tokens", gettext("Choose at most {most_tokens} exempt tokens.").format(most_tokens=MOST_TOKENS)
        )
    if terms.ticket and (fault := ticket_patterns.fault_of(terms.ticket)):
        raise RuleRefused("ticket", fault)
    link = terms.ticket_link
    if link and not (
        link.startswith(("https://", "http://"))
        and link.count("{ticket}") == 1
        and len(link) <= LONGEST_LINK
        and link.isprintable()
        and " " not in link
    ):
        raise RuleRefused("ticket_link", gettext("Enter a URL that starts with https:// and contains {ticket} once."))
    if link and not terms.ticket:
        raise RuleRefused("ticket_link", gettext("Enter a ticket pattern, for example OPS-#."))


def refuse_times(times: FreezeTimes, now: datetime) -> None:
    """Raise RuleRefused if a freeze can't have these times, this repeat rule or this time zone."""
    if times.ends_at <= times.starts_at:
        raise RuleRefused("ends_at", gettext("The end must be after the start."))
    if times.ends_at - times.starts_at > freeze_times.LONGEST:
        raise RuleRefused(
            "ends_at", gettext("A freeze can last at most {days} days.").format(days=freeze_times.LONGEST.days)
        )
    if not times.repeats and times.ends_at <= now:
        raise RuleRefused("ends_at", gettext("The end must be in the future."))
    if times.repeats and (fault := freeze_times.fault_of(times.repeats)):
        raise RuleRefused("repeats", fault)
    try:
        time_zone_named(times.time_zone)
    except UnknownTimeZone as exc:
        raise RuleRefused("time_zone", str(exc)) from exc


def _reason(text: str) -> str:
    reason = " ".join(text.split())
    if not reason or len(reason) > LONGEST_REASON:
        raise RuleRefused(
            "reason",
            gettext(
                "Enter a reason of at most {longest_reason} characters. It’s shown to people who are blocked."
            ).format(longest_reason=LONGEST_REASON),
        )
    return reason


def record(action: str, rule: ZoneRule, author: Author, now: datetime, **details: object) -> None:
    """Record an action on a rule in the audit log."""
    audit.record(action=action, by=author, now=now, target=rule.scope, reason=rule.reason, rule=rule.pk, **details)
