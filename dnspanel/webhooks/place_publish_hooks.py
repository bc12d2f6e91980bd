"""Add, change, test and remove publish hooks, and rotate their secrets. Authors must govern the hooks' zones. Verbs.

A change creates a new version of the hook, so that earlier answers no longer count.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from django.db import transaction
from django.db.models import Q

from dnspanel.accounts.actors.actors import Author, Person, actor_of
from dnspanel.accounts.secrets.vault import encrypt_secret
from dnspanel.field_faults import address_refused
from dnspanel.texts import gettext
from dnspanel.webhooks.address_guard import Resolve, checked_addresses, parse_target
from dnspanel.webhooks.ask_hooks import ask_hooks
from dnspanel.webhooks.errors import AddressRefused, NoAnswer
from dnspanel.webhooks.hooks import OVERLAP
from dnspanel.webhooks.sign_events import new_secret
from dnspanel.zones.errors import RuleRefused
from dnspanel.zones.governance import publish_rules
from dnspanel.zones.governance.hook_health import Reply, note_replies
from dnspanel.zones.governance.hook_questions import HookAnswer, example_question
from dnspanel.zones.governance.publish_rules import Scope, may_govern, scope_of
from dnspanel.zones.models import HookReply, PublishHook, WhenSilent

MOST = 20  # in the whole panel, because a publication queries all its hooks at once, each in its own thread
LEAST_SECONDS, MOST_SECONDS = 1, 10
LONGEST_NAME = 40
# A hook gets an example request after this time without requests. A silent hook gets one sooner.
QUIET_FOR, SILENT_FOR = timedelta(minutes=5), timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class HookTerms:
    """A publish hook's settings: its name, URL and time limit, and whether to publish if the hook doesn't answer."""

    url: str
    seconds: int = 5
    when_silent: str = WhenSilent.REFUSE
    name: str = ""


@dataclass(frozen=True, slots=True)
class NewHook:
    """A publish hook, and its new secret for signing requests and responses. The secret is shown only once."""

    hook: PublishHook
    secret: str


def add_hook(
    *, scope: Scope, terms: HookTerms, reason: str, author: Author, now: datetime, resolve: Resolve | None = None
) -> NewHook:
    """Add a hook. From now on, the hook must permit each publication of its zones.

    Raise RightMissing if the author can't govern the zones, and RuleRefused for invalid terms or more than MOST hooks.
    """
    columns = _columns_of_terms(terms, resolve)
    secret = new_secret()
    with transaction.atomic():
        publish_rules.begin(PublishHook, scope, author, MOST)
        hook = PublishHook.objects.create(
            **publish_rules.columns_of_rule(scope, reason, author, now),
            **columns,
            secret=encrypt_secret(secret.encode()),
        )
        publish_rules.record("hook.place", hook, author, now, **_columns_for_audit(columns))
    return NewHook(hook, secret)


def change_hook(  # noqa: PLR0913  # the fields of a hook
    *,
    hook: PublishHook,
    scope: Scope,
    terms: HookTerms,
    reason: str,
    author: Person,
    now: datetime,
    resolve: Resolve | None = None,
) -> PublishHook:
    """Change the hook, forget its failures, and return it. The secret doesn't change.

    The change takes effect with the next request. Raise RuleUnknown if the hook doesn't exist. Raise RightMissing if
    the author can't govern the hook's zones or the new ones. Raise RuleRefused if the terms are invalid or the hook has
    changed since `hook` was read.
    """
    columns = _columns_of_terms(terms, resolve, before=hook)
    with transaction.atomic():
        found = publish_rules.lock_rule(PublishHook, hook.pk, author)
        publish_rules.require_scope(scope, actor_of(author))
        if found.version != hook.version:
            raise RuleRefused("", gettext("Someone else has changed this hook. Reload the page and try again."))
        columns |= publish_rules.columns_of_scope(scope, reason)
        before = {name: getattr(found, name) for name in columns}
        changed = [name for name, value in columns.items() if before[name] != value]
        if not changed:
            return found
        scope_before = found.scope
        for name in changed:
            setattr(found, name, columns[name])
        # A changed hook can work again, so it starts without failures.
        found.version, found.failing_since, found.failures, found.error = hook.version + 1, None, 0, ""
        found.questioned_at = None
        found.save()
        of_its_own = {name for name in changed if name in HookTerms.__dataclass_fields__}
        publish_rules.record(
            "hook.change",
            found,
            actor_of(author),
            now,
            scope_before=scope_before,
            changed=sorted(changed),
            before=_columns_for_audit({name: before[name] for name in of_its_own}),
            after=_columns_for_audit({name: columns[name] for name in of_its_own}),
        )
    return found


def rotate_secret(*, hook_id: int, author: Person, now: datetime) -> NewHook:
    """Set a new secret. For a day, requests are signed with both secrets, and responses can be signed with either one.

    Raise RuleUnknown if the hook doesn't exist, or RightMissing if the author can't govern its zones.
    """
    secret = new_secret()
    with transaction.atomic():
        found = publish_rules.lock_rule(PublishHook, hook_id, author)
        found.old_secret, found.old_secret_until = found.secret, now + OVERLAP
        found.secret = encrypt_secret(secret.encode())
        found.save(update_fields=["secret", "old_secret", "old_secret_until"])
        publish_rules.record("hook.rotate", found, actor_of(author), now)
    return NewHook(found, secret)


def try_hook(*, hook_id: int, author: Person, clock: Callable[[], datetime]) -> HookAnswer:
    """Send an example request that is marked as a test, record the hook's health, and return the answer.

    Raise RuleUnknown if the hook doesn't exist, or RightMissing if the author can't govern its zones.
    """
    with transaction.atomic(durable=True):
        found = publish_rules.lock_rule(PublishHook, hook_id, author)
    question = example_question(found, actor_of(author))
    (answer,) = ask_hooks(questions=[question])
    now = clock()
    note_replies([Reply(question, answer)], now=now, is_test=True)
    publish_rules.record("hook.test", found, actor_of(author), now, answer=answer.word, told=answer.reason)
    return answer


def ask_quiet_hooks(*, clock: Callable[[], datetime]) -> int:
    """Send an example request to each hook that wasn't queried recently or didn't answer. Return the number of hooks.

    The alert about a failing hook is therefore raised before someone publishes, and ends when the hook answers again.
    """
    now = clock()
    quiet = Q(questioned_at=None) | Q(questioned_at__lte=now - QUIET_FOR)
    silent = Q(failing_since__isnull=False, questioned_at__lte=now - SILENT_FOR)
    questions = [example_question(hook, None) for hook in PublishHook.objects.filter(quiet | silent).order_by("pk")]
    if questions:
        answers = ask_hooks(questions=questions)
        replies = [Reply(*each) for each in zip(questions, answers, strict=True)]
        note_replies(replies, now=clock(), is_test=True, is_listed=False)
    return len(questions)


def lift_hook(*, hook_id: int, author: Person, now: datetime) -> None:
    """Remove the hook. Raise the errors of `publish_rules.lift`."""
    publish_rules.lift(PublishHook, hook_id, "hook.lift", author, now)


def hooks(person: Person) -> list[PublishHook]:
    """Return the publish hooks that this user is allowed to remove."""
    found = PublishHook.objects.select_related("zone", "team", "placed_by").order_by("-pk")
    return [hook for hook in found if may_govern(person, scope_of(hook))]


def hook_for(person: Person, hook_id: int) -> PublishHook:
    """Return the hook with this id. Raise RuleUnknown if the user has no access to it."""
    return publish_rules.rule_with_id(hooks(person), hook_id)


def replies_of(hook: PublishHook) -> list[HookReply]:
    """Return the hook's recent answers, newest first. `hook_health` limits their number."""
    return list(HookReply.objects.filter(hook=hook).order_by("-pk"))


def _columns_of_terms(terms: HookTerms, resolve: Resolve | None, before: PublishHook | None = None) -> dict[str, Any]:
    """Return the database columns for these terms, or raise RuleRefused. An unchanged URL isn't resolved again."""
    name = " ".join(terms.name.split())
    if len(name) > LONGEST_NAME or not name.isprintable():
        raise RuleRefused(
            "name", gettext("Use at most {longest_name} printable characters.").format(longest_name=LONGEST_NAME)
        )
    if not LEAST_SECONDS <= terms.seconds <= MOST_SECONDS:
        raise RuleRefused(
            "seconds",
            gettext("Enter {least_seconds} to {most_seconds} seconds.").format(
                least_seconds=LEAST_SECONDS, most_seconds=MOST_SECONDS
            ),
        )
    if terms.when_silent not in WhenSilent.values:
        raise RuleRefused("when_silent", gettext("Choose refuse or pass."))
    try:
        if before is None or terms.url != before.url:
            checked_addresses(parse_target(terms.url), resolve=resolve)
    except (AddressRefused, NoAnswer) as exc:
        raise RuleRefused("url", address_refused(exc)) from exc
    return {"name": name, "url": terms.url, "seconds": terms.seconds, "when_silent": str(terms.when_silent)}


def _columns_for_audit(columns: dict[str, Any]) -> dict[str, Any]:
    """Return the values for the audit log, with the URL reduced to its host, because the path can be a password."""
    return {
        "host" if name == "url" else name: urlsplit(value).hostname or "" if name == "url" else value
        for name, value in columns.items()
    }
