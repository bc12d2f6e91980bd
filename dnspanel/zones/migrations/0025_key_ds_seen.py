from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('zones', '0024_due_refusal'),
    ]

    operations = [
        migrations.AddField(
            model_name='zonekey',
            name='ds_gone_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='zonekey',
            name='ds_seen_at',
            field=models.DateTimeField(null=True),
        ),
    ]
