"""A publication that was taken back says when and by what, and a run knows all its publications."""

import django.contrib.postgres.fields
from django.db import migrations, models

_SEQUENCES = ("changerun", "policyrun", "templaterun")


class Migration(migrations.Migration):
    dependencies = [("zones", "0053_restoring_runs")]

    operations = [
        migrations.AddField(
            model_name="publication",
            name="failed_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="publication",
            name="taken_back_in",
            field=models.BigIntegerField(null=True),
        ),
        migrations.AddIndex(
            model_name="publication",
            index=models.Index(
                condition=models.Q(("failed_at__isnull", False)), fields=["failed_at"], name="publication_failed"
            ),
        ),
        *(
            migrations.AddField(
                model_name=name,
                name="sequences",
                field=django.contrib.postgres.fields.ArrayField(
                    base_field=models.BigIntegerField(), db_default=[], default=list, size=None
                ),
            )
            for name in _SEQUENCES
        ),
    ]
