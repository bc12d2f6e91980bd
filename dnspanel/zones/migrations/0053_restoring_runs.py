"""A run may restore zones from the trash."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("zones", "0052_names_of_zones_wait")]

    operations = [
        migrations.AlterField(
            model_name="changerun",
            name="act",
            field=models.CharField(
                choices=[
                    ("add-tags", "add tags"),
                    ("remove-tags", "remove tags"),
                    ("team", "give to a team"),
                    ("delete", "move to the trash"),
                    ("policy", "give a DNSSEC policy"),
                    ("restore", "restore from the trash"),
                ],
                max_length=11,
            ),
        ),
    ]
