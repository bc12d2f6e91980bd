from django.db import migrations, models


class Migration(migrations.Migration):
    """The fingerprint of the master key; `database_key` writes the row when the panel starts."""

    dependencies = [("accounts", "0022_language")]

    operations = [
        migrations.CreateModel(
            name="MasterKey",
            fields=[
                ("id", models.SmallIntegerField(default=1, primary_key=True, serialize=False)),
                ("fingerprint", models.CharField(max_length=16)),
                ("former", models.CharField(blank=True, max_length=16)),
                ("changed_at", models.DateTimeField()),
            ],
            options={
                "constraints": [models.CheckConstraint(condition=models.Q(("id", 1)), name="master_key_once")],
            },
        ),
    ]
