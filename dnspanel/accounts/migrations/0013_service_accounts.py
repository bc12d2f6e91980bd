from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0012_time_zone")]

    operations = [
        migrations.AddField(
            model_name="user",
            name="is_service",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AlterField(
            model_name="user",
            name="email",
            field=models.EmailField(max_length=254, null=True, unique=True),
        ),
        migrations.AddConstraint(
            model_name="user",
            constraint=models.CheckConstraint(
                condition=models.Q(("email__isnull", False), ("is_service", False))
                | models.Q(("email", None), ("is_service", True)),
                name="user_service_has_no_mail",
            ),
        ),
    ]
