"""Where the audit log is sent."""

from django.db import migrations, models

from dnspanel.database.create_tables import CreateTables


class Migration(migrations.Migration):

    # What databases of before 1.0 have.
    replaces = [
        ("evidence", "0001_destinations"),
        ("evidence", "0002_changed_at"),
    ]
    initial = True

    dependencies = [
    ]

    operations = [
        CreateTables(
            [
                migrations.CreateModel(
                    name='Destination',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('name', models.CharField(max_length=40, unique=True)),
                        ('kind', models.CharField(choices=[('syslog', 'Syslog over TLS'), ('otlp', 'OpenTelemetry')], max_length=6)),
                        ('address', models.TextField()),
                        ('ca', models.TextField(blank=True)),
                        ('certificate', models.TextField(blank=True)),
                        ('key', models.BinaryField(null=True)),
                        ('headers', models.BinaryField(null=True)),
                        ('active', models.BooleanField(default=True)),
                        ('created_at', models.DateTimeField()),
                        ('changed_at', models.DateTimeField(null=True)),
                        ('version', models.IntegerField(default=1)),
                        ('sent_to', models.BigIntegerField(default=0)),
                        ('sent_at', models.DateTimeField(null=True)),
                        ('failing_since', models.DateTimeField(null=True)),
                        ('failures', models.IntegerField(default=0)),
                        ('resting_until', models.DateTimeField(null=True)),
                        ('error', models.TextField(blank=True)),
                        ('rejected_at', models.DateTimeField(null=True)),
                        ('rejected', models.TextField(blank=True)),
                    ],
                ),
            ]
        ),
    ]
