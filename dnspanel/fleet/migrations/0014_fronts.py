import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("fleet", "0013_unproven_zone")]

    operations = [
        migrations.AddField(
            model_name="node",
            name="is_front",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.CreateModel(
            name="Front",
            fields=[
                (
                    "node",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="front",
                        serialize=False,
                        to="fleet.node",
                    ),
                ),
                ("minimum", models.IntegerField(default=1)),
                ("most_behind", models.IntegerField(default=0)),
                ("behind_seconds", models.FloatField(default=1.0)),
                ("queries_per_second", models.IntegerField(default=0)),
                ("cache_entries", models.IntegerField(default=0)),
                ("pushed", models.CharField(blank=True, default="", max_length=32)),
                ("pushed_at", models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name="FrontBackend",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("weight", models.IntegerField(default=1)),
                (
                    "node",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="fleet.node"
                    ),
                ),
                (
                    "front",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="backends",
                        to="fleet.front",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("front", "node"), name="front_backend_once")
                ],
            },
        ),
    ]
