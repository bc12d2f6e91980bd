"""A migration that a test adds to `zones`, after the last one. It works."""

from pathlib import Path

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("zones", max(path.stem for path in Path(__file__).parent.glob("0*.py")))]
    operations = [migrations.RunSQL("ALTER TABLE zones_zone ADD COLUMN added_by_a_test integer")]
