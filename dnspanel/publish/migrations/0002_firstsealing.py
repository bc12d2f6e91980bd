"""Times of first sealings, filled from segments that can't be the result of a merge."""

from django.contrib.postgres.indexes import BrinIndex
from django.db import migrations, models

_FILL = """
INSERT INTO publish_firstsealing (epoch, schema, last, at)
SELECT epoch, schema, last, sealed_at FROM publish_segment WHERE first = last"""


class Migration(migrations.Migration):
    dependencies = [("publish", "0001_tables")]

    operations = [
        migrations.CreateModel(
            name="FirstSealing",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("epoch", models.UUIDField()),
                ("schema", models.SmallIntegerField()),
                ("last", models.BigIntegerField()),
                ("at", models.DateTimeField()),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("schema", "epoch", "last"), name="first_sealing_unique")
                ],
                "indexes": [BrinIndex(fields=["at"], name="first_sealing_at")],
            },
        ),
        migrations.RunSQL(_FILL, migrations.RunSQL.noop),
    ]
