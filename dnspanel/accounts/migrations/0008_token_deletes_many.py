from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0007_token_needs_permission'),
    ]

    operations = [
        migrations.AddField(
            model_name='token',
            name='deletes_many',
            field=models.BooleanField(db_default=False, default=False),
        ),
    ]
