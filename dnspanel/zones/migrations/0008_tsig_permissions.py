import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("zones", "0007_created_by"),
    ]

    operations = [
        migrations.CreateModel(
            name="TsigPermission",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "act",
                    models.CharField(
                        choices=[("update", "DNS UPDATE"), ("transfer", "zone transfer")], max_length=8
                    ),
                ),
                ("key_name", models.TextField(db_collation="C")),
                (
                    "zone",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="zones.zone"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("zone", "act", "key_name"), name="tsig_permission_unique")
                ],
            },
        ),
    ]
