"""Which processes of the panel run, and when its periodic work was last done."""

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("fleet", "0016_names_of_retired_nodes")]

    operations: ClassVar = [
        migrations.CreateModel(
            name="PanelProcess",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.SlugField(max_length=32)),
                ("host", models.CharField(max_length=255)),
                ("pid", models.BigIntegerField()),
                ("started_at", models.DateTimeField()),
                ("at", models.DateTimeField()),
                ("version", models.CharField(default="", max_length=64)),
                ("places", models.PositiveIntegerField(default=0)),
                ("busy", models.PositiveIntegerField(default=0)),
                ("task", models.TextField(default="")),
                ("task_since", models.DateTimeField(null=True)),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("name", "host", "pid"), name="panel_process_once")]
            },
        ),
        migrations.CreateModel(
            name="PeriodicTask",
            fields=[
                ("name", models.SlugField(max_length=64, primary_key=True, serialize=False)),
                ("since", models.DateTimeField()),
                ("succeeded_at", models.DateTimeField(null=True)),
                ("failures", models.PositiveIntegerField(default=0)),
                ("failing_since", models.DateTimeField(null=True)),
                ("error", models.TextField(default="")),
            ],
        ),
    ]
