"""DNSSEC policies, what they are attached to, and the runs that carry them out."""

import django.db.models.deletion
import django.db.models.functions.text
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("accounts", "0010_right_dnssec"),
        ("zones", "0013_rollovers"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="DnssecPolicy",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=64)),
                ("algorithm", models.SmallIntegerField()),
                ("bits", models.IntegerField(null=True)),
                ("split", models.BooleanField(default=False)),
                ("nsec3", models.JSONField(null=True)),
                ("cds", models.CharField(blank=True, default="", max_length=16)),
                ("cdnskey", models.BooleanField(default=False)),
                ("zsk_days", models.IntegerField(null=True)),
                ("ksk_days", models.IntegerField(null=True)),
                ("automatic", models.BooleanField(default=False)),
                ("is_default", models.BooleanField(default=False)),
                ("created_at", models.DateTimeField()),
                ("changed_at", models.DateTimeField()),
            ],
            options={
                "constraints": [models.UniqueConstraint(django.db.models.functions.text.Lower("name"), name="dnssec_policy_name_unique"), models.UniqueConstraint(condition=models.Q(("is_default", True)), fields=("is_default",), name="dnssec_policy_default")],
            },
        ),
        migrations.CreateModel(
            name="PolicyRun",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("by_token", models.BooleanField(default=False)),
                ("address", models.GenericIPAddressField(null=True)),
                ("request_id", models.CharField(blank=True, default="", max_length=36)),
                ("created_at", models.DateTimeField()),
                ("dry_run", models.BooleanField()),
                ("search", models.TextField(blank=True, default="")),
                ("fingerprint", models.CharField(max_length=64)),
                ("state", models.CharField(choices=[("waiting", "waiting for a worker"), ("running", "running"), ("done", "done"), ("cancelled", "cancelled"), ("failed", "failed")], default="waiting", max_length=9)),
                ("failure", models.TextField(blank=True, default="")),
                ("cursor", models.IntegerField(default=0)),
                ("total", models.IntegerField(default=0)),
                ("done", models.IntegerField(default=0)),
                ("counts", models.JSONField(default=dict)),
                ("last_sequence", models.BigIntegerField(default=0)),
                ("started_at", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
                ("form_id", models.UUIDField(null=True, unique=True)),
                ("author", models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL)),
                ("dry_run_of", models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="+", to="zones.policyrun")),
                ("policy", models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name="+", to="zones.dnssecpolicy")),
                ("token", models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="+", to="accounts.token")),
            ],
        ),
        migrations.CreateModel(
            name="PolicyRunZone",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("zone_name", models.TextField(db_collation="C")),
                ("act", models.CharField(max_length=9)),
                ("message", models.TextField(blank=True)),
                ("run", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="zones", to="zones.policyrun")),
            ],
        ),
        migrations.CreateModel(
            name="PolicyAttachment",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("tag", models.TextField(null=True, unique=True)),
                ("attached_at", models.DateTimeField()),
                ("policy", models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="attachments", to="zones.dnssecpolicy")),
                ("team", models.OneToOneField(null=True, on_delete=django.db.models.deletion.CASCADE, related_name="+", to="accounts.team")),
                ("zone", models.OneToOneField(null=True, on_delete=django.db.models.deletion.CASCADE, related_name="+", to="zones.zone")),
            ],
            options={
                "constraints": [models.CheckConstraint(condition=models.Q(models.Q(("tag", None), ("team", None), ("zone__isnull", False)), models.Q(("tag", None), ("team__isnull", False), ("zone", None)), models.Q(("tag__isnull", False), ("team", None), ("zone", None)), _connector="OR"), name="policy_attachment_to_one")],
            },
        ),
        migrations.AddIndex(
            model_name="policyrun",
            index=models.Index(fields=["author", "-id"], name="policyrun_author"),
        ),
        migrations.AddIndex(
            model_name="policyrun",
            index=models.Index(condition=models.Q(("state__in", ("waiting", "running"))), fields=["state"], name="policyrun_unfinished"),
        ),
        migrations.AddIndex(
            model_name="policyrunzone",
            index=models.Index(fields=["run", "act", "id"], name="policyrunzone_act"),
        ),
    ]
