"""Find the database columns that are encrypted with PANEL_MASTER_KEY, by walking through the models.

Every secret must be stored in a `SecretField`. Columns with secrets inside JSON are listed in `_IN_JSON`. Key rotation,
backup drills and lists of lost secrets read only these columns. A test checks that no other column contains secrets.
"""

import base64
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from django.apps import apps
from django.db import models
from psycopg import sql

# The first characters of a Fernet token: version 0x80 and a time below 2^40, in Base64.
_BEGINNING = b"gAAAA"
_WRAPPED_BEGINNING = base64.b64encode(_BEGINNING)[:6].decode()

# Columns with tokens as strings in JSON, directly or encoded in Base64.
_IN_JSON = ("mfa.Authenticator.data", "fleet.AheadZone.signing")

BATCH_ROWS = 200

# Returns a new token for a token.
Change = Callable[[bytes], bytes]


class SecretField(models.BinaryField):  # type: ignore[type-arg]
    """A column for encrypted tokens from `vault.encrypt_secret`. Migrations describe it as a BinaryField."""

    def deconstruct(self) -> Any:
        name, _, args, kwargs = super().deconstruct()
        return name, "django.db.models.BinaryField", args, kwargs


@dataclass(frozen=True, slots=True)
class SecretPlace:
    """A database column that contains secrets."""

    model: str  # "accounts.Token"
    table: str
    key: str  # column of the primary key
    column: str
    is_json: bool = False

    def __str__(self) -> str:
        return f"{self.model}.{self.column}"

    def batches(self, cursor: Any) -> Iterator[list[tuple[Any, Any]]]:
        """Yield pairs of primary key and value, in key order, in batches of at most BATCH_ROWS. Skip empty tokens."""
        rows = self._batch(cursor, None)
        while rows:
            yield rows
            rows = self._batch(cursor, rows[-1][0]) if len(rows) == BATCH_ROWS else []

    def replace(self, cursor: Any, key: Any, old: Any, new: Any) -> bool:
        """Write `new` to the row if its value is still `old`. Return False if another process changed the row."""
        cursor.execute(
            sql.SQL("UPDATE {} SET {column} = {value} WHERE {} = %s AND {column} = {value}").format(
                sql.Identifier(self.table),
                sql.Identifier(self.key),
                column=sql.Identifier(self.column),
                value=sql.SQL("%s::jsonb" if self.is_json else "%s"),
            ),
            [new, key, old],
        )
        return bool(cursor.rowcount)

    def _batch(self, cursor: Any, after: Any) -> list[tuple[Any, Any]]:
        column = sql.Identifier(self.column)
        condition = sql.SQL("{} IS NOT NULL").format(column)
        if not self.is_json:
            condition = sql.SQL("{} AND octet_length({}) > 0").format(condition, column)
        if after is not None:
            condition = sql.SQL("{} AND {} > {}").format(condition, sql.Identifier(self.key), sql.Literal(after))
        cursor.execute(
            sql.SQL("SELECT {key}, {}{} FROM {} WHERE {} ORDER BY {key} LIMIT {}").format(
                column,
                sql.SQL("::text" if self.is_json else ""),
                sql.Identifier(self.table),
                condition,
                sql.Literal(BATCH_ROWS),
                key=sql.Identifier(self.key),
            )
        )
        return [(key, value if self.is_json else bytes(value)) for key, value in cursor.fetchall()]

    def tokens(self, value: Any) -> list[bytes]:
        """Return the encrypted tokens in a column value."""
        found: list[bytes] = []

        def note(token: bytes) -> bytes:
            found.append(token)
            return token

        self.change_tokens(value, note)
        return found

    def change_tokens(self, value: Any, change: Change) -> Any:
        """Return the column value with `change` applied to each of its encrypted tokens."""
        if self.is_json:
            return json.dumps(_changed_json(json.loads(value), change))
        return change(value) if value.startswith(_BEGINNING) else value


def secret_places() -> tuple[SecretPlace, ...]:
    """Return all columns with secrets, sorted by name."""
    fields = [
        (field, False)
        for model in apps.get_models()
        for field in model._meta.concrete_fields
        if isinstance(field, SecretField)
    ]
    for name in _IN_JSON:
        model_name, _, column = name.rpartition(".")
        fields.append((apps.get_model(model_name)._meta.get_field(column), True))
    return tuple(sorted((_place(field, is_json=is_json) for field, is_json in fields), key=str))


def _place(field: Any, *, is_json: bool) -> SecretPlace:
    meta = field.model._meta
    return SecretPlace(meta.label, meta.db_table, meta.pk.column, field.column, is_json)


def _changed_json(value: Any, change: Change) -> Any:
    if isinstance(value, dict):
        return {name: _changed_json(member, change) for name, member in value.items()}
    if isinstance(value, list):
        return [_changed_json(member, change) for member in value]
    if isinstance(value, str) and value.startswith(_BEGINNING.decode()):
        return change(value.encode()).decode()
    if isinstance(value, str) and value.startswith(_WRAPPED_BEGINNING):
        return base64.b64encode(change(base64.b64decode(value))).decode()
    return value
