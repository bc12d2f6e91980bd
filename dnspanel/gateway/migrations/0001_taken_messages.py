from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="TakenMessage",
            fields=[
                ("id", models.UUIDField(primary_key=True, serialize=False)),
                ("until", models.DateTimeField(db_index=True)),
                ("rcode", models.SmallIntegerField(null=True)),
            ],
        ),
    ]
