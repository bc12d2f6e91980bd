"""ALIAS and LUA: each group's resolver, and what its nodes do not answer."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("fleet", "0007_stages_refused_since")]

    operations = [
        migrations.AddField(
            model_name="nodegroup",
            name="resolver",
            field=models.CharField(blank=True, db_default="", default="", max_length=64),
        ),
        migrations.AddField(
            model_name="node",
            name="unanswered",
            field=models.JSONField(db_default=[], default=list),
        ),
    ]
