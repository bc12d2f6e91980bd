"""Tests that `secret_places` has every column with a secret. A rotation would make all others unreadable."""

import ast
import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.apps import apps
from django.db import connection, models
from psycopg import sql

from dnspanel.accounts.secret_places import SecretField, SecretPlace, secret_places
from dnspanel.accounts.secrets.key_rotation import begin_rotation, end_rotation, rewrite
from dnspanel.accounts.secrets.vault import encrypt_secret
from tests.people import NOW
from tests.syntax import nodes_of

ROOT = Path(__file__).resolve().parents[3]

# Columns of bytes without secrets: names in DNS order, hashes, digests, public keys, contents of answers.
NO_SECRETS = {
    *("owner_key", "place", "first_key", "end_key", "secret_sha256", "request_sha256", "digest", "public"),
    *("content", "chain", "body"),
}

# The places that each module writes secrets to. A new module fails the test: think of rotation first.
WRITERS = {
    "dnspanel/accounts/sign_in/mfa_adapter.py": {"mfa.Authenticator.data"},
    "dnspanel/accounts/providers/ldap/ldap_servers.py": {"accounts.SignInProvider.client_secret"},
    "dnspanel/accounts/providers/oidc/oidc_providers.py": {"accounts.SignInProvider.client_secret"},
    "dnspanel/accounts/tokens/tokens.py": {"accounts.Token.tsig_secret"},
    "dnspanel/accounts/tokens/tsig_keys.py": {"accounts.Token.tsig_secret"},
    "dnspanel/alerts/routes.py": {"alerts.Route.secret"},
    "dnspanel/audit/forward/destinations.py": {"evidence.Destination.key", "evidence.Destination.headers"},
    "dnspanel/fleet/integrity/unknown_signing.py": {"fleet.AheadZone.signing", "zones.ZoneKey.private_encrypted"},
    "dnspanel/fleet/nodes/authority.py": {
        "fleet.Authority.ca_key_encrypted",
        "fleet.Authority.client_key_encrypted",
    },
    "dnspanel/primaries/set_up_primaries.py": {"primaries.TransferredZone.tsig_secret", "catalogs.Rule.tsig_secret"},
    "dnspanel/publish/keys/sealing_keys.py": {"publish.SealingKey.secret_encrypted"},
    "dnspanel/publish/keys/segment_signing.py": {"publish.SigningKey.private_encrypted"},
    "dnspanel/secondaries/server_certificate.py": {"secondaries.ServerCertificate.key_encrypted"},
    "dnspanel/secondaries/set_up_secondaries.py": {
        "secondaries.Secondary.tsig_secret",
        "secondaries.Secondary.old_secret",
    },
    "dnspanel/transfer/exports/export_jobs.py": {"transfer.ExportJob.secret"},
    "dnspanel/transfer/imports/import_jobs.py": {"transfer.ImportJob.secret"},
    "dnspanel/transfer/imports/read.py": {"transfer.KeptItem.value"},
    # Writes new secrets to the places above, in place of those of a lost key.
    "dnspanel/backup/lost_key.py": set(),
    # A page that is displayed once, within seconds, from a session. A rotation may make it unreadable.
    "dnspanel/web/frame/one_time_page.py": set(),
    "dnspanel/webhooks/hooks.py": {"webhooks.Webhook.secret", "webhooks.Webhook.old_secret"},
    "dnspanel/webhooks/place_publish_hooks.py": {"zones.PublishHook.secret", "zones.PublishHook.old_secret"},
    "dnspanel/zones/log/signing_log.py": {"zones.ZoneKey.private_encrypted"},
}


def test_every_column_of_bytes_is_a_secret_field_or_known_to_hold_no_secret() -> None:
    unknown = [
        f"{model._meta.label}.{field.name}"
        for model in apps.get_models()
        if model.__module__.startswith("dnspanel.")
        for field in model._meta.concrete_fields
        if isinstance(field, models.BinaryField) and not isinstance(field, SecretField)
        if field.name not in NO_SECRETS
    ]
    assert unknown == []


def test_every_module_that_encrypts_says_where_its_secrets_are_and_rotation_knows_the_place() -> None:
    callers = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "dnspanel").rglob("*.py")
        for node in nodes_of(path)
        if isinstance(node, ast.ImportFrom) and node.module == "dnspanel.accounts.secrets.vault"
        if any(alias.name == "encrypt_secret" for alias in node.names)
    }
    assert callers == set(WRITERS)
    places = {str(place) for place in secret_places()}
    assert set().union(*WRITERS.values()) == places


@pytest.mark.django_db
def test_a_rotation_leaves_no_token_of_the_former_key_in_any_column_of_any_table(settings: Any) -> None:
    """Every place gets a secret. After the rotation, every column of every table is searched for old tokens."""
    tokens = {str(place): _fill(place, number) for number, place in enumerate(secret_places(), 1)}
    former, settings.MASTER_KEY = settings.MASTER_KEY, Fernet.generate_key().decode()
    settings.MASTER_KEYS_OLD = [former]
    begin_rotation(now=NOW)
    assert sum(place.rewritten for place in rewrite()) == len(tokens)
    assert sum(place.rewritten for place in rewrite()) == 0
    end_rotation(now=NOW, secrets=len(tokens))
    found = list(_tokens_of_all_tables())
    assert len(found) >= len(tokens)
    for where, token in found:
        assert Fernet(settings.MASTER_KEY).decrypt(token).startswith(b"secret of "), where
    assert {Fernet(settings.MASTER_KEY).decrypt(token) for _, token in found} == {
        f"secret of {name}".encode() for name in tokens
    }


def _fill(place: SecretPlace, number: int) -> bytes:
    """Insert a row with a secret in its place and the number in all other columns. Return the secret's token."""
    token = encrypt_secret(f"secret of {place}".encode())
    value: object = token
    if place.is_json:
        value = json.dumps({"keys": [[1, token.decode()]]})
        if place.table == apps.get_model("fleet.AheadZone")._meta.db_table:
            value = json.dumps({"keys": [[1, base64.b64encode(token).decode()]]})
    table = sql.Identifier(place.table)
    with connection.cursor() as cursor:
        # Foreign keys and rules concern other columns, and the transaction is rolled back.
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute(
            "SELECT conname FROM pg_constraint WHERE conrelid = %s::regclass AND contype IN ('c', 'f')", [place.table]
        )
        for (name,) in cursor.fetchall():
            cursor.execute(sql.SQL("ALTER TABLE {} DROP CONSTRAINT {}").format(table, sql.Identifier(name)))
        cursor.execute(
            "SELECT column_name, data_type FROM information_schema.columns WHERE table_schema = 'public'"
            " AND table_name = %s AND is_nullable = 'NO' AND is_identity = 'NO' AND column_default IS NULL",
            [place.table],
        )
        columns = {name: _something(kind, number) for name, kind in cursor.fetchall()} | {place.column: value}
        cursor.execute(
            sql.SQL("INSERT INTO {} ({}) VALUES ({})").format(
                table,
                sql.SQL(", ").join(map(sql.Identifier, columns)),
                sql.SQL(", ").join([sql.Placeholder()] * len(columns)),
            ),
            list(columns.values()),
        )
    return token


def _something(kind: str, number: int) -> object:
    if kind in ("bytea", "ARRAY", "jsonb"):
        return {"bytea": str(number).encode(), "ARRAY": [], "jsonb": "{}"}[kind]
    if kind == "boolean":
        return False
    if kind.startswith("timestamp") or kind == "date":
        return NOW
    return "00000000-0000-0000-0000-000000000000" if kind == "uuid" else str(number)


def _tokens_of_all_tables() -> Iterator[tuple[str, bytes]]:
    """Yield the column and text of everything that looks like a Fernet token, plain or in Base64, in all tables."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT table_name, column_name, data_type FROM information_schema.columns JOIN information_schema.tables"
            " USING (table_schema, table_name) WHERE table_schema = 'public' AND table_type = 'BASE TABLE'"
        )
        for table, column, kind in cursor.fetchall():
            text = "encode({}, 'escape')" if kind == "bytea" else "{}::text"
            cursor.execute(
                sql.SQL(
                    "SELECT part[1] FROM {}, regexp_matches("
                    + text
                    + ", '((?:gAAAA|Z0FBQUF)[A-Za-z0-9_=-]{{80,}})', 'g')"
                    " AS part"
                ).format(sql.Identifier(table), sql.Identifier(column))
            )
            for (found,) in cursor.fetchall():
                token = found.encode()
                yield f"{table}.{column}", base64.b64decode(token) if token.startswith(b"Z0FBQUF") else token
