"""Lookups of pointers that never read all records of a type, for databases that began with others."""

from django.db import migrations

from dnspanel.zones.migrations._search import POINTING


class Migration(migrations.Migration):
    dependencies = [("zones", "0002_pointing")]

    operations = [migrations.RunSQL(POINTING, migrations.RunSQL.noop)]
