"""How zones are signed, their keys, and what each revision did to both."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("zones", "0011_audit_chain"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Signing",
            fields=[
                (
                    "zone",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="signing",
                        serialize=False,
                        to="zones.zone",
                    ),
                ),
                ("state", models.JSONField(default=dict)),
                ("is_signed", models.BooleanField(default=False)),
                ("changed_at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="SigningChange",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("revision_number", models.IntegerField()),
                ("before", models.JSONField(null=True)),
                ("after", models.JSONField(null=True)),
                (
                    "zone",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="zones.zone",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("zone", "revision_number"), name="signing_change_unique")
                ],
            },
        ),
        migrations.CreateModel(
            name="ZoneKey",
            fields=[
                ("id", models.AutoField(primary_key=True, serialize=False)),
                ("algorithm", models.SmallIntegerField()),
                ("bits", models.IntegerField()),
                ("flags", models.SmallIntegerField()),
                ("tag", models.IntegerField()),
                ("public", models.BinaryField()),
                ("private_encrypted", models.BinaryField(null=True)),
                ("created_at", models.DateTimeField()),
                ("deleted_at", models.DateTimeField(null=True)),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "zone",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="zones.zone"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(condition=models.Q(("flags__in", (256, 257))), name="zonekey_flags"),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("private_encrypted__isnull", False), ("deleted_at__isnull", False), _connector="OR"
                        ),
                        name="zonekey_whole",
                    ),
                ],
            },
        ),
        # Ids of metadata rows in PowerDNS's files: never used twice, as those of zones and keys.
        migrations.RunSQL(
            "CREATE SEQUENCE zones_signing_row_id AS integer MAXVALUE 2147483646",
            "DROP SEQUENCE zones_signing_row_id",
        ),
    ]
