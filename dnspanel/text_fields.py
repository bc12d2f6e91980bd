"""Model fields for texts that workers and requests store, and that pages show to readers of other languages.

A stored text has no language (`replication.message_texts.format_text`). It is translated when it is read. Strings that
aren't `Text`, such as values stored before `Text` existed, don't change. The database columns have the same types as
Django's own fields, so no migration is needed. Code that writes SQL must call `format_text` and `parse_text` itself.
"""

from collections.abc import Callable
from typing import Any

from django.db import models

from replication.message_texts import format_text, in_english, parse_text


class MessageField(models.TextField):  # type: ignore[type-arg]
    """A field with one translatable text."""

    def deconstruct(self) -> Any:
        name, _, args, kwargs = super().deconstruct()
        return name, "django.db.models.TextField", args, kwargs

    def get_prep_value(self, value: Any) -> Any:
        found = super().get_prep_value(value)
        return format_text(found) if isinstance(found, str) else found

    def from_db_value(self, value: str | None, expression: object, connection: object) -> str | None:
        return value if value is None else parse_text(value)


class _TextsField(models.JSONField):
    """A JSON field. Each string in it is converted with `to_store` before it is stored."""

    to_store: Callable[[str], str]

    def deconstruct(self) -> Any:
        name, _, args, kwargs = super().deconstruct()
        return name, "django.db.models.JSONField", args, kwargs

    def get_db_prep_value(
        self,
        value: Any,
        connection: Any,
        prepared: bool = False,  # noqa: FBT001, FBT002  # Django's signature
    ) -> Any:
        return super().get_db_prep_value(_change_strings(value, self.to_store), connection, prepared)


class MessagesField(_TextsField):
    """A JSON field whose values can contain translatable texts."""

    to_store = staticmethod(format_text)

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        return _change_strings(super().from_db_value(value, expression, connection), parse_text)


class EnglishField(_TextsField):
    """A JSON field for programs and logs. Its texts are stored in English, regardless of the request's language."""

    to_store = staticmethod(in_english)


def _change_strings(value: Any, change: Callable[[str], str]) -> Any:
    """Return the JSON value with `change` applied to every string. Recursive, so only for the panel's own values."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {name: _change_strings(each, change) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_change_strings(each, change) for each in value]
    return value
