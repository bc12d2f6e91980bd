"""A name belongs to one node of the fleet at most; those that were retired keep theirs, so a new node can take it."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = (("fleet", "0015_public_addresses"),)

    operations = (
        migrations.AlterField("node", "name", models.SlugField(max_length=63)),
        migrations.AddConstraint(
            "node",
            models.UniqueConstraint(
                fields=["name"], condition=~models.Q(state="retired"), name="node_name_of_fleet"
            ),
        ),
    )
