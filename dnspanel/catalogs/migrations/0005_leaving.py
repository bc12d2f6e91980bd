"""Zones that go from one catalog of ours into another one (RFC 9432, section 4.3.1)."""

import django.db.models.deletion
from django.db import migrations, models

_FUNCTION = """
CREATE OR REPLACE FUNCTION catalogs_produced_moved() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE catalogs_produced SET moved = TRUE, label = CASE
        WHEN NEW.deleted_at IS NULL THEN label ELSE replace(gen_random_uuid()::text, '-', '') END
    WHERE zone_id = NEW.id;{besides}
    RETURN NULL;
END
$$;
"""
# As in migration 0003; and a catalog that a zone left drops it in the trash, and does not name it again if it comes
# back.
NOTES_ZONES = _FUNCTION.format(
    besides="""
    IF NEW.deleted_at IS NOT NULL THEN
        UPDATE catalogs_leaving SET told_at = to_timestamp(0), way = GREATEST(way, 1) WHERE zone_id = NEW.id;
    END IF;"""
)
NOTED_BEFORE = _FUNCTION.format(besides="")


class Migration(migrations.Migration):
    dependencies = [("catalogs", "0004_producer_groups"), ("zones", "0051_catalogs_of_ours")]

    operations = [
        migrations.CreateModel(
            name="Leaving",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("label", models.CharField(max_length=32)),
                ("told_at", models.DateTimeField(null=True)),
                (
                    "way",
                    models.SmallIntegerField(
                        choices=[(0, "said"), (1, "arrived"), (2, "gone"), (3, "anew")], default=0
                    ),
                ),
                (
                    "catalog",
                    models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="+", to="zones.zone"),
                ),
                (
                    "entered",
                    models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="+", to="zones.zone"),
                ),
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
                "constraints": [models.UniqueConstraint(fields=("zone", "catalog"), name="leaving_once")],
            },
        ),
        migrations.AddField("produced", "ttl", models.SmallIntegerField(db_default=0, default=0)),
        migrations.RunSQL(NOTES_ZONES, NOTED_BEFORE),
    ]
