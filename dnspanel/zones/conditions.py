"""Compute alert conditions for publications, requests, hooks and zones from the panel's database."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Q

from dnspanel.conditions import NO_ZONES, Condition, NamedZones, Reading, Severity, Subject
from dnspanel.texts import duration_text, gettext, gettext_noop
from dnspanel.zones.governance.hook_health import troubled_hooks
from dnspanel.zones.models import LogHead, Publication, PublishHook, PublishRequest, RequestState, WhenSilent
from dnspanel.zones.signing.presigned import ENDS_SOON

# A reverted publication is reported for this time. The search covers this number of publications.
FAILED_FOR = timedelta(days=1)
FAILED_AMONG = 1_000
PAST_RULES_FOR = timedelta(days=1)
MOST_REQUESTS = 50
# How long a rollover can wait before an alert: for nodes and secondaries, for the parent's servers, and for a DS that
# someone must set.
NODES_FOR, PARENT_FOR, DS_FOR = timedelta(minutes=30), timedelta(hours=6), timedelta(days=3)
SIGNATURES_CRITICAL = timedelta(days=2)  # the first signature of a zone ends within this time, or has ended

KINDS = {
    "panel.held": gettext_noop("Publishing is on hold"),
    "panel.failed": gettext_noop("Publication was reverted"),
    "panel.past_rules": gettext_noop("Approval rules were bypassed"),
    "panel.planned": gettext_noop("Scheduled change wasn’t published"),
    "panel.hook": gettext_noop("Publish hook isn’t responding"),
    "panel.rollovers": gettext_noop("Key rollovers are stuck"),
    "panel.signatures": gettext_noop("Imported signatures are expiring"),
    "panel.expired": gettext_noop("Expired records weren’t deleted"),
}

ZONES = """
    SELECT zone_id, 'rollover' AS kind, waits_since AS since, NULL AS nodes FROM zones_rollover
    WHERE ended_at IS NULL AND (is_stuck
        OR (late <> '{}' OR late_secondaries <> '{}') AND waits_since <= %(late)s
        OR parent_silent <> '' AND waits_since <= %(silent)s
        OR (add_ds <> '{}' OR remove_ds <> '{}') AND waits_since <= %(told)s)
    UNION ALL
    SELECT zone_id, 'ending', signatures_end, NULL FROM zones_signing
    WHERE signatures_end IS NOT NULL AND signatures_end <= %(ending)s
    UNION ALL
    SELECT zone_id, 'expired', min(remove_at), NULL FROM zones_expiry
    WHERE remove_at <= %(now)s AND refusal <> '' GROUP BY zone_id
    UNION ALL
    SELECT zone_id, 'rollover', due_refused_at, NULL FROM zones_signing WHERE due_refused_at IS NOT NULL"""


@dataclass(frozen=True, slots=True)
class HookInputs:
    """A publish hook that hasn't responded since `since`. `refuses` is True if this blocks publications."""

    hook_id: int
    called: str
    scope: str
    since: datetime
    refuses: bool


@dataclass(frozen=True, slots=True)
class LogInputs:
    """The input for `log_conditions`: the state of the log, requests and hooks, and zones with problems."""

    head: LogHead | None = None
    hold_reason: str = ""
    failed: tuple[tuple[int, str, int | None], ...] = ()  # sequence, reason, the publication that reverted it
    requests: tuple[PublishRequest, ...] = ()  # that bypassed the rules, or were not published at their time
    hooks: tuple[HookInputs, ...] = ()
    rollovers: NamedZones = NO_ZONES  # zones whose rollover is stuck, waits too long or could not start
    ending: NamedZones = NO_ZONES  # zones whose imported signatures end soon, with that time
    expired: NamedZones = NO_ZONES  # zones with an RRset that should have been removed automatically, and since when


def read_log(now: datetime, reading: Reading) -> LogInputs:
    """Read the state of the log, requests, hooks and zones in four queries."""
    log = LogHead.objects.get()
    return LogInputs(
        head=log,
        hold_reason=log.held_reason,
        failed=_failed_publications(log.sequence, now),
        requests=_requests(now),
        hooks=tuple(map(_hook, troubled_hooks())),
        rollovers=reading.zones("rollover"),
        ending=reading.zones("ending"),
        expired=reading.zones("expired"),
    )


def log_conditions(inputs: LogInputs, now: datetime, is_open: Collection[str] = ()) -> Iterator[Condition]:
    """Yield alert conditions for publications, requests, hooks and zones."""
    yield from _of_publishing(inputs)
    yield from _of_hooks(inputs, now)
    yield from _of_signing(inputs, now)
    yield from _of_expiry(inputs, now)


def _of_publishing(inputs: LogInputs) -> Iterator[Condition]:
    if inputs.hold_reason:
        message = gettext("Publishing is on hold until someone decides: {reason}").format(reason=inputs.hold_reason)
        yield Condition("panel.held", "panel.held", Severity.CRITICAL, message)
    for sequence, reason, reverted_in in inputs.failed:
        # Nodes other than the canary never got a reverted publication, so no one has to act.
        severity = Severity.INFO if reverted_in else Severity.CRITICAL
        message = gettext("Publication {sequence:,} was reverted: {reason}").format(sequence=sequence, reason=reason)
        about = (f"publication:{sequence}",)
        yield Condition(f"panel.failed:{sequence}", "panel.failed", severity, message, about=about)
    for request in inputs.requests:
        kind = "panel.past_rules" if request.ended_at else "panel.planned"
        message = gettext("“{name}” wasn’t published at the scheduled time: {reason}").format(
            name=request.name, reason=request.refusal
        )
        if request.ended_at:
            message = gettext("{who} bypassed the approval rules: {reason}").format(
                who=request.ended_by.username if request.ended_by else gettext("Someone"), reason=request.reason
            )
        about = (f"request:{request.key}",)
        yield Condition(f"{kind}:{request.pk}", kind, Severity.WARNING, message, about=about)


def _of_hooks(inputs: LogInputs, now: datetime) -> Iterator[Condition]:
    for hook in inputs.hooks:
        severity = Severity.CRITICAL if hook.refuses else Severity.WARNING
        message = (
            gettext("The publish hook {hook} hasn’t responded for {time}. Publications for {scope} are refused.")
            if hook.refuses
            else gettext(
                "The publish hook {hook} hasn’t responded for {time}. Publications for {scope} continue without a "
                "response."
            )
        ).format(hook=hook.called, time=duration_text(now - hook.since), scope=hook.scope)
        about = (f"hook:{hook.hook_id}",)
        yield Condition(f"panel.hook:{hook.hook_id}", "panel.hook", severity, message, about=about)


def _of_signing(inputs: LogInputs, now: datetime) -> Iterator[Condition]:
    """Yield one condition for each kind of signing problem. Its message covers all affected zones."""
    if inputs.rollovers.count:
        message = gettext("{zones}: the key rollover is stuck and needs attention.").format(
            zones=inputs.rollovers.message(now)
        )
        about = inputs.rollovers.about
        yield Condition("panel.rollovers", "panel.rollovers", Severity.WARNING, message, about=about)
    if inputs.ending.count:
        is_critical = any(end - now <= SIGNATURES_CRITICAL for _, end in inputs.ending.first)
        severity = Severity.CRITICAL if is_critical else Severity.WARNING
        message = gettext(
            "{zones}: the imported signatures are about to expire. Import the zones with new signatures."
        ).format(zones=inputs.ending.message(now))
        yield Condition("panel.signatures", "panel.signatures", severity, message, about=inputs.ending.about)


def _of_expiry(inputs: LogInputs, now: datetime) -> Iterator[Condition]:
    if inputs.expired.count:
        message = gettext("{zones}: a record has expired but couldn’t be deleted. Its row shows the reason.").format(
            zones=inputs.expired.message(now)
        )
        about = inputs.expired.about
        yield Condition("panel.expired", "panel.expired", Severity.WARNING, message, about=about)


def _failed_publications(head: int, now: datetime) -> tuple[tuple[int, str, int | None], ...]:
    recent = Publication.objects.filter(sequence__gt=head - FAILED_AMONG, at__gte=now - FAILED_FOR)
    failed = recent.exclude(failed_reason="").order_by("sequence")
    return tuple(failed.values_list("sequence", "failed_reason", "taken_back_in"))


def _requests(now: datetime) -> tuple[PublishRequest, ...]:
    """Return requests that recently bypassed rules, and open requests whose publication was attempted and rejected."""
    past = Q(state=RequestState.PAST_RULES, ended_at__gte=now - PAST_RULES_FOR)
    late = Q(state=RequestState.OPEN, draft__isnull=False, tried_at__isnull=False) & ~Q(refusal="")
    return tuple(PublishRequest.objects.filter(past | late).select_related("ended_by").order_by("pk")[:MOST_REQUESTS])


def _hook(hook: PublishHook) -> HookInputs:
    assert hook.failing_since is not None
    return HookInputs(hook.pk, hook.display_name, hook.scope, hook.failing_since, hook.when_silent == WhenSilent.REFUSE)


def _times(now: datetime) -> dict[str, datetime]:
    return {
        "late": now - NODES_FOR,
        "silent": now - PARENT_FOR,
        "told": now - DS_FOR,
        "ending": now + ENDS_SOON,
        "now": now,
    }


SUBJECT = Subject(LogInputs, KINDS, read_log, log_conditions, ZONES, _times)
