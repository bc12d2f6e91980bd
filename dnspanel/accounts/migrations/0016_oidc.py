"""Sign-in by OpenID Connect providers, and who is linked to them."""

import django.contrib.postgres.fields
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0015_sessions"),
    ]

    operations = [
        migrations.CreateModel(
            name="OidcProvider",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("slug", models.SlugField(max_length=40, unique=True)),
                ("name", models.CharField(max_length=40)),
                ("issuer", models.TextField()),
                ("client_id", models.CharField(max_length=255)),
                ("client_secret", models.BinaryField()),
                ("scopes", models.CharField(max_length=300)),
                ("group_claim", models.CharField(max_length=100)),
                ("rules", models.JSONField(default=list)),
                ("makes_people", models.BooleanField(default=False)),
                (
                    "mail_domains",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=253), default=list, size=None
                    ),
                ),
                ("links_by_mail", models.BooleanField(default=False)),
                ("trusts_mail", models.BooleanField(default=False)),
                ("session_hours", models.IntegerField()),
                ("active", models.BooleanField(default=True)),
                ("created_at", models.DateTimeField()),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(condition=models.Q(("session_hours__gt", 0)), name="oidc_session_has_length")
                ],
            },
        ),
        migrations.CreateModel(
            name="OidcLink",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("subject", models.CharField(max_length=255)),
                ("given", models.JSONField(default=dict)),
                ("linked_at", models.DateTimeField()),
                ("signed_in_at", models.DateTimeField(null=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="oidc_links",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "provider",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="links", to="accounts.oidcprovider"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("provider", "subject"), name="oidc_subject_unique"),
                    models.UniqueConstraint(fields=("provider", "user"), name="oidc_person_unique"),
                ],
            },
        ),
    ]
