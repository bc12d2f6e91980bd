"""The names of an import's zones wait before they are sorted into the index of trigrams, as rdata does since 0003."""

import django.contrib.postgres.indexes
import django.db.models.functions.text
from django.db import migrations

_INDEX = django.contrib.postgres.indexes.GinIndex(
    django.contrib.postgres.indexes.OpClass(django.db.models.functions.text.Upper("name"), "gin_trgm_ops"),
    gin_pending_list_limit=32 << 10,
    name="zone_name_trigram",
)


class Migration(migrations.Migration):
    dependencies = [("zones", "0051_catalogs_of_ours")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(
                    "ALTER INDEX zone_name_trigram SET (gin_pending_list_limit = 32768)",
                    reverse_sql="ALTER INDEX zone_name_trigram RESET (gin_pending_list_limit)",
                )
            ],
            state_operations=[
                migrations.RemoveIndex("zone", "zone_name_trigram"),
                migrations.AddIndex("zone", _INDEX),
            ],
        ),
    ]
