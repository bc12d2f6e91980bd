"""Save changes as a new draft, without the author's current draft. Verbs."""

from collections.abc import Callable, Sequence
from datetime import datetime

from dnspanel.accounts.actors.actors import Permission
from dnspanel.zones.drafts.draft import Drafter, ZoneChanges, add_operations, person
from dnspanel.zones.drafts.named_drafts import clean_name, moving, record_act
from dnspanel.zones.models import Draft
from dnspanel.zones.plan import zone_quotas
from dnspanel.zones.rights import access


def save_changes(
    *,
    author: Drafter,
    name: str,
    zones: Sequence[ZoneChanges],
    now: datetime,
    in_transaction: Callable[[Draft], object],
) -> Draft:
    """Create a saved draft with these changes. The author's current draft stays unchanged.

    `in_transaction` is called in the same transaction. Raise Forbidden, DraftRefused or QuotaExceeded as
    `named_drafts.put_aside`, and Unknown or RightMissing as `draft.draft_changes`.
    """
    access.require(author, Permission.EDIT)
    with moving():
        zone_quotas.refuse_named_draft(author)
        user = person(author)
        made = Draft.objects.create(owner=user, name=clean_name(name), changed_at=now, worked_in=[user.pk])
        add_operations(author, made, zones, now)
        record_act("draft.put-aside", author, now, made, changes=sum(len(each.changes) for each in zones))
        in_transaction(made)
        return made
