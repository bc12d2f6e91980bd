from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [("zones", "0040_discarded_drafts")]

    operations = [
        migrations.AddIndex(
            "signing",
            models.Index(condition=Q(state__has_key="due_nsec3"), fields=["zone"], name="signing_due_nsec3"),
        ),
    ]
