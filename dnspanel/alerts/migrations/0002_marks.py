"""Information as a severity, the objects of alerts, and marks of people: read and muted."""

import django.contrib.postgres.fields
from django.db import migrations, models

_SEVERITIES = [("info", "information"), ("warning", "warning"), ("critical", "critical")]
_LEAST = [("info", "everything"), ("warning", "warnings and critical alerts"), ("critical", "critical alerts only")]


class Migration(migrations.Migration):
    dependencies = [("alerts", "0001_tables")]

    operations = [
        migrations.AlterField("alert", "severity", models.CharField(max_length=10, choices=_SEVERITIES)),
        migrations.AlterField("route", "least", models.CharField(max_length=10, choices=_LEAST, default="info")),
        migrations.AddField(
            "alert",
            "about",
            django.contrib.postgres.fields.ArrayField(models.TextField(), db_default=[], default=list),
        ),
        migrations.AddField(
            "alert",
            "read_by",
            django.contrib.postgres.fields.ArrayField(models.BigIntegerField(), db_default=[], default=list),
        ),
        migrations.AddField("alert", "muted_until", models.DateTimeField(null=True)),
        # These routes were set to send everything.
        migrations.RunSQL(
            "UPDATE alerts_route SET least = 'info' WHERE least = 'warning'",
            "UPDATE alerts_route SET least = 'warning' WHERE least = 'info'",
        ),
    ]
