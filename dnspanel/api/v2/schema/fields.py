"""Serializer fields of API v2, which accept only the matching JSON type, page serializers, and query parameters.

Serializers check the structure and convert values to canonical form. They never save. Each serializer is also a
component of the OpenAPI document, named after its class without "Serializer".
"""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from django.utils.dateparse import parse_datetime
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, PolymorphicProxySerializer, extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail
from rest_framework.request import Request

from dnspanel.api.v2.http.fault_texts import read_only_member, unknown_member
from dnspanel.api.v2.http.problems import bad_choice, bad_number, bad_parameter
from dnspanel.api.v2.http.representation import time_json
from dnspanel.api.v2.schema.field_faults import explain_detail, settable
from dnspanel.field_faults import INVALID
from dnspanel.zones.search.terms import FILTERS, LONGEST_SEARCH, parse
from replication.dns import names, rdtypes
from replication.errors import BadName, BadRdata

LARGEST_ID = 2**31 - 1
A_TIME = "2026-11-21T12:00:00Z"
_MOST_UNKNOWN = 100
_WITH_MEMBERS = (serializers.BaseSerializer, serializers.ListField, serializers.DictField)
PAGED = [
    OpenApiParameter(
        "limit", {"type": "integer", "minimum": 1, "maximum": 1000}, description="Maximum number of items on a page."
    ),
    OpenApiParameter("cursor", str, description="Start of the page: `next_cursor` of the previous page."),
]


class Shape(serializers.Serializer):
    """A JSON object. Unknown and read-only fields are rejected, because clients probably expect an effect."""

    def to_internal_value(self, data: Any) -> Any:
        faults: dict[str, Any] = dict(self._unknown_members(data)) if isinstance(data, Mapping) else {}
        try:
            value = super().to_internal_value(data)
        except serializers.ValidationError as exc:
            if not faults:
                raise
            faults |= exc.detail  # report a misspelled field together with the missing one
        if faults:
            raise serializers.ValidationError(faults)
        return value

    def _unknown_members(self, data: Mapping[str, Any]) -> dict[str, list[ErrorDetail]]:
        fields, allowed = self.fields, settable(self)
        unknown = [str(name) for name in data if name not in fields or fields[name].read_only][:_MOST_UNKNOWN]
        texts = {name: read_only_member if name in fields else unknown_member for name in unknown}
        return {name: [ErrorDetail(text(name, allowed), "unknown")] for name, text in texts.items()}


class Text(serializers.CharField):
    """A string whose whitespace isn't trimmed."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(trim_whitespace=False, **kwargs)

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return str(super().to_internal_value(data))


class OptionalText(Text):
    """A text that can be empty or left out."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(default="", allow_blank=True, **kwargs)


class Integer(serializers.IntegerField):
    """A whole number."""

    def to_internal_value(self, data: Any) -> int:
        if type(data) is float and data.is_integer():
            data = int(data)  # JSON has only one number type
        if type(data) is not int:
            self.fail("invalid")
        return int(data)


class Id(Integer):
    """The id of an object."""

    def __init__(self, **options: Any) -> None:
        super().__init__(min_value=1, max_value=LARGEST_ID, **options)


class Flag(serializers.BooleanField):
    """A boolean."""

    def to_internal_value(self, data: Any) -> bool:
        if type(data) is not bool:
            self.fail("invalid", input=str(data)[:80])
        return bool(data)


class Choice(serializers.ChoiceField):
    """One of a set of strings."""

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, str):
            self.fail("invalid_choice", input=str(data)[:80])
        return super().to_internal_value(data)


class Members(serializers.DictField):
    """A JSON object with at most `most` members, which can have any name."""

    def __init__(self, *, most: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.most = most


class Moment(serializers.DateTimeField):
    """A time with its offset from UTC."""

    needs = (f"a time such as {A_TIME}", "times")

    def to_internal_value(self, value: Any) -> datetime:
        if (found := moment(value) if isinstance(value, str) else None) is not None:
            return found
        raise serializers.ValidationError(f"Use a time such as {A_TIME}.", "date")


@extend_schema_field(OpenApiTypes.STR)
class ZoneName(Text):
    """The name of a zone, converted to canonical form."""

    needs = ("the name of a zone", "names of zones")

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_length=1100, **kwargs)

    def to_internal_value(self, data: Any) -> str:
        try:
            return names.parse(super().to_internal_value(data))
        except BadName as exc:
            raise serializers.ValidationError(str(exc), "bad-name") from exc


@extend_schema_field(OpenApiTypes.STR)
class RecordType(Text):
    """A record type, which is a mnemonic in JSON and a number in Python."""

    needs = ("a record type such as AAAA", "record types")

    def to_internal_value(self, data: Any) -> int:  # type: ignore[override]
        return type_number(super().to_internal_value(data)[:20])  # longer than any type name

    def to_representation(self, value: int) -> str:
        return rdtypes.type_to_text(value)


def type_number(text: str) -> int:
    """Return the number of a record type. Raise ValidationError if zones can't contain the type."""
    try:
        number = rdtypes.type_from_text(text)
    except BadRdata as exc:
        raise serializers.ValidationError(exc.reason, "bad-type") from exc
    if refusal := rdtypes.refusal(number):
        raise serializers.ValidationError(f"{refusal}.", "bad-type")
    return number


def page_of(shape: type[serializers.Serializer[Any]] | PolymorphicProxySerializer) -> type[serializers.Serializer[Any]]:
    """Return a serializer for a page of items. `shape` is their serializer, or a union of several serializers."""
    if isinstance(shape, PolymorphicProxySerializer):
        name = shape.component_name
        item = extend_schema_field(shape)(type("Item", (serializers.DictField,), {}))
        items: Any = serializers.ListField(child=item())
    else:
        name, items = shape.__name__.removesuffix("Serializer"), shape(many=True)
    members = {
        "__doc__": f"A page of {name}.",
        "items": items,
        "next": serializers.URLField(allow_null=True, help_text="URL of the next page; null: this is the last page."),
        "next_cursor": serializers.CharField(allow_null=True, help_text="Value of `cursor` for the next page."),
    }
    return type(f"{name}PageSerializer", (serializers.Serializer,), members)


def read(shape: type[serializers.Serializer[Any]], data: Any, *, partial: bool = False) -> dict[str, Any]:
    """Validate a body and return its canonical values. Raise ValidationError with the API's codes and messages."""
    serializer = shape(data=data, partial=partial)
    try:
        _refuse_long_lists(serializer, data)
        serializer.is_valid(raise_exception=True)
    except serializers.ValidationError as exc:
        raise serializers.ValidationError(explain_detail(serializer, exc.detail, data)) from exc
    return dict(serializer.validated_data)


def _refuse_long_lists(field: Any, value: Any) -> None:
    """Raise ValidationError for a list or object with too many members, before reading any of them.

    Django REST framework counts the members of a list only after it has read all of them.
    """
    if isinstance(field, serializers.ListField | Members | serializers.ListSerializer):
        most = field.most if isinstance(field, Members) else field.max_length
        if most is not None and isinstance(value, list | dict) and len(value) > most:
            raise serializers.ValidationError([f"Ensure this field has no more than {most} elements."], "max_length")
        if isinstance(value, list) and isinstance(field.child, _WITH_MEMBERS):
            for place, member in enumerate(value):
                try:
                    _refuse_long_lists(field.child, member)
                except serializers.ValidationError as exc:
                    raise serializers.ValidationError({place: exc.detail}) from exc
    elif isinstance(field, serializers.Serializer) and isinstance(value, Mapping):
        for name, each in field.fields.items():
            if name in value and isinstance(each, _WITH_MEMBERS):
                try:
                    _refuse_long_lists(each, value[name])
                except serializers.ValidationError as exc:
                    raise serializers.ValidationError({name: exc.detail}) from exc


def moment(text: str) -> datetime | None:
    """Parse a time with an offset from UTC. Return None if the string is invalid."""
    try:
        found = parse_datetime(text)
    except ValueError:
        return None
    return found if found is not None and found.tzinfo is not None and "T" in text.upper() else None


def moment_parameter(query: Mapping[str, str], name: str) -> datetime | None:
    """Return the time in a query parameter, or None if it is missing. Raise Problem if it is invalid."""
    text = query.get(name)
    found = moment(text) if text else None
    if text is not None and found is None:
        raise bad_parameter(name, f"Use a time such as {A_TIME}.")
    return found


def id_parameter(query: Mapping[str, str], name: str) -> int | None:
    """Return the id in a query parameter, or None if it is missing. Raise Problem if it is invalid."""
    text = query.get(name)
    if text is not None and not (
        text.isascii() and text.isdecimal() and len(text) < 11 and 0 < int(text) <= LARGEST_ID
    ):
        raise bad_number(name, text, f"`{name}` must be an id: a whole number from 1.")
    return None if text is None else int(text)


def choice_parameter(query: Mapping[str, str], name: str, choices: Collection[str]) -> str:
    """Return the choice in a query parameter, or "" if it is missing. Raise Problem if it is invalid."""
    text = query.get(name)
    if text is not None and text not in choices:
        raise bad_choice(name, text, sorted(choices))
    return text or ""


def text_parameter(query: Mapping[str, str], name: str, *, longest: int = 200) -> str:
    """Return a query parameter, or "" if it is missing. Raise Problem if it is too long or can't be stored."""
    text = query.get(name, "")
    if len(text) > longest or "\0" in text or any("\ud800" <= char <= "\udfff" for char in text):
        code = "too-long" if len(text) > longest else INVALID
        raise bad_parameter(name, f"`{name}` must have at most {longest} characters, without NUL and surrogates.", code)
    return text


def stamp(at: datetime | None) -> str | None:
    """Return a time in the format of responses, or None if `at` is None."""
    return None if at is None else time_json(at)


def search_parameter(request: Request) -> str:
    """Return the search in `q`. Raise Problem for an invalid search or an unknown filter."""
    text = text_parameter(request.query_params, "q", longest=LONGEST_SEARCH)
    if unclear := unclear_in(text):
        raise bad_parameter("q", unclear)
    return text


def unclear_in(text: str) -> str:
    """Return a message about a search's syntax error or unknown filter, or "" if the search is valid."""
    search = parse(text)
    for fault in search.faults:
        return f"{fault.word}: {fault.message}"
    for unknown in search.unknown:
        meant = f" Did you mean {unknown.closest}:?" if unknown.closest else ""
        known = ", ".join(f"{word}:" for word in FILTERS)
        quoting = "To search for the text itself, put it in quotes."
        return f"Unknown filter {unknown.name}:. Filters: {known}.{meant} {quoting}"
    return ""
