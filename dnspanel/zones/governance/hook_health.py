"""Store the health of publish hooks and each hook's newest replies. Verbs."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Coalesce

from dnspanel.zones.governance.hook_questions import HookAnswer, Question
from dnspanel.zones.models import HookReply, PublishHook

KEPT = 50  # replies of each hook
# A hook that was silent once may have been restarted. From this number of failures on, it is reported.
TROUBLE_FROM = 2


@dataclass(frozen=True, slots=True)
class Reply:
    question: Question
    answer: HookAnswer

    @property
    def hook(self) -> PublishHook:
        """The state of the hook when the question was sent."""
        return self.question.hook


@dataclass(frozen=True, slots=True)
class Summary:
    """The counts of a hook's recent replies by kind, and the median response time in milliseconds.

    `median_ms` is None if the hook gave no valid answer.
    """

    yes: int
    no: int
    silent: int
    median_ms: float | None

    @property
    def total(self) -> int:
        return self.yes + self.no + self.silent


def summary_of(replies: Sequence[HookReply]) -> Summary:
    """Count the replies by kind, and compute the median response time of all replies except silent ones."""
    words = Counter(reply.word for reply in replies)
    times = [reply.ms for reply in replies if reply.word != HookReply.Word.SILENT]
    return Summary(words["yes"], words["no"], words["silent"], median(times) if times else None)


def note_replies(replies: Sequence[Reply], *, now: datetime, is_test: bool = False, is_listed: bool = True) -> None:
    """Update each hook's health. If `is_listed` is True, also store each hook's newest replies.

    A reply doesn't count if the hook was changed or removed after the question was sent. Don't call this function
    within another transaction, because other hooks would wait for that transaction.
    """
    with transaction.atomic(durable=True):
        rows = PublishHook.objects.select_for_update(no_key=True).filter(pk__in={each.hook.pk for each in replies})
        versions = dict(rows.order_by("pk").values_list("pk", "version"))
        counting = [each for each in replies if versions.get(each.hook.pk) == each.hook.version]
        for each in counting:
            mine = PublishHook.objects.filter(pk=each.hook.pk)
            answer = each.answer
            if answer.allow is None:
                since = Coalesce("failing_since", now)
                error = answer.fault or answer.reason
                mine.update(questioned_at=now, failures=F("failures") + 1, failing_since=since, error=error)
            else:
                mine.update(questioned_at=now, ms=answer.ms, failures=0, failing_since=None, error="")
        if is_listed:
            HookReply.objects.bulk_create(_row(each, now, is_test=is_test) for each in counting)
            for each in counting:
                _forget_older(each.hook)


def troubled_hooks() -> list[PublishHook]:
    """Return hooks that failed to answer at least TROUBLE_FROM times in a row, blocking hooks first."""
    found = PublishHook.objects.filter(failures__gte=TROUBLE_FROM).select_related("zone", "team")
    return list(found.order_by("-when_silent", "pk"))


def _row(reply: Reply, now: datetime, *, is_test: bool) -> HookReply:
    answer = reply.answer
    return HookReply(
        hook=reply.hook,
        at=now,
        word=answer.word,
        reason=answer.fault or answer.reason,
        ticket=answer.ticket,
        ms=answer.ms,
        zones=len(reply.question.zones),
        is_test=is_test,
    )


def _forget_older(hook: PublishHook) -> None:
    mine = HookReply.objects.filter(hook=hook)
    for newest_to_go in mine.order_by("-pk").values_list("pk", flat=True)[KEPT : KEPT + 1]:
        mine.filter(pk__lte=newest_to_go).delete()
