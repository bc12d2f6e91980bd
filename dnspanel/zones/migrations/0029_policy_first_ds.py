from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('zones', '0028_search'),
    ]

    operations = [
        migrations.AddField(
            model_name='dnssecpolicy',
            name='first_ds',
            field=models.BooleanField(default=False),
        ),
    ]
