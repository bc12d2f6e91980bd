from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("accounts", "0008_token_deletes_many"),
    ]

    operations = [
        migrations.AddField(
            model_name="user",
            name="sessions_ended",
            field=models.IntegerField(default=0),
        ),
    ]
