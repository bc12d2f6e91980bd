from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0005_token_allowance'),
    ]

    operations = [
        migrations.AddField(
            model_name='user',
            name='quotas',
            field=models.JSONField(blank=True, db_default={}, default=dict),
        ),
        migrations.AddField(
            model_name='team',
            name='quotas',
            field=models.JSONField(blank=True, db_default={}, default=dict),
        ),
    ]
