"""Why a rollover that a policy asks for cannot begin."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("zones", "0023_accepted_breaks")]

    operations = [
        migrations.AddField("signing", "due_refusal", models.TextField(blank=True, default="", db_default="")),
        migrations.AddField("signing", "due_refused_at", models.DateTimeField(null=True)),
        migrations.AddIndex(
            "signing",
            models.Index(
                fields=["due_refused_at"],
                name="signing_refused",
                condition=models.Q(due_refused_at__isnull=False),
            ),
        ),
    ]
