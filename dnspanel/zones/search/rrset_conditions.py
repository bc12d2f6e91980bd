"""Query conditions on RRsets for search terms. The conditions work for published RRsets and for draft operations."""

import unicodedata
from contextlib import suppress
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Any, TypeVar

from django.db.models import (
    BooleanField,
    Case,
    F,
    Func,
    IntegerField,
    JSONField,
    OuterRef,
    Q,
    QuerySet,
    TextField,
    Value,
    When,
)
from django.db.models.fields.json import KeyTextTransform, KeyTransform
from django.db.models.functions import Cast
from django.db.models.lookups import Contains

from dnspanel.zones.models import Operation, QueriedRRset, Zone
from dnspanel.zones.search import queried_rrsets, terms, warned_zones
from replication.dns import names, rdtypes
from replication.errors import BadName

Rows = TypeVar("Rows", bound="QuerySet[Any]")

_ADDRESSES = (rdtypes.A, rdtypes.AAAA)
# Only names with this prefix have a Unicode form.
_INTERNATIONAL = "xn--"


def fitting(rows: Rows, search: terms.Search, known: "QuerySet[Zone]") -> Rows:
    """Select the RRsets, or draft operations, that match every word and every RRset or tag filter.

    For an operation, the resulting RRset must match; for `has:warning`, the published one. Terms about zones only are
    left to `zone_conditions`. `known` has the zones that the client can see. Raise the errors of `refuse_unless_known`.
    """
    warned_zones.refuse_unless_known(search)
    rows = with_texts(rows)
    for term in (*search.words, *search.about_rrsets, *search.tags):
        fits = warned_zones.rrsets_with(known) if term.is_warning else condition(term)
        rows = rows.filter(~fits if term.negated else fits)
    return rows


def with_texts(rows: Rows) -> Rows:
    """Add to the query the columns that `condition` compares: `lines`, `seconds`, `said` and `own_tags`."""
    if rows.model is Operation:
        return rows.alias(
            lines=Func(
                KeyTransform("rdata", "wanted"),
                template=(
                    "COALESCE((SELECT E'\\n' || string_agg(t, E'\\n') || E'\\n'"
                    " FROM jsonb_array_elements_text(%(expressions)s) t), '') COLLATE \"C\""
                ),
                output_field=TextField(),
            ),
            seconds=Cast(KeyTextTransform("ttl", "wanted"), IntegerField()),
            said=Func(
                KeyTextTransform("comment", "wanted"),
                Cast("wanted", TextField()),
                function="rrset_said",
                output_field=TextField(),
            ),
            own_tags=Func(
                KeyTransform("tags", "wanted"), template="COALESCE(%(expressions)s, '[]')", output_field=JSONField()
            ),
        )
    # This collation takes half the time. Rdata has only ASCII letters.
    lines = Func(
        F("rdata"),
        template="(E'\\n' || array_to_string(%(expressions)s, E'\\n') || E'\\n') COLLATE \"C\"",
        output_field=TextField(),
    )
    remarks = Case(When(notes="", then=F("comment")), default=Func(F("comment"), F("notes"), function="rrset_said"))
    own_tags = Func(
        F("notes"), template="COALESCE(NULLIF(%(expressions)s, '')::jsonb->'tags', '[]')", output_field=JSONField()
    )
    return rows.alias(lines=lines, seconds=F("ttl"), said=remarks, own_tags=own_tags)


def condition(term: terms.Term) -> Q:
    """Return the query condition for RRsets that match one term, ignoring its negation.

    The term must not be about zones only, and must not be `has:warning`.
    """
    match term.filter, term.meaning:
        case terms.Filter.WORD, meaning:
            return _has_word(meaning)
        case terms.Filter.TYPE, frozenset() as types:
            return Q(type__in=sorted(types))
        case terms.Filter.TTL, terms.Span() as span:
            return within(span, "seconds")
        case terms.Filter.NAME, text:
            return in_name(str(text))
        case terms.Filter.VALUE, text:
            return in_values(str(text))
        case terms.Filter.COMMENT, text:
            return in_comment(str(text))
        case terms.Filter.QUERIED, terms.Since() as since:
            return is_queried(since)
        case terms.Filter.TAG, text:
            return has_tag(str(text))
        case terms.Filter.HAS, text:
            return has_value(str(text))
    raise AssertionError(term)


def _has_word(meaning: terms.Meaning) -> Q:
    match meaning:
        case IPv4Address() | IPv6Address() as address:
            return holds_address(address) | Q(name=f"{address.reverse_pointer}.")
        case IPv4Network() | IPv6Network() as network:
            return holds_address_in(network)
    return in_name(str(meaning)) | in_values(str(meaning)) | in_comment(str(meaning))


def within(span: terms.Span, column: str) -> Q:
    """Return the query condition for rows whose number in `column` is within the span."""
    found = Q()
    if span.low is not None:
        found &= Q(**{f"{column}__gte": span.low})
    if span.high is not None:
        found &= Q(**{f"{column}__lte": span.high})
    return found


def in_name(text: str, column: str = "name") -> Q:
    """Return the query condition for names that contain the text, as stored or as displayed."""
    text = comparable_text(text)
    if text.isascii():  # names are stored in lowercase
        return Q(**{f"{column}__contains": text})
    found = displayed_name_contains(text, column)
    with suppress(BadName):
        found |= Q(**{f"{column}__contains": names.parse(text).removesuffix(".")})
    return found


def in_values(text: str) -> Q:
    """Return the condition for values that contain the text, ignoring case. Non-ASCII text is escaped first."""
    return Q(lines__icontains=terms.escaped_bytes(text))


def in_comment(text: str) -> Q:
    """Return the query condition for comments (of RRsets or values) that contain the text, ignoring case."""
    return ~Q(said="") & Q(said__icontains=text)


def is_queried(since: terms.Since) -> Q:
    """Return the query condition for RRsets that nodes were asked for in this time, or weren't asked for since."""
    at = {name: OuterRef(name) for name in ("zone_id", "owner_key", "type")}
    rows = QueriedRRset.objects.filter(**at, day__gte=queried_rrsets.day_of(since.after or since.before))
    if since.after and since.before:
        rows = rows.filter(day__lt=queried_rrsets.day_of(since.before))
    found = warned_zones.row_by_row(rows)
    return found if since.after else ~found


def has_tag(text: str) -> Q:
    """Return the query condition for RRsets that have the tag themselves or through their zone."""
    tag = [text.lower()]
    return Q(own_tags__contains=tag) | Q(zone__tags__contains=tag)


def has_value(text: str) -> Q:
    """Return the query condition for RRsets that have exactly this value, which can be written as a person types it."""
    found = Q()
    for spelling in terms.rdata_spellings(text):
        # Names are compared without regard to case. No other value ends in a dot without quotes.
        look = "lines__icontains" if spelling.endswith(".") else "lines__contains"
        found |= Q(**{look: f"\n{spelling}\n"})
    return found


def holds_address(address: terms.Address) -> Q:
    """Return the query condition for A or AAAA RRsets with this address."""
    return Q(type__in=_ADDRESSES) & Q(lines__contains=f"\n{address}\n")


def holds_address_in(network: terms.Network) -> Q:
    """Return the query condition for A or AAAA RRsets with an address in this network."""
    network_text = Cast(Value(str(network)), TextField())
    inside = Func(F("type"), F("lines"), network_text, function="rrset_within", output_field=BooleanField())
    # Few other rows have this prefix, and comparing it is cheaper.
    return Q(type__in=_ADDRESSES) & Q(lines__contains=f"\n{terms.beginning_of(network)}") & Q(inside)


def displayed_name_contains(text: str, column: str = "name") -> Q:
    """Return the query condition for internationalized names whose Unicode form contains the lowercase text."""
    displayed = Func(F(column), function="name_displayed", output_field=TextField())
    return Q(**{f"{column}__contains": _INTERNATIONAL}) & Q(Contains(displayed, Value(text)))


def comparable_text(text: str) -> str:
    """Convert the text to lowercase and Unicode form NFC, for comparison with displayed names."""
    return unicodedata.normalize("NFC", text.lower())
