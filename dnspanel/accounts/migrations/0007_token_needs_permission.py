from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("accounts", "0006_quotas"),
    ]

    operations = [
        migrations.AddField(
            model_name="token",
            name="needs_permission",
            field=models.BooleanField(default=False),
        ),
    ]
