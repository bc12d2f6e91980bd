"""The index that finds the tokens that expire in a period."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("accounts", "0002_calendar_feeds")]

    operations = [
        AddIndexConcurrently(
            "token",
            models.Index(
                fields=["expires_at"],
                condition=models.Q(expires_at__isnull=False, revoked_at=None),
                name="token_ends",
            ),
        ),
    ]
