from django.db import migrations, models
from django.db.models import Q

# Deliveries that are there are counted in their order; a replay has the number of what it repeats.
NUMBERS = """
UPDATE webhooks_delivery delivery SET number = counted.number FROM (
    SELECT id, row_number() OVER (PARTITION BY webhook_id ORDER BY event_id, id) AS number
    FROM webhooks_delivery WHERE replay_of_id IS NULL
) counted WHERE delivery.id = counted.id;
UPDATE webhooks_delivery replay SET number = first.number
FROM webhooks_delivery first WHERE first.webhook_id = replay.webhook_id AND first.event_id = replay.event_id
    AND first.replay_of_id IS NULL AND replay.replay_of_id IS NOT NULL;
UPDATE webhooks_webhook webhook SET last_number = counted.number FROM (
    SELECT webhook_id, max(number) AS number FROM webhooks_delivery GROUP BY webhook_id
) counted WHERE webhook.id = counted.webhook_id;
"""


class Migration(migrations.Migration):
    dependencies = [("webhooks", "0005_taken_back")]

    operations = [
        migrations.AddField("webhook", "last_number", models.BigIntegerField(default=0, db_default=0)),
        migrations.AddField("delivery", "number", models.BigIntegerField(default=0), preserve_default=False),
        migrations.RunSQL(NUMBERS, migrations.RunSQL.noop),
        migrations.RemoveIndex("delivery", "delivery_waiting"),
        migrations.AddIndex(
            "delivery", models.Index(fields=["webhook", "number"], name="delivery_waiting", condition=Q(state="waiting"))
        ),
    ]
