"""The addresses by which resolvers reach a node, which need not be the one that the panel asks it by."""

from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = (("fleet", "0014_fronts"),)

    operations = (
        migrations.AddField(
            "node", "public_addresses", ArrayField(models.TextField(), db_default=[], default=list, size=None)
        ),
    )
