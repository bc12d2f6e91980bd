"""Build the template context that a named draft's page adds to the review: its shares, and the user's current draft."""

from django.urls import reverse

from dnspanel.accounts.models import User
from dnspanel.accounts.rights.known_people import people_known_to, teams_known_to
from dnspanel.web.frame.layout import PanelRequest
from dnspanel.web.frame.read_once import draft_counts_of
from dnspanel.zones.drafts.named_drafts import LONGEST_NAME, NamedDraft, draft_in_hand

MOST_OFFERED = 100  # suggested people, and the same number of teams


def named_draft_context(request: PanelRequest, named: NamedDraft) -> dict[str, object]:
    """Return the template context with a named draft's shares and the person's current draft."""
    return {
        "shares": list(named.draft.shares.select_related("user", "team").order_by("pk")) if named.is_own else [],
        "receivers": _receivers(request.user) if named.is_own else [],
        "others_work": named.draft.author_id not in (None, request.user.pk),
        "in_hand": draft_in_hand(request.user),
        "changes_in_hand": sum(count.total for count in draft_counts_of(request)),
        "longest_name": LONGEST_NAME,
        "address": request.build_absolute_uri(reverse("draft-detail", args=[named.draft.key])),
    }


def _receivers(user: User) -> list[str]:
    """Return the usernames and teams that the share field suggests."""
    people = people_known_to(user).values_list("username", flat=True)[:MOST_OFFERED]
    return [*people, *teams_known_to(user).values_list("name", flat=True)[:MOST_OFFERED]]
