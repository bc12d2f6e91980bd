"""Update zones to match their policies, as a job: a dry run, then the real run in batches. Verbs.

The transaction that publishes a batch also writes the progress to the run's row. If a worker is killed, the run
therefore continues after the last published batch. A repeated step changes nothing.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from dnspanel.accounts.actors.actors import Author, Permission, Person, Right, actor_of
from dnspanel.advisory_locks import Lock
from dnspanel.database.first_rows import first_or
from dnspanel.texts import gettext, gettext_noop
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec.policy import Act, Difference, differences
from dnspanel.zones.dnssec.policy_queries import Applied, applied_to_zones, fingerprint, may_change_policies, zones_of
from dnspanel.zones.dnssec.queries import signing_of_zones
from dnspanel.zones.dnssec.rollover_queries import rolling_zones
from dnspanel.zones.dnssec.signing_state import SigningState
from dnspanel.zones.errors import Forbidden, RightMissing, RunRefused, RunUnknown, Unknown, transferred_reason
from dnspanel.zones.lists.queries import found_zones
from dnspanel.zones.log import panel_reasons
from dnspanel.zones.models import Channel, DnssecPolicy, PolicyRun, PolicyRunZone, Zone
from dnspanel.zones.rights import access
from dnspanel.zones.runs import run_turns
from dnspanel.zones.signals import run_begun
from dnspanel.zones.signing.first_ds import awaiting_first_ds
from dnspanel.zones.signing.policy_apply import Applying, BeginRollover, Findings, follow_policies

# Zones per publication. Larger publications delay other people's edits, because the log has one order.
BATCH = 500
# The number of listed zones per action. More rejected zones are listed, because they need a person's attention.
MOST_LISTED: Mapping[str, int] = {
    **dict.fromkeys(Act, 100),
    Act.REFUSED: 1000,
    Act.ROLLOVER: 1000,
    Act.SAME: 0,
}
_POLICIES_CHANGED = gettext_noop(
    "A policy, its tags or its teams have changed in the meantime. Published changes stay. Start a new dry run."
)


def may_begin_runs(person: Person) -> bool:
    """Return True if the person is allowed to sign at least one zone."""
    actor = actor_of(person)
    return actor is not None and actor.may_somewhere(Right.DNSSEC)


def require_signer(by: Author) -> None:
    """Raise Forbidden if the author isn't allowed to sign any zone."""
    if by is not None and not may_begin_runs(by):
        raise Forbidden(Permission.EDIT, gettext("Only people who are allowed to sign zones can apply policies."))


def create_run(
    *,
    by: Author,
    now: datetime,
    policy: DnssecPolicy | None = None,
    search: str = "",
    dry_run: bool = True,
    form_id: UUID | None = None,
) -> PolicyRun:
    """Create a run over the zones that the search finds. If `policy` is given, leave out zones without this policy.

    The run waits for a worker. Raise Forbidden if the author isn't allowed to sign any zone, and RunRefused if the
    author has several unfinished runs.
    """
    return _create(
        by, now, PolicyRun(policy=policy, search=search, dry_run=dry_run, fingerprint=fingerprint()), form_id
    )


def start_run(*, dry_run: PolicyRun, by: Author, now: datetime, form_id: UUID | None = None) -> PolicyRun:
    """Create the real run for a dry run. The new run waits for a worker.

    Raise RunRefused if the dry run did not end successfully, or if a policy has changed since then. Raise the errors of
    `create_run`.
    """
    run_turns.refuse_unless_done(dry_run)
    if dry_run.fingerprint != fingerprint():
        raise RunRefused(
            gettext("A policy, its tags or its teams have changed since this dry run. Start a new dry run.")
        )
    run = PolicyRun(
        policy=dry_run.policy, search=dry_run.search, dry_run=False, dry_run_of=dry_run, fingerprint=dry_run.fingerprint
    )
    return _create(by, now, run, form_id)


def _create(by: Author, now: datetime, run: PolicyRun, form_id: UUID | None) -> PolicyRun:
    require_signer(by)
    target = run.policy.name if run.policy else "all policies"
    return run_turns.begin(
        run, by=by, now=now, form_id=form_id, begun=run_begun, action="dnssec.policy_run", target=target
    )


def cancel_run(*, run: PolicyRun, by: Author, now: datetime) -> None:
    """Stop the run after the current batch. Published batches are not undone. Raise RunRefused if the run has ended."""
    run_turns.cancel(run, by=by, now=now, action="dnssec.policy_cancel")


def runs_visible_to(person: Person) -> "QuerySet[PolicyRun]":
    """Select the runs that the person can see, newest first.

    People who can change policies see all runs. Other people see their own runs. A token of such a person sees only the
    runs that it began.
    """
    actor = actor_of(person)
    sees_all = actor is not None and may_change_policies(actor)
    runs = PolicyRun.objects.order_by("-pk") if sees_all else run_turns.own_runs(PolicyRun, person)
    return runs.select_related("policy", "author")


def run_for(person: Person, run_id: int) -> PolicyRun:
    """Return the run with this id. Raise RunUnknown if it isn't visible to the person."""
    return first_or(runs_visible_to(person).filter(pk=run_id), RunUnknown)


def work_on_run(
    run_id: int,
    *,
    begin_rollover: BeginRollover | None = None,
    batch: int = BATCH,
    seconds: float = run_turns.TURN_SECONDS,
) -> bool:
    """Process batches of the run for one turn. Return True if the turn ended because its time was up."""
    return run_turns.work(
        PolicyRun.objects.select_related("author", "token", "policy"),
        run_id,
        lock=Lock.POLICY_RUN,
        take_batch=lambda run: _take_batch(run, batch, begin_rollover),
        seconds=seconds,
    )


def _zones_of_run(run: PolicyRun, author: Author) -> "QuerySet[Zone]":
    zones = Zone.objects.filter(deleted_at=None) if author is None else access.zones_visible_to(author)
    if run.policy is not None:
        zones = zones.filter(zones_of(run.policy))
    return found_zones(zones, run.search)


def _take_batch(run: PolicyRun, batch: int, begin_rollover: BeginRollover | None) -> bool:
    """Process the next zones, or end the run. Return True if more may follow. Raise RunRefused if a policy changed."""
    if run.fingerprint != fingerprint():
        raise RunRefused(gettext(_POLICIES_CHANGED))
    author = run_turns.author_of(run)
    return run_turns.take_zones(
        run,
        _zones_of_run(run, author),
        batch=batch,
        carry_out=lambda zones, now: _do(run, zones, author, begin_rollover, now),
        moved=(Unknown, RightMissing),  # a zone was deleted or moved to another team
        too_fast=gettext("The zones in this run are being deleted or moved to other teams too often. Try again later."),
    )


def _do(
    run: PolicyRun, zones: Sequence[Zone], author: Author, begin_rollover: BeginRollover | None, now: datetime
) -> None:
    applied = applied_to_zones(zones)
    found = _without_policy(zones, applied, author)
    rest = [zone for zone in zones if zone.pk not in found]
    if run.dry_run or not rest:
        states = signing_of_zones([zone.pk for zone in rest])
        rolling = rolling_zones([zone.pk for zone in rest])
        awaiting = awaiting_first_ds(rest, {pk: each.terms for pk, each in applied.items()})
        for zone in rest:
            state, is_rolling = states.get(zone.pk, SigningState()), zone.pk in rolling
            terms, awaits_ds = applied[zone.pk].terms, zone.pk in awaiting
            found[zone.pk] = differences(terms, state, is_rolling=is_rolling, awaits_ds=awaits_ds)
        with transaction.atomic(durable=True):
            _advance(run, zones, found)
        return
    reason = panel_reasons.POLICIES.format(number=run.pk)
    if run.policy:
        reason = panel_reasons.POLICY.format(name=run.policy.name, number=run.pk)
    acting = Acting(author, Channel.WEB if not run.by_token else Channel.API, now, reason)
    publications, _ = follow_policies(
        zones=rest,
        applied=applied,
        applying=Applying(acting, begin_rollover),
        in_transaction=lambda findings: _advance(run, zones, {**found, **findings}),
    )
    run_turns.note_publications(run, [publication.sequence for publication in publications])


def _without_policy(
    zones: Sequence[Zone], applied: Mapping[int, Applied], author: Author
) -> dict[int, Sequence[Difference]]:
    """Return findings, keyed by zone id: zones without a policy, transferred zones, zones that `author` can't sign."""
    found: dict[int, Sequence[Difference]] = {}
    for zone in zones:
        if zone.pk not in applied:
            found[zone.pk] = [Difference(Act.NO_POLICY, gettext("No policy applies to this zone."))]
        elif zone.transferred_from:
            found[zone.pk] = [Difference(Act.REFUSED, transferred_reason(zone.name, zone.transferred_from))]
        elif author is not None and not access.has_right(author, zone, Right.DNSSEC):
            found[zone.pk] = [Difference(Act.REFUSED, str(RightMissing(Right.DNSSEC, zone.name)))]
    return found


def _advance(run: PolicyRun, zones: Sequence[Zone], findings: Findings) -> None:
    """Store the outcomes and progress. Raise Stopped if the run was canceled or advanced by another worker."""
    noted = (
        (zone, difference.act, difference.message)
        for zone in zones
        for difference in findings[zone.pk] or [Difference(Act.SAME, "")]
    )
    listed = run_turns.advance(run, zones, noted, MOST_LISTED)
    rows = (PolicyRunZone(run=run, zone_name=zone.name, act=act, message=message) for zone, act, message in listed)
    PolicyRunZone.objects.bulk_create(rows)
