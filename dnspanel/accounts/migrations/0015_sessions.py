"""Sessions say whose they are; those that there are go on, and their rows are filled in as people click."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

COPY = """
    INSERT INTO accounts_session (session_key, session_data, expire_date, browser)
    SELECT session_key, session_data, expire_date, '' FROM django_session WHERE expire_date > now();
    DELETE FROM django_session
"""


class Migration(migrations.Migration):
    dependencies = [("accounts", "0014_own_roles"), ("sessions", "0001_initial")]

    operations = [
        migrations.CreateModel(
            name="Session",
            fields=[
                (
                    "session_key",
                    models.CharField(max_length=40, primary_key=True, serialize=False, verbose_name="session key"),
                ),
                ("session_data", models.TextField(verbose_name="session data")),
                ("expire_date", models.DateTimeField(db_index=True, verbose_name="expire date")),
                ("began_at", models.DateTimeField(null=True)),
                ("seen_at", models.DateTimeField(null=True)),
                ("address", models.GenericIPAddressField(null=True)),
                ("browser", models.CharField(blank=True, max_length=200)),
                (
                    "user",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={"verbose_name": "session", "verbose_name_plural": "sessions", "abstract": False},
        ),
        migrations.RunSQL(COPY, migrations.RunSQL.noop),
    ]
