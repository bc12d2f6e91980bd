"""How far a node's files are while its PowerDNS does not answer for all new zones in them yet."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("fleet", "0008_computed_types")]

    operations = [
        migrations.AddField(model_name="node", name="applied", field=models.BigIntegerField(db_default=0, default=0)),
        migrations.AddField(model_name="node", name="applied_at", field=models.DateTimeField(null=True)),
    ]
