"""Sign-in providers that speak SAML, beside those of OpenID Connect; their table has a name for both."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0018_scim_directories"),
    ]

    operations = [
        migrations.RenameModel("OidcProvider", "SignInProvider"),
        migrations.RenameModel("OidcLink", "ProviderLink"),
        migrations.AlterField(
            model_name="providerlink",
            name="user",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="provider_links",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="signinprovider",
            name="kind",
            field=models.CharField(
                choices=[("oidc", "OpenID Connect"), ("saml", "SAML 2.0")], default="oidc", max_length=4
            ),
        ),
        migrations.AddField(
            model_name="signinprovider", name="attributes", field=models.JSONField(default=dict)
        ),
        migrations.AddField(model_name="signinprovider", name="metadata", field=models.TextField(default="")),
        migrations.AddField(model_name="signinprovider", name="metadata_url", field=models.TextField(default="")),
        migrations.AddField(
            model_name="signinprovider", name="metadata_at", field=models.DateTimeField(null=True)
        ),
        migrations.AlterField(
            model_name="signinprovider", name="client_secret", field=models.BinaryField(default=bytes)
        ),
        migrations.AlterField(
            model_name="signinprovider", name="scopes", field=models.CharField(default="", max_length=300)
        ),
        migrations.AlterField(
            model_name="signinprovider", name="group_claim", field=models.CharField(max_length=250)
        ),
        migrations.CreateModel(
            name="SeenAssertion",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("digest", models.BinaryField(max_length=32)),
                ("ends_at", models.DateTimeField(db_index=True)),
                ("said", models.JSONField(null=True)),
                (
                    "provider",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="accounts.signinprovider",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("provider", "digest"), name="assertion_seen_once"),
                ],
            },
        ),
    ]
