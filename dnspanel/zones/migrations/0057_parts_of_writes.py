"""Publications of one write know each other, so that the write is undone as one."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("zones", "0056_capitals_in_rdata")]

    operations = [
        migrations.AddField(
            model_name="publication",
            name="part_of",
            field=models.BigIntegerField(null=True),
        ),
        migrations.AddIndex(
            model_name="publication",
            index=models.Index(
                condition=models.Q(("part_of__isnull", False)), fields=["part_of"], name="publication_parts"
            ),
        ),
    ]
