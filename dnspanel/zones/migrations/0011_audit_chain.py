"""The hashes that chain every act of the audit log to those before it."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("zones", "0010_origin")]

    operations = [
        migrations.CreateModel(
            name="AuditChain",
            fields=[
                ("id", models.SmallIntegerField(default=1, primary_key=True, serialize=False)),
                ("sequence", models.BigIntegerField(default=0)),
                ("floor", models.BigIntegerField(default=0)),
                ("next_floor", models.BigIntegerField(default=0)),
                ("next_floor_after", models.BigIntegerField(null=True)),
                ("asked_at", models.DateTimeField(null=True)),
                ("checked_at", models.DateTimeField(null=True)),
                ("checked_to", models.BigIntegerField(default=0)),
                ("faults", models.JSONField(default=list)),
            ],
            options={
                "constraints": [models.CheckConstraint(condition=models.Q(("id", 1)), name="audit_chain_single")],
            },
        ),
        migrations.CreateModel(
            name="AuditLink",
            fields=[
                ("number", models.BigIntegerField(primary_key=True, serialize=False)),
                ("kind", models.CharField(max_length=11)),
                ("ref", models.BigIntegerField()),
                ("content", models.BinaryField()),
                ("parts", models.JSONField(default=dict)),
                ("chain", models.BinaryField()),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("kind", "ref"), name="audit_link_once")],
            },
        ),
    ]
