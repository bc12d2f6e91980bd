"""Tokens of calendar feeds, which have a secret like API tokens."""

from django.db import migrations, models

from dnspanel.accounts.models import TokenKind


class Migration(migrations.Migration):
    dependencies = [("accounts", "0001_tables")]

    operations = [
        migrations.AlterField("token", "kind", models.CharField(max_length=4, choices=TokenKind)),
        migrations.RemoveConstraint("token", "token_has_its_secret"),
        migrations.AddConstraint(
            "token",
            models.CheckConstraint(
                condition=models.Q(kind__in=["api", "scim", "feed"], secret_sha256__isnull=False, tsig_name=None)
                | models.Q(kind="tsig", secret_sha256=None, tsig_name__isnull=False, tsig_secret__isnull=False),
                name="token_has_its_secret",
            ),
        ),
    ]
