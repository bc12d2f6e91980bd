import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models
from django.db.models.functions import Lower


class Migration(migrations.Migration):
    dependencies = [("accounts", "0013_service_accounts")]

    operations = [
        migrations.CreateModel(
            name="OwnRole",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=40)),
                (
                    "permissions",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=64), default=list, size=None
                    ),
                ),
                (
                    "rights",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=16), default=list, size=None
                    ),
                ),
                ("created_at", models.DateTimeField()),
            ],
            options={"constraints": [models.UniqueConstraint(Lower("name"), name="own_role_name_unique")]},
        ),
        migrations.AddField(
            model_name="user",
            name="own_role",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="people",
                to="accounts.ownrole",
            ),
        ),
        migrations.AddConstraint(
            model_name="user",
            constraint=models.CheckConstraint(
                condition=models.Q(("own_role", None), ("role", "member"), _connector="OR"),
                name="user_own_role_of_member",
            ),
        ),
    ]
