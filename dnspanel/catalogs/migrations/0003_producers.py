"""How far each catalog of ours follows its members, so that it is looked at where something of them changed."""

import django.db.models.deletion
from django.db import migrations, models
from django.db.models import Q

# Row by row: a zone is in one catalog, the row is found by its primary key, and nothing runs where neither changes.
NOTES_ZONES = """
CREATE FUNCTION catalogs_produced_moved() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE catalogs_produced SET moved = TRUE, label = CASE
        WHEN NEW.deleted_at IS NULL THEN label ELSE replace(gen_random_uuid()::text, '-', '') END
    WHERE zone_id = NEW.id;
    RETURN NULL;
END
$$;
CREATE TRIGGER catalogs_produced_moved AFTER UPDATE OF tags, deleted_at ON zones_zone FOR EACH ROW
WHEN (OLD.tags IS DISTINCT FROM NEW.tags OR (OLD.deleted_at IS NULL) <> (NEW.deleted_at IS NULL))
EXECUTE FUNCTION catalogs_produced_moved();
"""
NOTES_NOTHING = "DROP TRIGGER catalogs_produced_moved ON zones_zone; DROP FUNCTION catalogs_produced_moved();"

THERE = """
INSERT INTO catalogs_producer (zone_id, moves, followed)
SELECT id, 1, 0 FROM zones_zone WHERE is_catalog AND transferred_from = '';
UPDATE catalogs_produced p SET label = replace(gen_random_uuid()::text, '-', '')
FROM zones_zone z WHERE z.id = p.zone_id AND z.deleted_at IS NOT NULL;
"""


class Migration(migrations.Migration):
    dependencies = [("catalogs", "0002_produced"), ("zones", "0051_catalogs_of_ours")]

    operations = [
        migrations.CreateModel(
            name="Producer",
            fields=[
                (
                    "zone",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="producer",
                        serialize=False,
                        to="zones.zone",
                    ),
                ),
                ("moves", models.BigIntegerField(default=1)),
                ("followed", models.BigIntegerField(default=0)),
                ("compared_at", models.DateTimeField(null=True)),
            ],
        ),
        migrations.AlterField(
            "produced",
            "zone",
            models.OneToOneField(
                on_delete=django.db.models.deletion.CASCADE,
                primary_key=True,
                related_name="produced",
                serialize=False,
                to="zones.zone",
            ),
        ),
        migrations.AddField("produced", "moved", models.BooleanField(db_default=False, default=False)),
        migrations.AddIndex(
            "produced", models.Index(fields=["catalog"], condition=Q(moved=True), name="produced_moved")
        ),
        migrations.RunSQL(NOTES_ZONES, NOTES_NOTHING),
        migrations.RunSQL(THERE, migrations.RunSQL.noop),
    ]
