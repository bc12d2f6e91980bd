"""Texts of searches that have a comment are found by an index."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("zones", "0035_locks")]

    operations = [
        migrations.AddIndex(
            "searchtext",
            models.Index(
                condition=models.Q(has_comments=True), fields=["zone", "first_key"], name="search_text_comments"
            ),
        ),
    ]
