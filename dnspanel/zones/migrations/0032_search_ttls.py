"""Texts of searches say which types and TTLs their RRsets have; they are written anew by the worker."""

import django.contrib.postgres.fields
from django.db import migrations, models

# Texts of many RRsets are read in full again and again: that takes a third of the time if they are not compressed.
_UNCOMPRESSED = "ALTER TABLE zones_searchtext ALTER COLUMN text SET STORAGE EXTERNAL"
_COMPRESSED = "ALTER TABLE zones_searchtext ALTER COLUMN text SET STORAGE EXTENDED"
_EMPTY = "TRUNCATE zones_searchtext, zones_searchprogress"


class Migration(migrations.Migration):
    dependencies = [("zones", "0031_expiry")]

    operations = [
        migrations.RunSQL(_EMPTY, migrations.RunSQL.noop),
        migrations.AddField(
            "searchtext", "types", django.contrib.postgres.fields.ArrayField(models.IntegerField(), size=None)
        ),
        migrations.AddField(
            "searchtext", "ttls", django.contrib.postgres.fields.ArrayField(models.IntegerField(), size=None)
        ),
        migrations.AddField("searchtext", "has_comments", models.BooleanField()),
        migrations.RunSQL(_UNCOMPRESSED, _COMPRESSED),
    ]
