import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [
        ("zones", "0045_hook_health"),
        ("accounts", "0019_saml"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField("zonetemplate", "is_default", models.BooleanField(db_default=False, default=False)),
        migrations.AlterField(
            "zonetemplate",
            "kind",
            models.CharField(
                choices=[("zone", "whole zones"), ("snippet", "records at a name"), ("servers", "name servers")],
                max_length=7,
            ),
        ),
        migrations.AddConstraint(
            "zonetemplate",
            models.UniqueConstraint(
                condition=Q(is_default=True), fields=["team"], name="zone_template_default", nulls_distinct=False
            ),
        ),
        migrations.AddConstraint(
            "zonetemplate",
            models.CheckConstraint(
                condition=Q(is_default=False) | Q(kind="servers"), name="zone_template_default_kind"
            ),
        ),
        migrations.AddField("templateversion", "servers", models.JSONField(null=True)),
        migrations.CreateModel(
            "KeptAddresses",
            [
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("set_at", models.DateTimeField()),
                ("by_token", models.BooleanField(default=False)),
                ("refusal", models.TextField(blank=True, default="")),
                ("tried_at", models.DateTimeField(null=True)),
                ("asked_at", models.DateTimeField(null=True)),
                ("points", models.JSONField(default=list)),
                (
                    "set_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "template",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="zones.zonetemplate",
                    ),
                ),
                (
                    "token",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="+", to="accounts.token"
                    ),
                ),
                (
                    "zone",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="zones.zone"
                    ),
                ),
            ],
        ),
        migrations.AddConstraint(
            "keptaddresses",
            models.UniqueConstraint(fields=["template", "zone"], name="kept_addresses_unique"),
        ),
    ]
