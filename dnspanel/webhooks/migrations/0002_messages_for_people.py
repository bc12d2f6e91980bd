import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("webhooks", "0001_initial")]

    operations = [
        migrations.AddField(
            model_name="webhook",
            name="format",
            field=models.CharField(
                choices=[
                    ("events", "Signed events, for programs"),
                    ("mail", "Mail to you"),
                    ("slack", "Slack"),
                    ("mattermost", "Mattermost"),
                    ("teams", "Microsoft Teams"),
                ],
                db_default="events",
                default="events",
                max_length=12,
            ),
        ),
        migrations.AddField(
            model_name="webhook",
            name="zones",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.TextField(), db_default=[], default=list, size=None
            ),
        ),
        migrations.AddField(
            model_name="webhook",
            name="tags",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.TextField(), db_default=[], default=list, size=None
            ),
        ),
        migrations.AddField(
            model_name="webhook",
            name="teams",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.IntegerField(), db_default=[], default=list, size=None
            ),
        ),
        migrations.AddField(
            model_name="webhook",
            name="gather_minutes",
            field=models.IntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name="webhook",
            name="quiet_from",
            field=models.TimeField(null=True),
        ),
        migrations.AddField(
            model_name="webhook",
            name="quiet_until",
            field=models.TimeField(null=True),
        ),
    ]
