"""What changes at no node is said in the same words for catalogs of ours as for those of others."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("zones", "0050_rollovers_wait_for_secondaries")]

    operations = [
        migrations.AlterField(
            "revision",
            "kind",
            models.CharField(
                choices=[
                    ("create", "created"),
                    ("change", "changed"),
                    ("delete", "deleted"),
                    ("restore", "restored"),
                    ("await", "created to be transferred"),
                    ("expire", "expired"),
                    ("list", "changed, and at no node"),
                ],
                max_length=8,
            ),
        ),
    ]
