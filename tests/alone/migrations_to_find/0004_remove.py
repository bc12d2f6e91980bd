"""A column that the old code still reads, and an index that blocks writes while it is built."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("backup", "0003_require")]
    operations = [
        migrations.RemoveField("backup", "file"),
        migrations.AddIndex("backup", models.Index(fields=["size"], name="backup_size")),
    ]
