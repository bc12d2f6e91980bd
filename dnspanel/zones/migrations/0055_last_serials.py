"""A zone that comes back begins above the serial at which it was deleted; those in the trash say theirs."""

from django.db import migrations, models

_FROM_TRASH = """
INSERT INTO zones_lastserial (name, serial)
SELECT DISTINCT ON (name) name, serial FROM zones_zone
WHERE deleted_at IS NOT NULL AND (is_served OR transferred_from = '')
ORDER BY name, deleted_at DESC
"""


class Migration(migrations.Migration):
    dependencies = [("zones", "0054_taken_back")]

    operations = [
        migrations.CreateModel(
            "LastSerial",
            [
                ("name", models.TextField(db_collation="C", primary_key=True, serialize=False)),
                ("serial", models.BigIntegerField()),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("serial__gte", 0), ("serial__lt", 2**32)), name="last_serial_u32"
                    )
                ]
            },
        ),
        migrations.RunSQL(_FROM_TRASH, migrations.RunSQL.noop),
    ]
