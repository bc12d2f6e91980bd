"""Zones that are transferred in."""

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models

from dnspanel.database.create_tables import CreateTables


class Migration(migrations.Migration):

    # What databases of before 1.0 have.
    replaces = [
        ("primaries", "0001_transferred_zones"),
        ("primaries", "0002_ixfr_or_not"),
        ("primaries", "0003_over_tls"),
    ]
    initial = True

    dependencies = [
        ("zones", "0001_tables"),
    ]

    operations = [
        CreateTables(
            [
                migrations.CreateModel(
                    name='TransferredZone',
                    fields=[
                        ('addresses', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=47), size=None)),
                        ('tsig_name', models.TextField(blank=True, db_collation='C', default='')),
                        ('tsig_algorithm', models.CharField(blank=True, default='', max_length=32)),
                        ('tsig_secret', models.BinaryField(null=True)),
                        ('uses_tls', models.BooleanField(db_default=False, default=False)),
                        ('tls_names', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=253), db_default=[], default=list, size=None)),
                        ('tls_certificates', models.TextField(blank=True, db_default='', default='')),
                        ('shows_certificate', models.BooleanField(db_default=False, default=False)),
                        ('zone', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='transferred', serialize=False, to='zones.zone')),
                        ('uses_ixfr', models.BooleanField(default=True)),
                        ('serial', models.BigIntegerField(null=True)),
                        ('revision', models.IntegerField(null=True)),
                        ('transferred_at', models.DateTimeField(null=True)),
                        ('transferred_how', models.CharField(blank=True, default='', max_length=4)),
                        ('transferred_from', models.CharField(blank=True, default='', max_length=47)),
                        ('transferred_bytes', models.BigIntegerField(default=0)),
                        ('confirmed_at', models.DateTimeField(null=True)),
                        ('expires_at', models.DateTimeField(null=True)),
                        ('due_at', models.DateTimeField(null=True)),
                        ('wants_all', models.BooleanField(default=False)),
                        ('failed_since', models.DateTimeField(null=True)),
                        ('failures', models.IntegerField(default=0)),
                        ('error', models.TextField(blank=True, default='')),
                        ('alert_at', models.DateTimeField(null=True)),
                        ('noticed_at', models.DateTimeField(null=True)),
                        ('notice_refused_at', models.DateTimeField(null=True)),
                        ('notice_refused_from', models.GenericIPAddressField(null=True)),
                        ('notices_refused', models.BigIntegerField(default=0)),
                    ],
                    options={
                        'indexes': [models.Index(condition=models.Q(('due_at__isnull', False)), fields=['due_at'], name='transferred_due'), models.Index(condition=models.Q(('expires_at__isnull', False)), fields=['expires_at'], name='transferred_expires'), models.Index(condition=models.Q(('alert_at__isnull', False)), fields=['alert_at'], name='transferred_alert')],
                        'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('tsig_name', ''), ('tsig_secret', None)), models.Q(models.Q(('tsig_name', ''), _negated=True), ('tsig_secret__isnull', False)), _connector='OR'), name='transferred_key_whole'), models.CheckConstraint(condition=models.Q(models.Q(('shows_certificate', False), ('tls_certificates', ''), ('tls_names', []), ('uses_tls', False)), models.Q(('uses_tls', True), models.Q(('tls_certificates', ''), ('tls_names', []), _negated=True)), _connector='OR'), name='transferred_tls_whole')],
                    },
                ),
            ]
        ),
    ]
