"""Columns for texts that workers and requests store, and that pages show later to readers of other languages.

A stored text has no language (`replication.message_texts.format_text`); it is read in the reader's language. Strings
that are not `Text`, such as values stored before `Text` existed, do not change. The columns are those of Django's own
fields, so none of them needs a migration. Statements in SQL write `format_text` and read `parse_text` themselves.
"""

from collections.abc import Callable
from typing import Any

from django.db import models

from replication.message_texts import format_text, in_english, parse_text


class MessageField(models.TextField):  # type: ignore[type-arg]
    """One text for people."""

    def deconstruct(self) -> Any:
        name, _, args, kwargs = super().deconstruct()
        return name, "django.db.models.TextField", args, kwargs

    def get_prep_value(self, value: Any) -> Any:
        found = super().get_prep_value(value)
        return format_text(found) if isinstance(found, str) else found

    def from_db_value(self, value: str | None, expression: object, connection: object) -> str | None:
        return value if value is None else parse_text(value)


class _TextsField(models.JSONField):
    """JSON in which each string is changed by `to_store` before it is stored."""

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
    """JSON in which values may be texts for people."""

    to_store = staticmethod(format_text)

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        return _change_strings(super().from_db_value(value, expression, connection), parse_text)


class EnglishField(_TextsField):
    """JSON for programs and for the record: its texts are stored in English, whatever the language of the request."""

    to_store = staticmethod(in_english)


def _change_strings(value: Any, change: Callable[[str], str]) -> Any:
    """Return the value with every string changed, as deep as the values that our own code builds."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {name: _change_strings(each, change) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_change_strings(each, change) for each in value]
    return value
