import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


def set_by() -> "models.ForeignKey[object, object]":
    return models.ForeignKey(
        db_index=False,
        null=True,
        on_delete=django.db.models.deletion.SET_NULL,
        related_name="+",
        to=settings.AUTH_USER_MODEL,
    )


class Migration(migrations.Migration):
    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("secondaries", "0006_members_that_move"),
    ]

    operations = [
        migrations.AddField(model_name="noticeaddress", name="set_at", field=models.DateTimeField(null=True)),
        migrations.AddField(model_name="noticeaddress", name="set_by", field=set_by()),
        migrations.AddField(model_name="openzone", name="set_at", field=models.DateTimeField(null=True)),
        migrations.AddField(model_name="openzone", name="set_by", field=set_by()),
    ]
