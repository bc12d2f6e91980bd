import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("accounts", "0004_tokens"),
    ]

    operations = [
        migrations.AddField(
            model_name="token",
            name="allowance",
            field=models.IntegerField(null=True),
        ),
        migrations.AddField(
            model_name="token",
            name="allowance_of",
            field=models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="+", to="accounts.token"
            ),
        ),
    ]
