from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [("zones", "0043_publish_hooks")]

    operations = [
        migrations.AddField("zone", "transferred_from", models.TextField(blank=True, default="", db_default="")),
        migrations.AddField("zone", "is_served", models.BooleanField(default=True, db_default=True)),
        migrations.AddIndex(
            "zone", models.Index(fields=["name"], condition=~Q(transferred_from=""), name="zone_transferred")
        ),
        migrations.AlterField("publication", "channel", models.CharField(choices=[("web", "web"), ("api", "API"), ("import", "import"), ("dynamic", "dynamic update"), ("transfer", "transfer"), ("system", "system")], max_length=16)),
        migrations.AlterField("revision", "kind", models.CharField(choices=[("create", "created"), ("change", "changed"), ("delete", "deleted"), ("restore", "restored"), ("await", "created to be transferred"), ("expire", "expired")], max_length=8)),
    ]
