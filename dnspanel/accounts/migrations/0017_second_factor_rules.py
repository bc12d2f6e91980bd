"""Who has to have a second factor: nobody, until somebody says so."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0016_oidc")]

    operations = [
        migrations.CreateModel(
            name="SecondFactorRule",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("role", models.CharField(max_length=24, null=True, unique=True)),
                ("since", models.DateTimeField()),
                ("grace_days", models.SmallIntegerField()),
                (
                    "team",
                    models.OneToOneField(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="accounts.team",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("role", None), ("team__isnull", False))
                        | models.Q(("role__isnull", False), ("team", None)),
                        name="second_factor_rule_of_one",
                    )
                ],
            },
        ),
    ]
