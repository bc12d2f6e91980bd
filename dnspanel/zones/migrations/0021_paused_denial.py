from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('zones', '0020_signatures_end'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='signing',
            index=models.Index(condition=models.Q(('state__has_key', 'paused')), fields=['zone'], name='signing_paused'),
        ),
    ]
