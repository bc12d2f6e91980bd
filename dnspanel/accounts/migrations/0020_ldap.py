"""Sign-in with the password of an LDAP server: what a worker learned of its people, and when."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0019_saml"),
    ]

    operations = [
        migrations.AlterField(
            model_name="signinprovider",
            name="kind",
            field=models.CharField(
                choices=[("oidc", "OpenID Connect"), ("saml", "SAML 2.0"), ("ldap", "LDAP")],
                default="oidc",
                max_length=4,
            ),
        ),
        migrations.AddField(model_name="signinprovider", name="looked_at", field=models.DateTimeField(null=True)),
        migrations.AddField(
            model_name="signinprovider", name="look_fault", field=models.TextField(db_default="", default="")
        ),
        migrations.AddField(model_name="providerlink", name="looked_at", field=models.DateTimeField(null=True)),
        migrations.AddField(model_name="providerlink", name="absent_since", field=models.DateTimeField(null=True)),
    ]
