"""What the parents of signed zones have for them."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('fleet', '0009_applied'),
        ('zones', '0012_dnssec'),
    ]

    operations = [
        migrations.CreateModel(
            name='ParentCheck',
            fields=[
                ('zone', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='parent_check', serialize=False, to='zones.zone')),
                ('due_at', models.DateTimeField()),
                ('requested_at', models.DateTimeField(null=True)),
                ('state', models.CharField(choices=[('unknown', 'not known yet'), ('matches', 'the DS names a key that signs'), ('no-ds', 'no DS'), ('partial', 'a DS at some servers only'), ('differs', 'a DS that leads to no key'), ('bogus', 'signatures do not validate')], default='unknown', max_length=16)),
                ('message', models.TextField(blank=True, default='')),
                ('since', models.DateTimeField(null=True)),
                ('known_at', models.DateTimeField(null=True)),
                ('checked_at', models.DateTimeField(null=True)),
                ('parent', models.TextField(blank=True, default='')),
                ('found', models.JSONField(default=dict)),
                ('silent', models.TextField(blank=True, default='')),
                ('silent_since', models.DateTimeField(null=True)),
            ],
            options={
                'indexes': [models.Index(fields=['due_at', 'zone'], name='parent_check_due'), models.Index(condition=models.Q(('state__in', ['partial', 'differs', 'bogus'])), fields=['since'], name='parent_check_bad'), models.Index(condition=models.Q(('silent_since__isnull', False)), fields=['silent_since'], name='parent_check_silent')],
            },
        ),
    ]
