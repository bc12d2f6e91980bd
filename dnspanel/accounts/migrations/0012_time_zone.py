"""The time zone of a person; UTC for those that are there, as it was for everybody."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0011_list_looks")]

    operations = [
        migrations.AddField(
            model_name="user",
            name="time_zone",
            field=models.CharField(db_default="UTC", default="UTC", max_length=64),
        ),
    ]
