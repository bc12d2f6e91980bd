from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('fleet', '0011_ahead_signing'),
    ]

    operations = [
        migrations.AddField(
            model_name='aheadzone',
            name='breaks',
            field=models.JSONField(default=dict),
        ),
    ]
