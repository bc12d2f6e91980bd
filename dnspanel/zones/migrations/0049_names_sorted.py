"""Names stand as people sort them: those of zones have a column, those of zones of many RRsets a table of their own.

A minute for a million of either. Names of RRsets go with their zone as in 0003_in_sets.
"""

import importlib

import django.db.models.deletion
from django.db import migrations, models
from django.db.models import Q

from dnspanel.zones.natural_order import natural_key, natural_text

in_sets = importlib.import_module("dnspanel.zones.migrations.0003_in_sets")
search = importlib.import_module("dnspanel.zones.migrations.0028_search")

_CHILDREN = (*search._CHILDREN, ("zones_searchtext", "zone_id"), ("zones_complaint", "zone_id"))
_GONE_WITH = search._DROP_GONE + in_sets.belongs("zones_zone", "id", *_CHILDREN, ("zones_nameplace", "zone_id"))
_GONE_WITHOUT = search._DROP_GONE + in_sets.belongs("zones_zone", "id", *_CHILDREN)

_AT_ONCE = 20_000
_LARGE = 5_000
_SORT = """
UPDATE zones_zone SET sort_name = sorted.name FROM unnest(%s::int[], %s::text[]) AS sorted (id, name)
WHERE zones_zone.id = sorted.id"""
_NAMES = "SELECT DISTINCT owner_key FROM zones_rrset WHERE zone_id = %s ORDER BY owner_key"


def sort_zones(apps, schema_editor):
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("SELECT id, name FROM zones_zone ORDER BY id")
        zones = cursor.fetchall()
        for begin in range(0, len(zones), _AT_ONCE):
            some = zones[begin : begin + _AT_ONCE]
            cursor.execute(_SORT, [[pk for pk, _ in some], [natural_text(name) for _, name in some]])


def place_names(apps, schema_editor):
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("SELECT id FROM zones_zone WHERE rrset_count > %s ORDER BY id", [_LARGE])
        for (zone_id,) in cursor.fetchall():
            cursor.execute(_NAMES, [zone_id])
            keys = [bytes(key) for (key,) in cursor.fetchall()]
            with cursor.copy("COPY zones_nameplace (zone_id, place, owner_key) FROM STDIN") as copy:
                for key in keys:
                    copy.write_row((zone_id, natural_key(key), key))


class Migration(migrations.Migration):
    dependencies = [("zones", "0048_catalog_zones")]

    operations = [
        migrations.AddField("zone", "sort_name", models.TextField(db_collation="C", editable=False, null=True)),
        migrations.RunPython(sort_zones, migrations.RunPython.noop),
        migrations.AlterField("zone", "sort_name", models.TextField(db_collation="C", editable=False)),
        migrations.AddIndex(
            "zone", models.Index(fields=["sort_name"], condition=Q(deleted_at=None), name="zone_sort_name")
        ),
        migrations.CreateModel(
            name="NamePlace",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "zone", "place", "owner_key", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("place", models.BinaryField()),
                ("owner_key", models.BinaryField()),
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
        ),
        migrations.RunPython(place_names, migrations.RunPython.noop),
        migrations.RunSQL(_GONE_WITH, _GONE_WITHOUT),
    ]
