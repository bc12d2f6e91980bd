from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('zones', '0047_complaints_and_runs'),
    ]

    operations = [
        migrations.AddField(
            model_name='zone',
            name='is_catalog',
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AlterField(
            model_name='revision',
            name='kind',
            field=models.CharField(
                choices=[
                    ('create', 'created'),
                    ('change', 'changed'),
                    ('delete', 'deleted'),
                    ('restore', 'restored'),
                    ('await', 'created to be transferred'),
                    ('expire', 'expired'),
                    ('list', 'transferred, to be read here alone'),
                ],
                max_length=8,
            ),
        ),
    ]
