"""The DS RRsets of a zone are found without reading the others."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("zones", "0021_paused_denial")]

    operations = [
        migrations.AddIndex(
            "rrset", models.Index(fields=["zone"], condition=models.Q(type=43), name="rrset_ds")
        ),
    ]
