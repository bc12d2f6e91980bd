"""Query conditions on zones for search terms."""

import re
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Any, TypeVar

from django.db.models import Exists, OuterRef, Q, QuerySet

from dnspanel.accounts.actors.find_people import has_username
from dnspanel.accounts.models import Team, User
from dnspanel.accounts.texts.same_text import same_but_for_ascii_case
from dnspanel.database.statement_time import SearchTooGeneral
from dnspanel.texts import gettext, gettext_noop
from dnspanel.zones.models import Rollover, Zone
from dnspanel.zones.models import RRset as StoredRRset
from dnspanel.zones.rights.access import has_any_tag
from dnspanel.zones.search import search_texts, warned_zones
from dnspanel.zones.search.rrset_conditions import comparable_text, displayed_name_contains, within
from dnspanel.zones.search.terms import NOBODY, Filter, Search, Since, Span, Term, rdata_spellings
from dnspanel.zones.signals import acked_everywhere_requested
from replication.dns import names
from replication.errors import BadName

Row = TypeVar("Row")

MANY_ZONES = 100_000  # up to this number, all names are compared in a tenth of a second
FEW_TEXTS = 6_000  # up to this number of texts, their zones are checked one by one
THREE_IN_A_ROW = gettext_noop("enter at least three letters or digits in a row")

# Three characters in a row, or a whole label of two.
_IN_TRIGRAMS = re.compile(r"[a-z0-9]{3}|\.[a-z0-9]{2}\.", re.ASCII | re.IGNORECASE)
_SERIAL_DIGITS = 10


def fitting(zones: "QuerySet[Zone]", search: Search, *, now: datetime) -> "QuerySet[Zone]":
    """Select the zones that match every term. A search with faults finds nothing.

    A word is searched in the zones' names, an address also in their records, and a network only in their records. RRset
    filters find zones with one RRset that matches all of these filters, except that any RRset can match `has:`. A
    hyphen finds zones without a match.
    """
    if search.faults:
        return zones.none()
    zones = fitting_outside(zones, search, now=now)
    inside = terms_inside(search)
    if not inside:
        return zones
    known = search_texts.progress()
    few = few_with(inside, known)
    zones = zones if few is None else zones.filter(pk__in=few)
    return zones.filter(holding(inside, known))


def fitting_outside(zones: "QuerySet[Zone, Row]", search: Search, *, now: datetime) -> "QuerySet[Zone, Row]":
    """Select the zones that match every term that has an index or a column. `terms_inside` returns the other terms.

    `zones` has the zones that the client can see. Raise the errors of `refuse_unless_known`.
    """
    warned_zones.refuse_unless_known(search)
    known = zones
    for term in search.terms:
        if not _is_inside(term):
            if term.is_warning:
                fits = warned_zones.zones_with(
                    known, None if term.negated else search_texts.rrsets_fitting(_of_one_rrset(search))
                )
            else:
                fits = _has_value(term.text) if term.filter is Filter.HAS else _condition(term, now)
            zones = zones.filter(~fits if term.negated else fits)
    return zones


def terms_inside(search: Search) -> tuple[Term, ...]:
    """Return the terms that must be compared with each zone's RRsets."""
    return tuple(term for term in search.terms if _is_inside(term))


def holding(inside: tuple[Term, ...], known: search_texts.Progress) -> Q:
    """Return the query condition for zones whose RRsets match the terms.

    One RRset must match all positive filters, and no RRset must match a negated filter. A network counts as a word:
    another RRset can match it.
    """
    found = Q()
    for term in inside:
        if term.negated:
            found &= ~search_texts.holds((term,), known)
    for terms in fitting_together(inside):
        found &= search_texts.holds(terms, known)
    return found


def fitting_together(inside: tuple[Term, ...]) -> list[tuple[Term, ...]]:
    """Group the positive terms. One RRset must match all terms of a group."""
    positive = [term for term in inside if not term.negated]
    networks: list[tuple[Term, ...]] = [(term,) for term in positive if term.filter is Filter.WORD]
    of_rrset = tuple(term for term in positive if term.filter is not Filter.WORD)
    return [of_rrset, *networks] if of_rrset else networks


def _of_one_rrset(search: Search) -> tuple[Term, ...]:
    """Return the positive RRset filters, which one RRset must match together. Omit `has:warning`."""
    return tuple(term for term in search.about_rrsets if not (term.negated or term.is_warning))


def few_with(inside: tuple[Term, ...], known: search_texts.Progress) -> list[int] | None:
    """Return the ids of all zones that can match, or None if search texts can't narrow them down.

    Needs at most one query for each group of terms (`fitting_together`).
    """
    if not known.is_complete or known.left_out:
        return None
    for terms in fitting_together(inside):
        if search_texts.in_index(terms) and (few := search_texts.zones_with(terms, FEW_TEXTS)) is not None:
            return [*few, *known.new_zones]
    return None


def _is_inside(term: Term) -> bool:
    if term.filter is Filter.WORD:
        return isinstance(term.meaning, IPv4Network | IPv6Network)
    if term.is_warning:
        return False
    return term.is_about_rrsets and (term.negated or term.filter is not Filter.HAS)  # `has:` uses a faster index


def in_zone_name(text: str) -> Q:
    """Return the query condition for zones whose name contains the text, as stored or as displayed."""
    text = comparable_text(text)
    if text.isascii():
        # Names are in lowercase, but PostgreSQL only uses the trigram index with UPPER(): 0.3 s instead of 10 s.
        return Q(name__icontains=text) if is_in_trigrams(text) else Q(name__contains=text)
    found = displayed_name_contains(text)
    with suppress(BadName):
        found |= Q(name__icontains=names.parse(text).removesuffix("."))
    return found


def is_in_trigrams(text: str) -> bool:
    """Return True if the trigram index of zone names can find the text.

    Without three letters or digits in a row, or a whole label of two, PostgreSQL would read the whole index.
    """
    return _IN_TRIGRAMS.search(text) is not None


def has_many_zones() -> bool:
    """Return True if the panel has too many zones to compare all their names while a person waits."""
    return Zone.objects.filter(deleted_at=None)[MANY_ZONES : MANY_ZONES + 1].exists()


def refuse_too_general(search: Search) -> None:
    """Raise SearchTooGeneral if the search has words, no index helps with any term, and the panel has many zones."""
    if search.words and not any(map(_has_index, search.terms)) and has_many_zones():
        raise SearchTooGeneral(
            gettext("{typed} is too broad for this many zones: {three_in_a_row}.").format(
                typed=search.words[0].typed, three_in_a_row=gettext(THREE_IN_A_ROW)
            )
        )


def looks_inside(search: Search) -> bool:
    """Return True if the search finds zones by their records."""
    return bool(search.about_rrsets) or any(not isinstance(term.meaning, str) for term in search.words)


def _has_index(term: Term) -> bool:
    if term.negated:
        return False
    return term.filter is not Filter.WORD or not isinstance(term.meaning, str) or _is_in_name_index(term.meaning)


def _is_in_name_index(text: str) -> bool:
    return is_in_trigrams(text) or not text.isascii()


def _condition(term: Term, now: datetime) -> Q:
    if of_text := _CONDITIONS_OF_TEXT.get(term.filter):
        return of_text(str(term.meaning))
    match term.filter, term.meaning:
        case Filter.WORD, IPv4Address() | IPv6Address() as address:
            reverse = f"{address.reverse_pointer}."
            return _has_value(str(address)) | Q(name__in=_and_above(reverse)) | in_zone_name(str(address))
        case ((Filter.WORD | Filter.ZONE), text):
            return in_zone_name(str(text))
        case Filter.CHANGED, Since() as since:
            found = Q()
            if since.after is not None:
                found &= Q(changed_at__gte=now - since.after if isinstance(since.after, timedelta) else since.after)
            if since.before is not None:
                found &= Q(changed_at__lt=now - since.before if isinstance(since.before, timedelta) else since.before)
            return found
        case Filter.SERIAL, Span() as span:
            return within(span, "serial")
        case Filter.SERIAL, digits:
            return _serial_begins(str(digits))
    raise AssertionError(term)


def _tag(text: str) -> Q:
    return has_any_tag([text.lower()])


def _team(text: str) -> Q:
    if text.lower() == NOBODY:
        return Q(team=None)
    return Q(team__in=_ids(Team.objects.filter(same_but_for_ascii_case("name", text))))


def _owner(text: str) -> Q:
    if text.lower() == NOBODY:
        return Q(created_by=None)
    return Q(created_by__in=_ids(User.objects.filter(has_username(text))))


def _primary(place: str) -> Q:
    return Q(transferred_from="") if place == "here" else ~Q(transferred_from="")


def _dnssec(state: str) -> Q:
    if state == "rolling":
        return Q(Exists(Rollover.objects.filter(zone=OuterRef("pk"), ended_at=None)))
    signed = Q(signing__is_signed=True)
    return signed if state == "signed" else Q(signing__is_signed=None) | Q(signing__is_signed=False)


def _sync(state: str) -> Q:
    """Return the query condition for zones that are `late` or `done`.

    A zone is late if an active node has not acknowledged its newest revision. If there are no nodes, no zone is late.
    """
    acked = [sequence for _, sequence in acked_everywhere_requested.send(None) if sequence is not None]
    if not acked:
        return Q(pk=None) if state == "late" else Q()
    return Q(sequence__gt=min(acked)) if state == "late" else Q(sequence__lte=min(acked))


_CONDITIONS_OF_TEXT: dict[Filter, Callable[[str], Q]] = {
    Filter.TAG: _tag,
    Filter.TEAM: _team,
    Filter.OWNER: _owner,
    Filter.DNSSEC: _dnssec,
    Filter.SYNC: _sync,
    Filter.PRIMARY: _primary,
}


def _serial_begins(digits: str) -> Q:
    found = Q()
    for more in range(_SERIAL_DIGITS - len(digits) + 1):
        first = int(digits) * 10**more
        found |= Q(serial__gte=first, serial__lt=first + 10**more)
    return found


def _has_value(text: str) -> Q:
    spellings = rdata_spellings(text)
    in_capitals = Q(folded__overlap=spellings, folded__isnull=False)
    return Q(pk__in=StoredRRset.objects.filter(Q(rdata__overlap=spellings) | in_capitals).values("zone"))


def _ids(rows: "QuerySet[Any]") -> list[int]:
    """Return the ids of a few rows as a list. PostgreSQL can then find their zones by an index."""
    return list(rows.values_list("pk", flat=True))


def _and_above(name: str | None) -> list[str]:
    found = []
    while name is not None:
        found.append(name)
        name = names.parent(name)
    return found
