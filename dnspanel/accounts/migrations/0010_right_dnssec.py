"""Grants and tokens for everything include the right to sign zones, which is new."""

from typing import Any

from django.db import migrations

EVERYTHING = {"read", "add", "change", "remove", "create-zone", "delete-zone", "settings"}


def include_dnssec(apps: Any, schema_editor: Any) -> None:
    for row in apps.get_model("accounts", "GrantRow").objects.all():
        if _extended(row.grant):
            row.save(update_fields=["grant"])
    for token in apps.get_model("accounts", "Token").objects.exclude(scope=None):
        if any([_extended(grant) for grant in token.scope]):
            token.save(update_fields=["scope"])


def _extended(grant: dict[str, Any]) -> bool:
    """Whether the right was added."""
    if not set(grant["rights"]) >= EVERYTHING:
        return False
    grant["rights"] = sorted({*grant["rights"], "dnssec"})
    return True


class Migration(migrations.Migration):

    dependencies = [
        ("accounts", "0009_sessions_ended"),
    ]

    operations = [
        migrations.RunPython(include_dnssec, migrations.RunPython.noop),
    ]
