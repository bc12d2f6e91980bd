from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("webhooks", "0002_messages_for_people")]

    operations = [
        migrations.AlterField(
            model_name="event",
            name="kind",
            field=models.CharField(
                choices=[
                    ("publication.saved", "A publication was saved"),
                    ("publication.everywhere", "Every node answers with a publication"),
                    ("request.opened", "Somebody asks for approval"),
                    ("request.ended", "A request was published, declined or withdrawn"),
                    ("node.state", "A node's state changed"),
                    ("import.finished", "An import ended"),
                    ("ping", "A test that somebody asked for"),
                ],
                max_length=32,
            ),
        ),
    ]
