import sys

from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

from dnspanel.accounts.account_keys import fill_keys


def fill(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Fill the columns, and print which accounts keep none and how they work."""
    for line in fill_keys(apps.get_model("accounts", "User").objects.using(schema_editor.connection.alias)):
        sys.stderr.write(f"\n  {line}")


class Migration(migrations.Migration):
    """The canonical spelling of user names and mail addresses, by which accounts are found."""

    dependencies = [("accounts", "0023_master_key")]

    operations = [
        migrations.RemoveConstraint(model_name="user", name="user_name_unique"),
        migrations.AddField(
            model_name="user",
            name="name_key",
            field=models.CharField(blank=True, editable=False, max_length=320, null=True, unique=True),
        ),
        migrations.AddField(
            model_name="user",
            name="mail_key",
            field=models.CharField(blank=True, editable=False, max_length=320, null=True, unique=True),
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
