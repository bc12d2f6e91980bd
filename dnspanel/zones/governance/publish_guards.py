"""Check publications against approval rules, freezes and publish hooks. Verbs.

`sequence_log.append_publication` calls this module. The check is fast if no rule covers the zones. A new or restored
zone takes names from its closest parent zone in this panel. Therefore the parent's rules and locks apply too. A
publication with a `SystemRight` can bypass rules (see the table in docs/architecture/rules.md).
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q, QuerySet, Value

from dnspanel.accounts.actors.actors import Author, Right, SystemRight, is_below, passes_rules, token_of, user_of
from dnspanel.accounts.audit import audit
from dnspanel.accounts.models import Membership, Role, User
from dnspanel.texts import gettext
from dnspanel.zones.acting import Acting
from dnspanel.zones.errors import ApprovalNeeded, Attempt, Frozen, KeptBack, Locked, RightMissing
from dnspanel.zones.governance import freeze_times, publish_hooks, ticket_patterns
from dnspanel.zones.governance.parts import REPLACE, TAKE, TAKE_DELEGATED, Part, types_changed
from dnspanel.zones.models import (
    ApprovalRule,
    Freeze,
    Publication,
    PublishHook,
    PublishRequest,
    RequestState,
    RevisionKind,
    Zone,
    ZoneRule,
)
from dnspanel.zones.names import nesting
from dnspanel.zones.rights import access
from dnspanel.zones.rights.lock_rules import lock_against_taking, refuse_locked
from dnspanel.zones.store import store_rrsets
from replication.dns import rdtypes
from replication.dns.names import before_full_stop

# These can't be approved. A person who governs the zone must remove or bypass the rule.
_ONLY_LIFTED = (RevisionKind.DELETE, REPLACE, TAKE, TAKE_DELEGATED)
_DELEGATION = Counter({rdtypes.NS: 1})


@dataclass(frozen=True, slots=True)
class Passage:
    """A publication's approvers. `past_rules` is True if the author bypasses rules that block it.

    The approvers (user ids) approved exactly these changes. `request` is the published request's id.
    """

    approvers: frozenset[int] = frozenset()
    past_rules: bool = False
    request: int | None = None


NO_PASSAGE = Passage()


@dataclass(frozen=True, slots=True)
class Passed:
    """The result of a passed check: errors that the author bypasses (`refusals`), and the hooks' `answers`.

    `hooks` has the ids of all hooks that cover the zones, and `over` the closest parent zones of zones that go live.
    """

    refusals: tuple[str, ...] = ()
    hooks: frozenset[int] = frozenset()
    answers: tuple[publish_hooks.Given, ...] = ()
    over: frozenset[int] = frozenset()


NOTHING_PASSED = Passed()


@dataclass(frozen=True, slots=True)
class Rules:
    """The approval rules, freezes and publish hooks that cover some zones.

    The object is false if it has no approval rules and no freezes, even if it has hooks. `is_planned` is True if one of
    the `planned` requests passed to `rules_about` exists.
    """

    approval: tuple[ApprovalRule, ...] = ()
    freezes: tuple[Freeze, ...] = ()
    hooks: tuple[PublishHook, ...] = ()
    is_planned: bool = False

    def of(self, zone: Zone) -> "Rules":
        """Return the rules that cover this zone."""
        return Rules(
            tuple(rule for rule in self.approval if rule.covers(zone)),
            tuple(freeze for freeze in self.freezes if freeze.covers(zone)),
            tuple(hook for hook in self.hooks if hook.covers(zone)),
        )

    def __bool__(self) -> bool:
        return bool(self.approval or self.freezes)

    @property
    def each(self) -> tuple[ZoneRule, ...]:
        return (*self.approval, *self.freezes, *self.hooks)


NO_RULES = Rules()

# Kinds of revisions that make a zone live, now or after its transfer.
COMING = frozenset({RevisionKind.CREATE, RevisionKind.AWAIT, RevisionKind.RESTORE})


def rules_about(zones: Collection[Zone], *, planned: QuerySet[PublishRequest] | None = None) -> Rules:
    """Return the rules that cover some of the zones. `is_planned` is True if `planned` selects a request.

    Makes no query if there are no zones, one if no rules exist, and otherwise at most five.
    """
    return _rules(about(zones), planned) if zones else Rules()


def every_rule() -> Rules:
    """Return all rules, for callers with many zones. Makes one query if no rules exist, otherwise at most five."""
    return _rules(Q())


def _rules(which: Q, planned: QuerySet[PublishRequest] | None = None) -> Rules:
    rules, freezes = ApprovalRule.objects.filter(which), Freeze.objects.filter(which)
    hooks = PublishHook.objects.filter(which)
    looked_for = (rules, freezes, hooks, *(() if planned is None else (planned,)))
    kinds = [each.order_by().values_list(Value(number)) for number, each in enumerate(looked_for)]
    present = {number for (number,) in kinds[0].union(*kinds[1:])}
    rules = rules.select_related("zone", "team", "approver_team").prefetch_related("tokens").order_by("pk")
    return Rules(
        tuple(rules) if 0 in present else (),
        tuple(freezes.select_related("zone", "team").order_by("pk")) if 1 in present else (),
        tuple(hooks.select_related("zone", "team").order_by("pk")) if 2 in present else (),
        is_planned=3 in present,
    )


def freezes_now(rules: Rules, now: datetime) -> list[tuple[Freeze, datetime]]:
    """Return the freezes that are in force now, with the end of each."""
    found = ((freeze, freeze_times.frozen_until(freeze, now)) for freeze in rules.freezes)
    return [(freeze, until) for freeze, until in found if until is not None]


def about(zones: Iterable[Zone]) -> Q:
    """Return the condition for rules, freezes and hooks that cover at least one of the zones."""
    of_all = list(zones)
    teams = {zone.team_id for zone in of_all if zone.team_id is not None}
    tags = {tag for zone in of_all for tag in zone.tags}
    everywhere = Q(zone=None, team=None, tag="")
    return everywhere | Q(zone__in=[zone.pk for zone in of_all]) | Q(team__in=teams) | Q(tag__in=tags)


def refuse(parts: Sequence[Part], *, acting: Acting, passage: Passage) -> Passed:
    """Check a publication against the rules. Return the errors that the author bypasses, and the hooks' answers.

    Raise ApprovalNeeded or Frozen if a rule blocks the publication, and HookRefused if a hook does. Raise HookUnasked
    if a hook wasn't called with exactly these changes. To bypass rules, an author needs the right GOVERN over each zone
    (otherwise RightMissing is raised) and a reason (otherwise ApprovalNeeded). Hooks can't be bypassed. For a zone that
    goes live, the rules and locks (Locked) of the closest parent zone also apply.
    """
    zones = Zone.objects.in_bulk([part.zone_id for part in parts])
    over = _zones_over([zones[part.zone_id] for part in parts if part.kind in COMING])
    rules = rules_about([*zones.values(), *over.values()])
    people = _people(passage.approvers)
    passed = []
    for part in parts:
        zone = zones[part.zone_id]
        found: list[tuple[Zone, KeptBack | Locked]] = [
            (zone, each)
            for each in refusals(rules.of(zone), zone, part, acting.author, acting.reason, people, acting.now)
        ]
        if (above := over.get(zone.pk)) is not None:
            found += [
                (above, each) for each in _refusals_over(rules, above, zone, acting.author, acting.reason, acting.now)
            ]
        for governed, refusal in found:
            if isinstance(refusal, Locked):
                raise refusal
            refusal.attempt = Attempt(acting.author, acting.channel, acting.reason, acting.now)
            if not passage.past_rules:
                raise refusal
            access.require_right(acting.author, governed, Right.GOVERN)
            if not acting.reason.strip():
                raise ApprovalNeeded(
                    governed.name,
                    gettext("Enter a reason to bypass the rules for {name}.").format(
                        name=before_full_stop(governed.name)
                    ),
                )
            passed.append(str(refusal))
    given = publish_hooks.refuse(rules.hooks, zones, parts, over=over, acting=acting)
    ids = frozenset(zone.pk for zone in over.values())
    return Passed(tuple(passed), frozenset(hook.pk for hook in rules.hooks), tuple(given), ids)


def reasons_over(
    zones_coming: Iterable[Zone], *, author: Author, reason: str, now: datetime, own: Collection[int] = ()
) -> dict[str, str]:
    """Return {zone name: reason} for the zones that the author can't create or restore below existing zones.

    The reasons are locks and rules of the closest parent zone. Hooks aren't called. New zones have no id yet. `own`
    contains the ids of other zones in the same action, which don't block it.
    """
    coming = {zone.name: zone for zone in zones_coming}
    above = nesting.zones_above(list(coming)) if coming else {}
    others = {each.id for each in above.values()} - {*own, *(zone.pk for zone in coming.values())}
    zones = Zone.objects.in_bulk(others) if above else {}
    rules = rules_about(zones.values())
    found: dict[str, str] = {}
    for name, each in above.items():
        if (zone := zones.get(each.id)) is None:
            continue
        refusal = next(_refusals_over(rules, zone, coming[name], author, reason, now), None)
        if refusal is not None:
            found[name] = str(refusal)
    return found


def _zones_over(coming: Collection[Zone]) -> dict[int, Zone]:
    """Return the zones' closest parent zones, keyed by zone id. Parents in the same publication are omitted."""
    above = nesting.zones_above([zone.name for zone in coming]) if coming else {}
    found = Zone.objects.in_bulk({each.id for each in above.values()} - {zone.pk for zone in coming}) if above else {}
    return {zone.pk: found[each.id] for zone in coming if (each := above.get(zone.name)) and each.id in found}


def _refusals_over(
    rules: Rules, above: Zone, zone: Zone, author: Author, reason: str, now: datetime
) -> Iterator[KeptBack | Locked]:
    """Yield an error for each lock and rule of the parent zone that blocks the new zone, locks first."""
    if lock := lock_against_taking(author, above, zone.name):
        yield Locked(above.name, lock)
    of_above = rules.of(above)
    kind = TAKE_DELEGATED if of_above.approval and _is_delegated(zone, above) else TAKE
    yield from refusals(of_above, above, Part(above.pk, kind, ()), author, reason, (), now)


def _is_delegated(zone: Zone, above: Zone) -> bool:
    """Return True if the parent zone delegates the zone to exactly the name servers in the zone's own NS records.

    Such a delegation was published under the parent zone's rules. Other servers would need an approval.
    """
    if zone.pk is None:
        return False
    wanted = {above.pk: (above.name, {zone.name}), zone.pk: (zone.name, {zone.name})}
    found = store_rrsets.rrsets_at_names(wanted)
    delegation, servers = (found[pk].get((zone.name, rdtypes.NS)) for pk in (above.pk, zone.pk))
    if delegation is None or servers is None or not delegation.served:
        return False
    return set(delegation.folded.served) == set(servers.folded.served)


def refuse_act(zone: Zone, kind: str, *, acting: Acting, past_rules: bool) -> Passed:
    """Check all rules for an action of this kind on a whole zone. The zone must be locked in the database.

    Raise the errors of `refuse`, and Locked if a lock in the zone blocks the author. The caller opens a durable
    transaction within `publish_hooks.after_hooks`, and calls `record_act` in it.
    """
    refuse_locked(acting.author, zone, None)
    passage = Passage(past_rules=past_rules)
    return refuse([Part(zone.pk, kind, ())], acting=acting, passage=passage)


def record_act(passed: Passed, zone: Zone, *, author: Author, reason: str, now: datetime) -> None:
    """Record the hooks' answers, and the bypassed rules in the audit log and in the list of requests."""
    if passed.refusals:
        _list_past_rules(author, reason, [zone.pk], now)
        _audit_past_rules(author, reason, before_full_stop(zone.name), passed.refusals, now)
    publish_hooks.record_answers(passed.answers, target=before_full_stop(zone.name), author=author, now=now)


def refused_zones(
    zones: Collection[Zone],
    parts: Mapping[int, Part],
    *,
    author: Author,
    reason: str,
    now: datetime,
    under: SystemRight | None = None,
) -> set[int]:
    """Return the ids of zones to skip, because rules prevent the change and `under` doesn't bypass the rules."""
    if passes_rules(under):
        return set()
    return set(reasons_against(zones, parts, author=author, reason=reason, now=now))


def reasons_against(
    zones: Collection[Zone], parts: Mapping[int, Part], *, author: Author, reason: str, now: datetime
) -> dict[int, str]:
    """Return {zone id: reason} for the zones where rules don't allow the author's changes in `parts`."""
    rules = rules_about(zones)
    if not rules:
        return {}
    first = {
        zone.pk: next(refusals(rules.of(zone), zone, parts[zone.pk], author, reason, (), now), None) for zone in zones
    }
    return {pk: str(refusal) for pk, refusal in first.items() if refusal is not None}


def refusals(  # noqa: PLR0913  # a change, and who asks for it with whom
    rules: Rules, zone: Zone, part: Part, author: Author, reason: str, approvers: Sequence["Approver"], now: datetime
) -> Iterator[ApprovalNeeded | Frozen]:
    """Yield the errors for each freeze and approval rule that blocks this change to a zone, freezes first.

    A new zone and a change of only the serial are never blocked, and a restored zone only by freezes. A rule doesn't
    block its exempt tokens.
    """
    types = types_changed(part.changes)
    if part.kind in (RevisionKind.CREATE, RevisionKind.AWAIT) or (part.kind == RevisionKind.CHANGE and not types):
        return
    yield from _freezes_of(rules, zone, now)
    if part.kind == RevisionKind.RESTORE:
        return
    token = token_of(author)
    for rule in rules.approval:
        if part.kind == RevisionKind.CHANGE and not is_concerned(rule, types):
            continue
        if token is not None and token.pk in {each.pk for each in rule.tokens.all()}:
            continue
        if rule.ticket and not ticket_patterns.ticket_in(reason, rule.ticket):
            yield ApprovalNeeded(
                zone.name,
                gettext("Changes to {zone} need a ticket such as {ticket} in the reason: {reason}").format(
                    zone=_without_dot(zone), ticket=rule.ticket, reason=_with_stop(rule.reason)
                ),
            )
        given = approvals_given(rule, approvers)
        if part.kind == TAKE_DELEGATED and is_concerned(rule, _DELEGATION):
            continue
        if rule.needed and (given < rule.needed or part.kind in _ONLY_LIFTED):
            yield ApprovalNeeded(zone.name, _asks(rule, zone, part.kind))


def _freezes_of(rules: Rules, zone: Zone, now: datetime) -> Iterator[Frozen]:
    for freeze in rules.freezes:
        if until := freeze_times.frozen_until(freeze, now):
            yield Frozen(
                zone.name,
                gettext("{zone} is frozen until {until}: {reason}").format(
                    zone=_without_dot(zone), until=_utc(until), reason=_with_stop(freeze.reason)
                ),
            )


def refuse_escape(rules: Rules, author: Author, zone: Zone, tags: Collection[str], team_id: int | None) -> None:
    """Raise RightMissing if a rule would no longer cover the zone with these tags and this team.

    Authors with the right GOVERN over the zone are allowed to do this.
    """
    after = Zone(pk=zone.pk, tags=list(tags), team_id=team_id)
    of_zone = rules.of(zone)
    if any(not rule.covers(after) for rule in (*of_zone.approval, *of_zone.freezes, *of_zone.hooks)):
        if author is None:
            raise RightMissing(Right.GOVERN, zone.name)
        access.require_right(author, zone, Right.GOVERN)


def is_concerned(rule: ApprovalRule, types: Counter[int]) -> bool:
    """Return True if the rule applies to a change. `types` contains the number of changed RRsets of each type."""
    return types.total() >= max(1, rule.min_changes) and (not rule.types or any(type in types for type in rule.types))


@dataclass(frozen=True, slots=True)
class Approver:
    """A person who approves, with the person's teams. Rules use both to decide whether the approval counts."""

    user: User
    teams: frozenset[int]

    def may_approve(self, rule: ApprovalRule) -> bool:
        """Return True if this rule accepts this person's approval."""
        if not self.user.is_active:
            return False
        if rule.approver_team_id is not None and rule.approver_team_id in self.teams:
            return True
        least = rule.approver_role or ("" if rule.approver_team_id is not None else Role.ADMINISTRATOR)
        return bool(least) and not is_below(self.user.role, least)


def approvals_given(rule: ApprovalRule, approvers: Iterable[Approver]) -> int:
    """Count the people whose approval the rule accepts. Several accounts of one person count once."""
    return len({each.user.human_id for each in approvers if each.may_approve(rule)})


def approver(user: User) -> Approver:
    """Return this user as an approver, with one query."""
    return Approver(user, frozenset(Membership.objects.filter(user=user).values_list("team", flat=True)))


def approvers_text(rule: ApprovalRule) -> str:
    """Describe the possible approvers, for pages and messages."""
    who = [gettext("members of {name}").format(name=rule.approver_team.name)] if rule.approver_team is not None else []
    role = rule.approver_role or ("" if who else str(Role.ADMINISTRATOR))
    if role:
        who.append(
            gettext("administrators")
            if role == Role.ADMINISTRATOR
            else gettext("{label}s and above").format(label=Role(role).label.lower())
        )
    return who[0] if len(who) == 1 else gettext("{first} or {last}").format(first=who[0], last=who[1])


def record_passage(
    passage: Passage, publication: Publication, zone_ids: Sequence[int], passed: Sequence[str], author: Author
) -> None:
    """Set the final state of the passage's request. Record bypassed rules in the audit log.

    Without a request, bypassed rules are also added to the list of requests.
    """
    state = RequestState.PAST_RULES if passed else RequestState.PUBLISHED
    by = publication.author
    if passage.request is not None:
        PublishRequest.objects.filter(pk=passage.request).update(
            state=state, publication=publication.sequence, ended_at=publication.at, ended_by=by, draft=None, refusal=""
        )
    elif passed:
        _list_past_rules(author, publication.reason, zone_ids, publication.at, publication)
    if passed:
        target = gettext("publication {sequence}").format(sequence=publication.sequence)
        _audit_past_rules(by, publication.reason, target, passed, publication.at)


def _list_past_rules(
    author: Author, reason: str, zone_ids: Sequence[int], now: datetime, publication: Publication | None = None
) -> None:
    """Add an action that bypassed rules to the list of requests. `publication` is None if nothing was published."""
    by, token = user_of(author), token_of(author)
    PublishRequest.objects.create(
        name=reason[:80],
        author=by,
        token=token,
        by_token=token is not None,
        asked_at=now,
        reason=reason,
        zone_ids=list(zone_ids),
        state=RequestState.PAST_RULES,
        ended_at=now,
        ended_by=by,
        publication=publication,
    )


def _audit_past_rules(author: Author, reason: str, target: str, passed: Sequence[str], now: datetime) -> None:
    rules = list(passed)[:20]
    audit.record(action="publication.past-rules", by=author, now=now, target=target, reason=reason, rules=rules)


def _people(ids: Collection[int]) -> list[Approver]:
    if not ids:
        return []
    people = User.objects.filter(pk__in=ids).prefetch_related("memberships")
    return [Approver(user, frozenset(each.team_id for each in user.memberships.all())) for user in people]


def _asks(rule: ZoneRule, zone: Zone, kind: str) -> str:
    assert isinstance(rule, ApprovalRule)
    name = _without_dot(zone)
    if kind == RevisionKind.DELETE:
        return gettext(
            "{name} cannot be deleted while its changes need approval: {reason} Someone with the govern "
            "permission must delete the approval rule first."
        ).format(name=name, reason=_with_stop(rule.reason))
    if kind in (TAKE, TAKE_DELEGATED):
        return gettext(
            "Subdomains of {name} can’t become separate zones while changes need approval: {reason} Add the "
            "new zone’s NS records to a draft for {name} and request approval. After the draft is published, "
            "create the zone with the same name servers."
        ).format(name=name, reason=_with_stop(rule.reason))
    if kind == REPLACE:
        return gettext(
            "{name} cannot get another primary while its changes need approval: {reason} Ask someone with the "
            "govern permission to delete or bypass the rule."
        ).format(name=name, reason=_with_stop(rule.reason))
    people = "1 person" if rule.needed == 1 else gettext("{needed} people").format(needed=rule.needed)
    return gettext(
        "Changes to {name} need approval from {people} ({rule}): {reason} Add the changes to a draft and "
        "request approval on the review page or with POST /api/v2/requests."
    ).format(name=name, people=people, rule=approvers_text(rule), reason=_with_stop(rule.reason))


def _without_dot(zone: Zone) -> str:
    return before_full_stop(zone.name)


def _with_stop(text: str) -> str:
    return f"{text.rstrip('.')}."


def _utc(at: datetime) -> str:
    return gettext("{at:%Y-%m-%d %H:%M} UTC").format(at=at)
