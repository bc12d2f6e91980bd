"""Lookups of pointers that use the indexes before PostgreSQL has statistics, for databases that began with others."""

from django.db import migrations

from dnspanel.zones.migrations._search import POINTING


class Migration(migrations.Migration):
    dependencies = [("zones", "0001_tables")]

    operations = [migrations.RunSQL(POINTING, migrations.RunSQL.noop)]
