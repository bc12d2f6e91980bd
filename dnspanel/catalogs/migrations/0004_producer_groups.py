"""Groups in catalogs of ours (RFC 9432, section 4.3.2)."""

from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("catalogs", "0003_producers")]

    operations = [
        migrations.AddField(
            "producer", "group_tags", ArrayField(base_field=models.TextField(), default=list, size=None)
        )
    ]
