"""Save a list's search, sort order and columns as a named view of a person, which can be shared with a team. Verbs.

A view stores the search, never its results. Each reader sees only zones and records that they have access to.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet

from dnspanel.accounts.audit import audit
from dnspanel.accounts.models import Team, User
from dnspanel.accounts.people.list_looks import ListLook
from dnspanel.database.first_rows import first_or
from dnspanel.texts import gettext
from dnspanel.zones.errors import ViewRefused, ViewUnknown
from dnspanel.zones.models import SavedView, ViewPage, Zone
from dnspanel.zones.rights import access

MOST_VIEWS = 50  # per person
MOST_LISTED = 200  # including shared views
LONGEST_NAME = 60
# The URL parameters that a view of a page stores, and their largest lengths.
TERMS: Mapping[ViewPage, Mapping[str, int]] = {
    ViewPage.ZONES: {"q": 300, "sort": 40},
    ViewPage.SEARCH: {"q": 300},
    ViewPage.RECORDS: {"q": 300, "type": 20, "in": 10, "changed": 10, "queried": 3, "sort": 40},
}


def visible_views(person: User) -> QuerySet[SavedView]:
    """Select the user's own views and those shared with the user's teams, sorted by name.

    Shared views of closed accounts, and views of a zone that the user can't see, are omitted.
    """
    own_or_shared = Q(owner=person) | Q(team__memberships__user=person, owner__is_active=True)
    seen = Q(zone=None) | Q(zone__in=access.zones_visible_to(person))
    found = SavedView.objects.filter(own_or_shared).filter(seen).select_related("owner", "team", "zone")
    return found.distinct().order_by("name", "pk")


def view_for(person: User, pk: int) -> SavedView:
    """Return the view. Raise ViewUnknown if the user can't see it."""
    return first_or(visible_views(person).filter(pk=pk), ViewUnknown)


def teams_to_share_with(person: User) -> QuerySet[Team]:
    """Select the teams with which the user can share a view: the user's own teams."""
    return Team.objects.filter(memberships__user=person).order_by("name")


def save_view(  # noqa: PLR0913  # the fields of a view
    *,
    person: User,
    page: ViewPage,
    name: str,
    terms: Mapping[str, str],
    now: datetime,
    zone: Zone | None = None,
    team: Team | None = None,
    look: ListLook | None = None,
) -> SavedView:
    """Save a view with a name. Drop parameters that are empty, too long or unknown to the page.

    Raise ViewRefused if no parameter is left, or if the name is invalid or already used. Also raise it if the person
    isn't a member of `team`, or already has MOST_VIEWS views.
    """
    kept = {key: terms[key].strip() for key, most in TERMS[page].items() if 0 < len(terms.get(key, "").strip()) <= most}
    if not kept:
        raise ViewRefused(gettext("Search, filter or sort before you save a view."))
    with _one_of_a_name(), transaction.atomic(durable=True):
        # The lock on the person's row prevents two windows from saving one view too many.
        User.objects.select_for_update(no_key=True).get(pk=person.pk)
        if SavedView.objects.filter(owner=person).count() >= MOST_VIEWS:
            raise ViewRefused(
                gettext("You can have at most {most_views} views. Delete a view first.").format(most_views=MOST_VIEWS)
            )
        made = SavedView.objects.create(
            owner=person,
            page=page,
            zone=zone,
            team=_own(person, team),
            name=_clean(name),
            terms=kept,
            look=None if look is None else {"hidden": sorted(look.hidden), "dense": look.dense},
            created_at=now,
        )
        _record("view.save", made, now)
    return made


def change_view(*, person: User, view: SavedView, name: str, team: Team | None, now: datetime) -> None:
    """Change a view's name and team. Raise ViewRefused like `save_view`, and ViewUnknown for another person's view."""
    with _one_of_a_name(), transaction.atomic(durable=True):
        found = _lock_view(person, view)
        before = found.name
        found.name, found.team = _clean(name), _own(person, team)
        found.save(update_fields=["name", "team"])
        _record("view.change", found, now, before=before)


def delete_view(*, person: User, view: SavedView, now: datetime) -> None:
    """Delete a view for its owner and its team. Raise ViewUnknown if another person owns it."""
    with transaction.atomic(durable=True):
        found = _lock_view(person, view)
        _record("view.delete", found, now)
        found.delete()


def look_of_view(view: SavedView, own: ListLook) -> ListLook:
    """Return the column and density settings saved in the view, or the reader's own if the view has none."""
    if view.look is None:
        return own
    return ListLook(own.of, frozenset(view.look["hidden"]), view.look["dense"])


@contextmanager
def _one_of_a_name() -> Iterator[None]:
    """Raise ViewRefused if the block would save a second view with the same name."""
    try:
        yield
    except IntegrityError as exc:
        if "saved_view_name_unique" not in str(exc):
            raise
        raise ViewRefused(gettext("You already have a view with this name.")) from exc


def _lock_view(person: User, view: SavedView) -> SavedView:
    found = SavedView.objects.select_for_update(no_key=True, of=("self",)).filter(pk=view.pk, owner=person)
    return first_or(found.select_related("owner", "zone", "team"), ViewUnknown)


def _own(person: User, team: Team | None) -> Team | None:
    if team is not None and not teams_to_share_with(person).filter(pk=team.pk).exists():
        raise ViewRefused(gettext("You can only share a view with your own teams."))
    return team


def _clean(name: str) -> str:
    name = " ".join(name.split())
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        raise ViewRefused(
            gettext("Enter a view name of up to {longest_name} characters.").format(longest_name=LONGEST_NAME)
        )
    return name


def _record(action: str, view: SavedView, now: datetime, **more: Any) -> None:
    audit.record(
        action=action,
        by=view.owner,
        now=now,
        target=view.name,
        page=view.page,
        terms=view.terms,
        zone=view.zone.name if view.zone else "",
        team=view.team.name if view.team else "",
        **more,
    )
