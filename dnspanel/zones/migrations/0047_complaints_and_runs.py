"""Complaints of the checks, which go with their zone as in 0003_in_sets, and runs that change many zones alike."""

import importlib

import django.contrib.postgres.fields
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.models import Q

in_sets = importlib.import_module("dnspanel.zones.migrations.0003_in_sets")
search = importlib.import_module("dnspanel.zones.migrations.0028_search")

_CHILDREN = (*search._CHILDREN, ("zones_searchtext", "zone_id"))
_GONE_WITH = search._DROP_GONE + in_sets.belongs("zones_zone", "id", *_CHILDREN, ("zones_complaint", "zone_id"))
_GONE_WITHOUT = search._DROP_GONE + in_sets.belongs("zones_zone", "id", *_CHILDREN)


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0019_saml"),
        ("zones", "0046_server_sets"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="ComplaintProgress",
            fields=[
                ("id", models.SmallIntegerField(default=1, primary_key=True, serialize=False)),
                ("sequence", models.BigIntegerField()),
                ("is_complete", models.BooleanField(default=False)),
                ("walk_began_at", models.DateTimeField()),
                ("zone_id", models.IntegerField(default=0, null=True)),
                ("owner_key", models.BinaryField(default=b"")),
            ],
            options={
                "constraints": [models.CheckConstraint(condition=Q(id=1), name="complaint_progress_single")],
            },
        ),
        migrations.CreateModel(
            name="Complaint",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "zone",
                        "owner_key",
                        "type",
                        "into",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("owner_key", models.BinaryField()),
                ("type", models.IntegerField()),
                ("into", models.IntegerField(default=0)),
                ("message", models.TextField()),
                (
                    "zone",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="zones.zone",
                    ),
                ),
            ],
            options={"indexes": [models.Index(condition=~Q(into=0), fields=["into"], name="complaint_into")]},
        ),
        migrations.RunSQL(_GONE_WITH, _GONE_WITHOUT),
        migrations.AddField(
            "templaterun",
            "names",
            django.contrib.postgres.fields.ArrayField(
                base_field=models.TextField(), db_default=[], default=list, size=None
            ),
        ),
        migrations.CreateModel(
            name="ChangeRun",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("by_token", models.BooleanField(default=False)),
                ("address", models.GenericIPAddressField(null=True)),
                ("request_id", models.CharField(blank=True, default="", max_length=36)),
                ("created_at", models.DateTimeField()),
                ("dry_run", models.BooleanField()),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "waiting for a worker"),
                            ("running", "running"),
                            ("done", "done"),
                            ("cancelled", "cancelled"),
                            ("failed", "failed"),
                        ],
                        default="waiting",
                        max_length=9,
                    ),
                ),
                ("failure", models.TextField(blank=True, default="")),
                ("cursor", models.IntegerField(default=0)),
                ("total", models.IntegerField(default=0)),
                ("done", models.IntegerField(default=0)),
                ("counts", models.JSONField(default=dict)),
                ("last_sequence", models.BigIntegerField(default=0)),
                ("started_at", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
                ("form_id", models.UUIDField(null=True, unique=True)),
                (
                    "act",
                    models.CharField(
                        choices=[
                            ("add-tags", "add tags"),
                            ("remove-tags", "remove tags"),
                            ("team", "give to a team"),
                            ("delete", "move to the trash"),
                            ("policy", "give a DNSSEC policy"),
                        ],
                        max_length=11,
                    ),
                ),
                (
                    "tags",
                    django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), default=list, size=None),
                ),
                ("reason", models.TextField(blank=True, default="")),
                ("search", models.TextField(blank=True, default="")),
                (
                    "names",
                    django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), default=list, size=None),
                ),
                (
                    "author",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "dry_run_of",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="+", to="zones.changerun"
                    ),
                ),
                (
                    "policy",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="zones.dnssecpolicy",
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.CASCADE, related_name="+", to="accounts.team"
                    ),
                ),
                (
                    "token",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="+", to="accounts.token"
                    ),
                ),
                (
                    "undo_of",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="undos",
                        to="zones.changerun",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="ChangeRunZone",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("zone_id", models.IntegerField()),
                ("zone_name", models.TextField(db_collation="C")),
                ("outcome", models.CharField(max_length=7)),
                ("message", models.TextField(blank=True)),
                ("revision", models.IntegerField()),
                ("before", models.JSONField(default=dict)),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="zones", to="zones.changerun"
                    ),
                ),
            ],
        ),
        migrations.AddIndex(
            model_name="changerun",
            index=models.Index(fields=["author", "-id"], name="changerun_author"),
        ),
        migrations.AddIndex(
            model_name="changerun",
            index=models.Index(
                condition=models.Q(("state__in", ("waiting", "running"))), fields=["state"], name="changerun_unfinished"
            ),
        ),
        migrations.AddIndex(
            model_name="changerunzone",
            index=models.Index(fields=["run", "outcome", "id"], name="changerunzone_outcome"),
        ),
        migrations.AddConstraint(
            model_name="changerunzone",
            constraint=models.UniqueConstraint(fields=("run", "zone_id"), name="changerunzone_zone"),
        ),
    ]
