"""Call publish hooks with exactly the changes that a transaction will publish. Verbs.

`refuse` runs in that transaction. It raises HookUnasked with the questions if a hook hasn't answered about exactly
these changes. After the rollback, `after_hooks` sends the questions and runs the transaction again. If the zones have
changed in between, the digest differs, and the hook is called again. Answers are kept until the action ends.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from functools import wraps
from types import MappingProxyType
from typing import Any, ParamSpec, TypeVar

from dnspanel import rehearsal
from dnspanel.accounts.actors.actors import Author, actor_form_of
from dnspanel.accounts.audit import audit
from dnspanel.texts import gettext
from dnspanel.zones.acting import Acting
from dnspanel.zones.errors import Attempt, HookRefused, HookUnasked, KeptBack, PublishedInPart, ZoneError
from dnspanel.zones.governance.hook_health import Reply, note_replies
from dnspanel.zones.governance.hook_questions import HookAnswer, Publisher, creation, question_of
from dnspanel.zones.governance.parts import Part, types_changed
from dnspanel.zones.models import Channel, PublishHook, RevisionKind, WhenSilent, Zone
from dnspanel.zones.signals import hooks_questioned
from dnspanel.zones.store.store_rrsets import rrsets_of_zones

MOST_ROUNDS = 3  # rounds of questions for one publication while others change the same zones

P = ParamSpec("P")
R = TypeVar("R")
_NO_ZONES: Mapping[int, Zone] = MappingProxyType({})
Answers = dict[tuple[int, int, str], HookAnswer]  # by the hook's id and version, and the digest of the question

_answers: ContextVar[Answers | None] = ContextVar("hook_answers", default=None)


@dataclass(frozen=True, slots=True)
class Given:
    hook: PublishHook
    answer: HookAnswer


def after_hooks(act: Callable[P, R]) -> Callable[P, R]:
    """Decorate an action that has a durable transaction. Hooks are called between attempts.

    If no hook must be called, the action runs once. It must be safe to run again after a rollback. HookRefused is
    raised if a hook rejects the change, or if the zones change again during each of MOST_ROUNDS rounds of questions. A
    rejection by an approval rule or a freeze is recorded in the audit log after the outermost action is rolled back.
    """

    @wraps(act)
    def act_after_hooks(*args: P.args, **kwargs: P.kwargs) -> R:
        with _refusals_told(), _kept_answers() as answers:
            for _ in range(MOST_ROUNDS):
                try:
                    return act(*args, **kwargs)
                except HookUnasked as exc:
                    _ask(exc, answers)
            try:
                return act(*args, **kwargs)
            except HookUnasked as exc:
                moved = gettext(
                    "Other people changed the same records while the panel was waiting for the publish hook. Try again."
                )
                raise HookRefused(exc.zones, moved) from exc

    return act_after_hooks


def refuse(
    hooks: Sequence[PublishHook],
    zones: Mapping[int, Zone],
    parts: Sequence[Part],
    *,
    over: Mapping[int, Zone] = _NO_ZONES,
    acting: Acting,
) -> list[Given]:
    """Return the hooks' answers about exactly these parts of a publication.

    Hooks that cover a zone in `over` are called with the new zone below it. Raise HookRefused if a hook rejects the
    change, or if it gave no answer and its settings treat this as a rejection. Raise HookUnasked if a hook wasn't
    called yet. A rehearsal calls no hooks, because a hook could mistake the rehearsal for the real action.
    """
    publisher = Publisher(actor_form_of(acting.author), acting.channel, acting.reason)
    known, given, unanswered = _answers.get() or {}, [], []

    def is_about(hook: PublishHook, zone_id: int) -> bool:
        return hook.covers(zones[zone_id]) or (zone_id in over and hook.covers(over[zone_id]))

    full = _with_content(hooks, parts, is_about)
    for hook in hooks:
        about = [(zones[part.zone_id], part) for part in full if is_about(hook, part.zone_id)]
        if not about:
            continue
        question = question_of(hook, about, publisher)
        answer = known.get((hook.pk, hook.version, question.digest))
        if answer is None:
            unanswered.append(question)
        elif answer.allow is False or (answer.allow is None and hook.when_silent == WhenSilent.REFUSE):
            raise HookRefused(question.zones, _refusal(hook, answer))
        else:
            given.append(Given(hook, answer))
    if unanswered and not rehearsal.under_way():
        raise HookUnasked(unanswered, acting.author, acting.now)
    return given


def record_answers(given: Sequence[Given], *, target: str, author: Author, now: datetime) -> None:
    """Record the hooks' answers about an action in the audit log, in the action's transaction."""
    if given:
        audit.record(
            action="publication.hooks",
            by=author,
            now=now,
            target=target,
            hooks=[_answer_columns(each.hook, each.answer) for each in given],
        )


@contextmanager
def _refusals_told() -> Iterator[None]:
    """Record a rejection by a rule in the audit log when the outermost action ends.

    Rejections of the panel's own actions aren't recorded, because the panel retries.
    """
    is_outermost = _answers.get() is None
    try:
        yield
    except ZoneError as exc:
        refusal = exc.__cause__ if isinstance(exc, PublishedInPart) else exc
        if is_outermost and isinstance(refusal, KeptBack) and refusal.attempt is not None:
            _record_refusal(refusal, refusal.attempt)
        raise


def _record_refusal(refusal: KeptBack, attempt: Attempt) -> None:
    if attempt.channel == Channel.SYSTEM:
        return
    details = {"refusal": str(refusal), "channel": attempt.channel, "reason": attempt.reason}
    audit.record(action="publication.refused", by=attempt.author, now=attempt.at, target=refusal.zone_name, **details)


@contextmanager
def _kept_answers() -> Iterator[Answers]:
    """Yield the answers of the surrounding action, or an empty dict for the outermost one."""
    known = _answers.get()
    if known is not None:
        yield known
        return
    found: Answers = {}
    reset = _answers.set(found)
    try:
        yield found
    finally:
        _answers.reset(reset)


def _ask(exc: HookUnasked, answers: Answers) -> None:
    """Call the hooks outside of transactions. Note their replies, add them to `answers`, and audit all except yes."""
    if not exc.questions:
        return
    sent: list[tuple[Any, Any]] = hooks_questioned.send(sender=PublishHook, questions=exc.questions)
    found: list[HookAnswer] = sent[0][1]
    note_replies([Reply(*each) for each in zip(exc.questions, found, strict=True)], now=exc.now)
    for question, answer in zip(exc.questions, found, strict=True):
        answers[question.hook.pk, question.hook.version, question.digest] = answer
        if answer.allow is not True:
            audit.record(
                action="hook.no" if answer.allow is False else "hook.silent",
                by=exc.author,
                now=exc.now,
                target=", ".join(list(question.zones.values())[:5]),
                zones=len(question.zones),
                digest=question.digest,
                **_answer_columns(question.hook, answer),
            )


def _with_content(
    hooks: Sequence[PublishHook], parts: Sequence[Part], is_about: Callable[[PublishHook, int], bool]
) -> list[Part]:
    """Return the parts without serial-only changes. For new zones that a hook covers, the changes are all RRsets."""
    kept = [part for part in parts if part.kind != RevisionKind.CHANGE or types_changed(part.changes)]
    created = {part.zone_id for part in kept if part.kind == RevisionKind.CREATE}
    covered = [pk for pk in created if any(is_about(hook, pk) for hook in hooks)]
    content = rrsets_of_zones(covered) if covered else {}
    return [
        Part(part.zone_id, part.kind, creation(content[part.zone_id].values())) if part.zone_id in content else part
        for part in kept
    ]


def _refusal(hook: PublishHook, answer: HookAnswer) -> str:
    if answer.allow is None:
        return gettext("The publish hook {hook} ({about}) didn’t respond: {reason}").format(
            hook=hook.display_name, about=hook.reason.rstrip("."), reason=answer.reason
        )
    message = (
        gettext("The publish hook {hook} rejected the change: {reason} ({ticket})")
        if answer.ticket
        else gettext("The publish hook {hook} rejected the change: {reason}")
    )
    return message.format(hook=hook.display_name, reason=answer.reason or hook.reason, ticket=answer.ticket)


def _answer_columns(hook: PublishHook, answer: HookAnswer) -> dict[str, Any]:
    return {"hook": hook.pk, "answer": answer.word, "reason": answer.reason, "ticket": answer.ticket}
