"""The keys under which private DNSSEC keys travel and rest."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("publish", "0007_damaged_index"),
    ]

    operations = [
        migrations.CreateModel(
            name="SealingKey",
            fields=[
                ("id", models.AutoField(primary_key=True, serialize=False)),
                ("secret_encrypted", models.BinaryField()),
                ("created_at", models.DateTimeField()),
            ],
        ),
    ]
