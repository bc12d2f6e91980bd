"""Translate serializer errors into the API's error codes and messages. Pure."""

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail

from dnspanel.api.v2.http import fault_texts

# The error code of a field that isn't allowed together with another field or its value.
NOT_TOGETHER = "not-together"

# Codes of Django REST framework that mean the same for every field → codes of the API.
_CODES = {
    "required": "required",
    "null": "required",
    "not_a_list": "invalid",
    "not_a_dict": "invalid",
    "invalid_choice": "invalid-choice",
    "blank": "too-short",
    "empty": "too-few",
    "max_value": "out-of-range",
    "min_value": "out-of-range",
    "max_string_length": "out-of-range",
    "overflow": "out-of-range",
    "date": "invalid",
}
_LENGTHS = {"min_length": ("too-short", "too-few"), "max_length": ("too-long", "too-many")}
# Singular and plural nouns for the values of the framework's fields. The first matching class applies.
_KINDS: tuple[tuple[type[serializers.Field[Any, Any, Any, Any]], tuple[str, str]], ...] = (
    (serializers.TimeField, ("a time of day such as 22:30", "times of day")),
    (serializers.UUIDField, ("a UUID", "UUIDs")),
    (serializers.BooleanField, ("true or false", "true or false")),
    (serializers.IntegerField, ("a whole number", "whole numbers")),
    (serializers.FloatField, ("a number", "numbers")),
    (serializers.URLField, ("a URL", "URLs")),
    (serializers.EmailField, ("an email address", "email addresses")),
    (serializers.CharField, ("a string", "strings")),
    (serializers.DictField, ("an object", "objects")),
    (serializers.BaseSerializer, ("an object", "objects")),
)
_LISTS = (serializers.ListField, serializers.ListSerializer)
_MANY = (*_LISTS, serializers.DictField)


def explain_detail(field: Any, detail: Any, value: Any, pointer: str = "") -> Any:
    """Convert a serializer's errors to the API's codes and messages, in the same structure.

    Errors of the panel's own checks don't change. `field` is None if no field exists for the value.
    """
    if isinstance(detail, Mapping):
        return {
            name: explain_detail(field, each, value, pointer)
            if name == "non_field_errors"
            else explain_detail(_member(field, name), each, _at(value, name), f"{pointer}/{name}")
            for name, each in detail.items()
        }
    if not isinstance(detail, list):
        return _explained_fault(field, detail, value, pointer)
    if all(isinstance(each, str) for each in detail):
        return [_explained_fault(field, each, value, pointer) for each in detail]
    return [
        explain_detail(_member(field, index), each, _at(value, index), f"{pointer}/{index}")
        for index, each in enumerate(detail)
    ]


def describe_value(field: Any) -> str:
    """Describe the field's valid values, in words that fit at the end of a sentence."""
    text = _describe_kind(field)
    return f"{text}, or null" if field.allow_null else text


def _describe_kind(field: Any) -> str:
    if isinstance(field, serializers.ListSerializer | serializers.ListField):
        return _needed_list(field)
    if isinstance(field, serializers.ChoiceField):
        return f"one of {fault_texts.join_limited(_choices(field))}"
    if isinstance(field, serializers.Serializer):
        return f"an object with the members {fault_texts.join_limited(settable(field))}"
    kind = _kind(field)[0]
    if isinstance(field, serializers.DictField):
        most: int | None = getattr(field, "most", None)
        return kind if most is None else f"{kind} with at most {most:,} members"
    if isinstance(field, serializers.IntegerField):
        return _needed_integer(field, kind)
    if isinstance(field, serializers.CharField):
        return _needed_text(field, kind)
    return kind


def _needed_list(field: Any) -> str:
    least = field.min_length or (0 if field.allow_empty else 1)
    if isinstance(field.child, serializers.ChoiceField):
        return f"a list of {'one or more' if least else 'some'} of {fault_texts.join_limited(_choices(field.child))}"
    things = _kind(field.child)[1]
    if isinstance(field.child, serializers.Serializer):
        things += f" with the members {fault_texts.join_limited(settable(field.child))}"
    return fault_texts.list_of(things, least, field.max_length)


def _needed_integer(field: Any, kind: str) -> str:
    least, most = field.min_value, field.max_value
    if least is not None and most is not None:
        return f"{kind} from {least} to {most}"
    return f"{kind} of {least} or more" if least is not None else kind


def _needed_text(field: Any, kind: str) -> str:
    least = field.min_length or (0 if field.allow_blank else 1)
    if field.max_length is not None:
        return f"{kind} of {least} to {field.max_length:,} characters"
    return f"{kind} that is not empty" if least else kind


def settable(serializer: Any) -> list[str]:
    """Return the names of the fields that a client can send."""
    return [name for name, field in serializer.fields.items() if not field.read_only]


def _explained_fault(field: Any, detail: Any, value: Any, pointer: str) -> ErrorDetail:
    code = getattr(detail, "code", "invalid")
    of_framework = field is not None and _is_of_framework(field, detail)
    has_code_of_framework = code in _LENGTHS or (code in _CODES and code != "required")
    if field is None or not (has_code_of_framework or of_framework):
        return ErrorDetail(str(detail), code.replace("_", "-"))
    if code == "invalid_choice":
        return ErrorDetail(fault_texts.not_a_choice(pointer, value, _choices(field)), "invalid-choice")
    ours = _LENGTHS[code][isinstance(field, _MANY)] if code in _LENGTHS else _CODES.get(code, "invalid")
    return ErrorDetail(fault_texts.must_be(pointer, describe_value(field), missing=ours == "required"), ours)


def _is_of_framework(field: Any, detail: Any) -> bool:
    """Return True if the error has one of the framework's messages for the field.

    The code isn't enough to decide, because the panel's own checks also use `invalid`.
    """
    template = str(field.error_messages.get(detail.code, ""))
    return bool(template) and str(detail).startswith(template.partition("{")[0])


def _member(field: Any, name: object) -> Any:
    if isinstance(field, _MANY):
        return field.child
    return field.fields.get(name) if isinstance(field, serializers.Serializer) else None


def _at(value: Any, name: Any) -> Any:
    """Return the member `name` of a value, or None if the value doesn't have it."""
    try:
        return value[name]
    except (LookupError, TypeError):
        return None


def _choices(field: Any) -> list[str]:
    return [str(choice) for choice in field.choices]


def _kind(field: Any) -> tuple[str, str]:
    own: tuple[str, str] | None = getattr(field, "needs", None)
    return own or next((texts for kind, texts in _KINDS if isinstance(field, kind)), ("a value", "values"))
