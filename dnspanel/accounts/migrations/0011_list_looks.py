from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("accounts", "0010_right_dnssec"),
    ]

    operations = [
        migrations.AddField(
            model_name="user",
            name="list_looks",
            field=models.JSONField(blank=True, db_default={}, default=dict),
        ),
    ]
