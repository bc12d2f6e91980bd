from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("webhooks", "0004_alerts")]

    operations = [
        migrations.AlterField(
            model_name="event",
            name="kind",
            field=models.CharField(
                choices=[
                    ("publication.saved", "A publication was saved"),
                    ("publication.everywhere", "Every node answers with a publication"),
                    ("publication.taken_back", "A publication was taken back: name servers could not answer"),
                    ("request.opened", "Somebody asks for approval"),
                    ("request.ended", "A request was published, declined or withdrawn"),
                    ("node.state", "A node's state changed"),
                    ("import.finished", "An import ended"),
                    ("alert.raised", "An alert was raised, or has become critical"),
                    ("alert.over", "An alert is over"),
                    ("ping", "A test that somebody asked for"),
                ],
                max_length=32,
            ),
        ),
    ]
