"""Answers of secondaries are compared with their zones from time to time."""

from django.db import migrations, models

import dnspanel.text_fields


class Migration(migrations.Migration):
    dependencies = [("secondaries", "0009_transfers_by_keys")]

    operations = [
        migrations.AddField("member", "compared_at", models.DateTimeField(null=True)),
        migrations.AddField(
            "member", "difference", dnspanel.text_fields.MessageField(blank=True, db_default="", default="")
        ),
        migrations.AddField("member", "differs_since", models.DateTimeField(null=True)),
        migrations.AddIndex(
            "member",
            models.Index(
                fields=["secondary", "differs_since"],
                condition=models.Q(differs_since__isnull=False),
                name="member_differs",
            ),
        ),
    ]
