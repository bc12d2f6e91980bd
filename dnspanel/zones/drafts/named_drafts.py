"""Save, resume and share named drafts, and check access to them. Verbs.

A draft is either open in an editor (its `author` writes edits into it) or saved. A named draft belongs to its owner,
even while another person has it open. Only one person at a time works in it. Functions that move drafts first lock them
in the order of their ids, and then read them.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import Count, Exists, Min, OuterRef, Q, QuerySet

from dnspanel.accounts.actors.actors import Permission, Right, actor_of
from dnspanel.accounts.audit import audit
from dnspanel.accounts.models import Team, User
from dnspanel.accounts.rights.known_people import people_known_to, teams_known_to
from dnspanel.database.first_rows import first_or
from dnspanel.texts import gettext, gettext_noop, ngettext
from dnspanel.zones.drafts.draft import Drafter, open_draft, person
from dnspanel.zones.errors import DraftRefused, DraftUnknown
from dnspanel.zones.models import Draft, DraftShare, Operation, PublishRequest, RequestState, Zone
from dnspanel.zones.plan import zone_quotas
from dnspanel.zones.rights import access
from replication.dns import rdata

LONGEST_NAME = 80
MOST_SHARES = 50  # of one draft
RECEIVER_UNKNOWN = gettext_noop("Person or team not found.")


@dataclass(frozen=True, slots=True)
class NamedDraft:
    """A named draft as seen by one person. Counts cover only zones that this person can see."""

    draft: Draft
    is_own: bool
    may_edit: bool  # open it, publish it
    changes: int = 0
    zones: int = 0
    first_zone: str = ""

    @property
    def is_aside(self) -> bool:
        """True if the draft isn't open in any editor."""
        return self.draft.author_id is None


def named_draft_page(reader: Drafter, *, before: int | None = None, limit: int = 50) -> list[NamedDraft]:
    """Return the reader's named drafts and the drafts shared with the reader or their teams, newest first.

    `before` is the id of the last draft on the previous page. Drafts shared only by link aren't listed.
    """
    user = person(reader)
    found = _visible_drafts(user).select_related("owner", "author").prefetch_related("shares").order_by("-pk")
    drafts = list(found.filter(pk__lt=before)[:limit] if before is not None else found[:limit])
    counts = _counts(reader, drafts)
    teams = set(user.memberships.values_list("team", flat=True)) if drafts else set()
    return [_named_draft_of(draft, reader, teams, counts.get(draft.pk)) for draft in drafts]


def named_draft(reader: Drafter, key: UUID) -> NamedDraft:
    """Return the named draft with this key. Raise DraftUnknown if the reader isn't allowed to see it.

    The owner, the person who works in the draft, and recipients of a share can see it. If link access is allowed or the
    draft waits for approval, everyone who can see one of the draft's zones can read it too.
    """
    user = person(reader)
    related = Draft.objects.select_related("owner", "author", "request").prefetch_related(
        "shares__user", "shares__team"
    )
    draft = first_or(related.filter(key=key).exclude(name=""), DraftUnknown)
    counted = _counts(reader, [draft]).get(draft.pk)
    is_open = draft.is_by_link or request_of(draft) is not None
    if not _visible_drafts(user).filter(pk=draft.pk).exists() and not (is_open and counted):
        raise DraftUnknown
    return _named_draft_of(draft, reader, set(user.memberships.values_list("team", flat=True)), counted)


def request_of(draft: Draft) -> PublishRequest | None:
    """Return the draft's open publish request, or None if it has none."""
    found: PublishRequest | None = getattr(draft, "request", None)
    return found if found is not None and found.is_open else None


def draft_in_hand(author: Drafter) -> Draft | None:
    """Return the draft, named or not, that is open in the author's editor, or None if none is open."""
    return Draft.objects.select_related("owner").filter(author=person(author)).first()


def put_aside(
    *,
    author: Drafter,
    name: str,
    now: datetime,
    zones: Collection[Zone] | None = None,
    in_transaction: Callable[[Draft], object] = lambda made: None,
) -> Draft:
    """Move the changes in the author's draft (all, or those in `zones`) to a new saved draft with this name.

    A token moves only changes that it can see. `in_transaction` is called in the same transaction. Raise DraftRefused
    if the name is invalid or taken, or if there is nothing to move. Raise QuotaExceeded if the author has too many
    drafts, and Forbidden if the author isn't allowed to edit.
    """
    access.require(author, Permission.EDIT)
    with moving():
        current = open_draft(author, now)
        chosen = _seen_by(author, Operation.objects.filter(draft=current))
        if zones is not None:
            chosen = chosen.filter(zone__in=[zone.pk for zone in zones])
        if not chosen.exists():
            raise DraftRefused(gettext("Your draft doesn’t have changes to save."))
        made = _aside(author, chosen, name, now, before=current)
        in_transaction(made)
        return made


def set_down(*, by: Drafter, named: NamedDraft, now: datetime, in_transaction: Callable[[Draft], object]) -> Draft:
    """Close the draft in its editor and return it. `in_transaction` is called in the same transaction.

    Raise the errors of `locked_to_publish`, and DraftRefused if the draft is empty.
    """
    with moving():
        draft = locked_to_publish(by, named)[0]
        if not Operation.objects.filter(draft=draft).exists():
            raise DraftRefused(gettext("This draft doesn’t have any changes."))
        if draft.author_id is not None:
            draft.author = None
            draft.save(update_fields=["author"])
        in_transaction(draft)
        return draft


def put_back(*, by: Drafter, named: NamedDraft, now: datetime) -> None:
    """Close a named draft, and delete it if it is empty. If no editor has the draft open, do nothing.

    Raise DraftUnknown if the draft was deleted, or if `by` isn't its owner and doesn't have it open.
    """
    with moving():
        draft = _lock_draft(named.draft)
        if person(by).pk not in (draft.author_id, draft.owner_id):
            raise DraftUnknown
        if draft.author_id is not None:
            record_act("draft.put-back", by, now, draft)
            _release(draft)


def take_up(*, author: Drafter, named: NamedDraft, now: datetime, aside: str = "", merge: bool = False) -> None:
    """Open the draft in the author's editor. The author's current draft isn't lost.

    If the current draft has a name, it is closed. If it has no name, it is saved under the name `aside`, or merged into
    the opened draft if `merge` is true. Raise DraftRefused if the current draft has changes and neither is given, or if
    both drafts change the same RRset. Also raise DraftRefused if another person works in the draft to open, or if the
    author isn't allowed to see all of its changes. Raise DraftUnknown if the draft was deleted, and Forbidden if the
    author isn't allowed to edit it.
    """
    user = person(author)
    with moving():
        locked = Draft.objects.select_for_update(no_key=True).filter(Q(pk=named.draft.pk) | Q(author=user))
        by_id = {draft.pk: draft for draft in locked.order_by("pk")}
        draft = by_id.pop(named.draft.pk, None)
        if draft is None or not draft.name:
            raise DraftUnknown
        _refuse_to_edit(author, named)
        if draft.author_id == user.pk:
            return
        _refuse_while_in_hand(draft, user)
        if not _sees_all(author, draft):
            raise DraftRefused(
                gettext(
                    "This draft has changes that you aren’t allowed to see. Only someone who can see all changes can "
                    "resume it."
                )
            )
        for current in by_id.values():
            if current.name:
                _release(current)
            else:
                _clear(author, current, draft, now, aside, merge=merge)
        Draft.objects.filter(pk=draft.pk).update(
            author=user, changed_at=now, worked_in=sorted({*draft.worked_in, user.pk})
        )
        record_act("draft.take-up", author, now, draft)


def rename(*, by: Drafter, named: NamedDraft, name: str, now: datetime) -> None:
    """Rename a named draft. Raise DraftRefused for an invalid or taken name, DraftUnknown if `by` isn't the owner."""
    with moving():
        draft = _lock_draft(named.draft, owner=by)
        before, draft.name = draft.name, clean_name(name)
        if before != draft.name:
            draft.save(update_fields=["name"])
            record_act("draft.rename", by, now, draft, before=before)


def discard_named(*, by: Drafter, named: NamedDraft, now: datetime) -> int:
    """Delete a draft, withdraw its request and return the number of changes. Raise DraftUnknown for non-owners."""
    with moving():
        draft = _lock_draft(named.draft, owner=by)
        lost = Operation.objects.filter(draft=draft).count()
        PublishRequest.objects.filter(draft=draft, state=RequestState.OPEN).update(
            state=RequestState.WITHDRAWN, ended_at=now, ended_by=person(by), draft=None
        )
        record_act("draft.discard", by, now, draft, changes=lost)
        draft.delete()
        return lost


def share(*, by: Drafter, named: NamedDraft, to: User | Team, may_edit: bool, now: datetime) -> None:
    """Share a named draft with a person or team, or change an existing share. With `may_edit`, they can also edit it.

    Recipients see changes only to zones that they can see. Close the draft for an editor who loses the right to edit
    it. Raise DraftRefused if there would be more than MOST_SHARES shares, or if the owner isn't allowed to share with
    the recipient. Raise DraftUnknown if `by` isn't the owner.
    """
    receiver = {"team": to} if isinstance(to, Team) else {"user": to}
    with moving():
        draft = _lock_draft(named.draft, owner=by)
        if to == person(by):
            raise DraftRefused(gettext("You already own this draft."))
        known = teams_known_to(by) if isinstance(to, Team) else people_known_to(by)
        if not known.filter(pk=to.pk).exists():
            raise DraftRefused(gettext(RECEIVER_UNKNOWN))
        shares = DraftShare.objects.filter(draft=draft)
        if shares.exclude(**receiver).count() >= MOST_SHARES:
            raise DraftRefused(
                gettext("A draft can be shared with at most {most_shares} people and teams.").format(
                    most_shares=MOST_SHARES
                )
            )
        DraftShare.objects.update_or_create(draft=draft, **receiver, defaults={"may_edit": may_edit})
        _put_back_if_not_allowed(draft)
        record_act("draft.share", by, now, draft, **_receiver(to), may_edit=may_edit)


def unshare(*, by: Drafter, named: NamedDraft, share_id: int, now: datetime) -> None:
    """Delete a share. Close the draft for an editor who loses access. Raise DraftUnknown if `by` isn't the owner."""
    with moving():
        draft = _lock_draft(named.draft, owner=by)
        found = DraftShare.objects.select_related("user", "team").filter(draft=draft, pk=share_id).first()
        if found is not None and (to := found.team or found.user) is not None:
            found.delete()
            _put_back_if_not_allowed(draft)
            record_act("draft.unshare", by, now, draft, **_receiver(to))


def open_by_link(*, by: Drafter, named: NamedDraft, is_open: bool, now: datetime) -> None:
    """Allow or forbid link access for people who see a zone of the draft. Raise DraftUnknown for non-owners."""
    with moving():
        draft = _lock_draft(named.draft, owner=by)
        if draft.is_by_link != is_open:
            Draft.objects.filter(pk=draft.pk).update(is_by_link=is_open)
            record_act("draft.link", by, now, draft, open=is_open)


def locked_to_publish(author: Drafter, named: NamedDraft) -> tuple[Draft, QuerySet[Operation]]:
    """Lock the draft. Return it with the operations that the author sees.

    Raise DraftUnknown for a deleted draft, DraftRefused if another person works in it, and Forbidden for readers.
    """
    _refuse_to_edit(author, named)
    draft = _lock_draft(named.draft)
    _refuse_while_in_hand(draft, person(author))
    return draft, operations_seen(author, draft)


def drafts_of(user: User) -> QuerySet[Draft]:
    """Select the user's drafts with changes: named drafts that they own, and the unnamed draft open in their editor."""
    own = Draft.objects.filter(Q(owner=user, discarded_at=None) | Q(author=user, owner=None))
    return own.filter(Exists(Operation.objects.filter(draft=OuterRef("pk")))).order_by("pk")


def give_drafts(*, person: User, to: User, ids: Collection[int], now: datetime) -> list[str]:
    """Close the person's drafts with these ids, transfer them to `to`, and return their names.

    Must be called in a transaction. A draft that another person has open stays open. An unnamed draft is named after
    its former owner. If `to` already uses a draft's name, the former owner's name is appended. Raise DraftRefused if
    this name is taken too, or if `to` is a service account.
    """
    if not ids:
        return []
    if to.is_service:
        raise DraftRefused(gettext("A service account can’t have drafts. Transfer them to a person."))
    taken = set(Draft.objects.filter(owner=to).values_list("name", flat=True))
    names = []
    for draft in drafts_of(person).select_for_update(no_key=True, of=("self",)).filter(pk__in=ids):
        name = draft.name or f"Draft of {person.username}"[:LONGEST_NAME]
        if name in taken:
            name = f"{name[: LONGEST_NAME - 36]} of {person.username[:32]}"
        if name in taken:
            raise DraftRefused(
                gettext("{username} already has a draft “{name}”.").format(username=to.username, name=name)
            )
        author = None if draft.author_id == person.pk else draft.author_id
        Draft.objects.filter(pk=draft.pk).update(owner=to, name=name, author=author, changed_at=now)
        DraftShare.objects.filter(draft=draft, user=to).delete()
        taken.add(name)
        names.append(name)
    return names


def operations_seen(reader: Drafter, draft: Draft) -> QuerySet[Operation]:
    """Select the draft's operations in zones that the reader can see. A token must also be able to see the RRset."""
    return _seen_by(reader, Operation.objects.filter(draft=draft)).filter(zone__in=access.zones_visible_to(reader))


def refuse_requested(draft: Draft) -> None:
    """Raise DraftRefused if the draft waits for approval, because it can only be published through its request."""
    if draft.name and PublishRequest.objects.filter(draft=draft, state=RequestState.OPEN).exists():
        raise DraftRefused(gettext("This draft is waiting for approval. Withdraw the request before you change it."))


def forget_if_empty(draft: Draft) -> None:
    """Delete a named draft if it contains no operations. The draft must be locked."""
    if draft.name and not Operation.objects.filter(draft=draft).exists():
        draft.delete()


def _visible_drafts(user: User) -> QuerySet[Draft]:
    shared = DraftShare.objects.filter(Q(user=user) | Q(team__memberships__user=user)).values("draft")
    return Draft.objects.exclude(name="").filter(Q(owner=user) | Q(author=user) | Q(pk__in=shared))


def _counts(reader: Drafter, drafts: Collection[Draft]) -> dict[int, Mapping[str, Any]]:
    """Count each draft's changes and zones, in zones that the reader can see."""
    seen = _seen_by(reader, Operation.objects.filter(draft__in=[draft.pk for draft in drafts]))
    counted = seen.filter(zone__in=access.zones_visible_to(reader)).values("draft_id")
    rows = counted.annotate(changes=Count("pk"), zones=Count("zone", distinct=True), first_zone=Min("zone__name"))
    return {row["draft_id"]: row for row in rows.order_by()} if drafts else {}


def _named_draft_of(draft: Draft, reader: Drafter, teams: set[int], counts: Mapping[str, Any] | None) -> NamedDraft:
    user = person(reader)
    shares = [share for share in draft.shares.all() if share.user_id == user.pk or share.team_id in teams]
    is_own = draft.owner_id == user.pk
    may_edit = is_own or draft.author_id == user.pk or any(share.may_edit for share in shares)
    found = {name: value for name, value in (counts or {}).items() if name != "draft_id"}
    return NamedDraft(draft, is_own, may_edit and access.may_edit(reader), **found)


def _seen_by(reader: Drafter, operations: QuerySet[Operation]) -> QuerySet[Operation]:
    """Select the operations that the reader can see. A token can see only operations within its scope."""
    actor = actor_of(reader)
    if actor is None or actor.scope is None:
        return operations
    visible = operations.filter(zone__in=access.zones_within_reach(reader, Right.READ)).select_related("zone")
    limits = {zone: access.visibility_of(reader, zone) for zone in {operation.zone for operation in visible}}
    if not any(limits.values()):
        return operations.filter(zone__in=limits)
    seen = [o.pk for o in visible if (limit := limits[o.zone]) is None or limit(o.name, o.type)]
    return operations.filter(pk__in=seen)


def _sees_all(author: Drafter, draft: Draft) -> bool:
    operations = Operation.objects.filter(draft=draft)
    if operations.exclude(zone__in=access.zones_within_reach(author, Right.READ)).exists():
        return False
    return _seen_by(author, operations).count() == operations.count()


def _refuse_to_edit(author: Drafter, named: NamedDraft) -> None:
    access.require(author, Permission.EDIT)
    if not named.may_edit:
        raise access.Forbidden(Permission.EDIT, gettext("You can only view this draft."))


def _refuse_while_in_hand(draft: Draft, user: User) -> None:
    if draft.author_id not in (None, user.pk):
        raise DraftRefused(
            gettext("{username} is working on this draft.").format(
                username=User.objects.get(pk=draft.author_id).username
            )
        )


@contextmanager
def moving() -> Iterator[None]:
    """Open a transaction. Raise DraftRefused if a draft's name is taken, or if the author just opened another draft."""
    try:
        with transaction.atomic(durable=True):
            yield
    except IntegrityError as exc:
        if "draft_name_unique" in str(exc):
            raise DraftRefused(gettext("You already have a draft with this name.")) from exc
        raise DraftRefused(gettext("Your draft was changed in another window in the meantime. Try again.")) from exc


def _lock_draft(draft: Draft, *, owner: Drafter | None = None) -> Draft:
    found = Draft.objects.select_for_update(no_key=True).filter(pk=draft.pk).exclude(name="").first()
    if found is None or (owner is not None and found.owner_id != person(owner).pk):
        raise DraftUnknown
    return found


def _aside(author: Drafter, operations: QuerySet[Operation], name: str, now: datetime, *, before: Draft) -> Draft:
    """Move operations from the draft `before` to a new draft with this name. Return the new draft."""
    zone_quotas.refuse_named_draft(author)
    made = Draft.objects.create(
        owner=person(author),
        name=clean_name(name),
        changed_at=now,
        worked_in=sorted({*before.worked_in, person(author).pk, *filter(None, [before.owner_id])}),
    )
    changes = operations.update(draft=made)
    record_act("draft.put-aside", author, now, made, changes=changes)
    return made


def _clear(author: Drafter, current: Draft, draft: Draft, now: datetime, aside: str, *, merge: bool) -> None:
    """Save or merge the draft `current`, then delete it. Raise DraftRefused if it has changes and no target is set."""
    operations = Operation.objects.filter(draft=current)
    if merge:
        merge_into(author, operations, draft)
    elif aside:
        if operations.exists():
            _aside(author, operations, aside, now, before=current)
    elif (changes := operations.count()) > 0:
        raise DraftRefused(
            ngettext(
                "Your current draft has {changes:,} change. Enter a name to save it, or merge the two drafts.",
                "Your current draft has {changes:,} changes. Enter a name to save it, or merge the two drafts.",
                changes,
            ).format(changes=changes)
        )
    current.delete()


def merge_into(author: Drafter, operations: QuerySet[Operation], draft: Draft) -> None:
    """Move operations to the draft, and record in it the people who worked on them.

    Raise DraftRefused if both drafts change the same RRset, and QuotaExceeded if the draft would be too large.
    """
    there = Operation.objects.filter(draft=draft)
    places = set(there.values_list("zone", "name", "type"))
    mine = list(operations.values_list("zone", "name", "type"))
    if clash := next((place for place in mine if place in places), None):
        _, name, type_ = clash
        what = f"{rdata.type_to_text(type_)} {name}"
        raise DraftRefused(
            gettext("Both drafts change {what}. Publish, discard or save one of them first.").format(what=what)
        )
    zone_quotas.refuse_operations(author, used=len(places), added=len(mine))
    both = Draft.objects.filter(Q(pk=draft.pk) | Q(pk__in=operations.values("draft")))
    draft.worked_in = sorted(set().union(*both.values_list("worked_in", flat=True)))
    Draft.objects.filter(pk=draft.pk).update(worked_in=draft.worked_in)
    operations.update(draft=draft)


def _release(draft: Draft) -> None:
    """Close the draft in its editor, or delete it if it is empty."""
    if Operation.objects.filter(draft=draft).exists():
        Draft.objects.filter(pk=draft.pk).update(author=None)
    else:
        draft.delete()


def _put_back_if_not_allowed(draft: Draft) -> None:
    """Close the draft if the person who works in it is no longer allowed to edit it."""
    if draft.author_id in (None, draft.owner_id):
        return
    allowed = Q(user=draft.author_id) | Q(team__memberships__user=draft.author_id)
    if not DraftShare.objects.filter(allowed, draft=draft, may_edit=True).exists():
        Draft.objects.filter(pk=draft.pk).update(author=None)


def clean_name(name: str) -> str:
    """Normalize a name's spaces. Raise DraftRefused if the name is empty, too long or not printable."""
    text = " ".join(name.split())
    if not text:
        raise DraftRefused(gettext("Enter a name for the saved draft."))
    if len(text) > LONGEST_NAME or not text.isprintable():
        raise DraftRefused(
            gettext("Use a name of at most {longest_name} printable characters.").format(longest_name=LONGEST_NAME)
        )
    return text


def _receiver(to: User | Team) -> dict[str, str]:
    return {"team": to.name} if isinstance(to, Team) else {"person": to.username}


def record_act(action: str, by: Drafter, now: datetime, draft: Draft, **details: Any) -> None:
    audit.record(action=action, by=by, now=now, target=draft.name, draft=str(draft.key), **details)
