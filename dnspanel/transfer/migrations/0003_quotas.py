from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('transfer', '0002_tokens'),
    ]

    operations = [
        migrations.AddField(
            model_name='importjob',
            name='upload_bytes',
            field=models.BigIntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name='importpiece',
            name='spool_size',
            field=models.BigIntegerField(db_default=0, default=0),
        ),
    ]
