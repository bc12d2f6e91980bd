"""The table of Django's cache, where django-allauth counts failed sign-ins."""

from django.conf import settings
from django.core.management import call_command
from django.db import migrations

TABLE = "accounts_limits"


def create(apps, schema_editor):
    if settings.CACHES["default"]["LOCATION"] == TABLE:
        call_command("createcachetable", TABLE, database=schema_editor.connection.alias, verbosity=0)


def drop(apps, schema_editor):
    schema_editor.execute(f"DROP TABLE IF EXISTS {TABLE}")


class Migration(migrations.Migration):
    dependencies = [("accounts", "0002_user_name_unique")]
    operations = [migrations.RunPython(create, drop)]
