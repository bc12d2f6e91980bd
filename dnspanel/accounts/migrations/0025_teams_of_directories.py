import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps


def keep_what_groups_are(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Note the teams that directories created, by the audit log; all others that groups are by now are selected."""
    alias = schema_editor.connection.alias
    entries = apps.get_model("accounts", "AuditEntry").objects.using(alias)
    groups = apps.get_model("accounts", "ScimGroup").objects.using(alias)
    teams = apps.get_model("accounts", "Team").objects.using(alias)
    for directory in apps.get_model("accounts", "ScimDirectory").objects.using(alias).order_by("pk"):
        created = entries.filter(action="team.create", user_id=directory.account_id)
        ids = set(created.values_list("details__team", flat=True))
        teams.filter(pk__in=ids, made_by_directory=None).update(made_by_directory=directory)
        bound = groups.filter(directory=directory).exclude(team=None)
        others = bound.exclude(team__made_by_directory=directory).values_list("team_id", flat=True)
        directory.teams = sorted(set(others))
        directory.save(update_fields=["teams"])


class Migration(migrations.Migration):
    """Which teams a directory created, and which others an administrator lets it use."""

    dependencies = [("accounts", "0024_canonical_names")]

    operations = [
        migrations.AddField(
            model_name="team",
            name="made_by_directory",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="accounts.scimdirectory",
            ),
        ),
        migrations.AddField(
            model_name="scimdirectory",
            name="teams",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.IntegerField(), blank=True, db_default=[], default=list, size=None
            ),
        ),
        migrations.RunPython(keep_what_groups_are, migrations.RunPython.noop),
    ]
