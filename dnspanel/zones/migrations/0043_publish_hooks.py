import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0012_time_zone'),
        ('zones', '0042_rrset_notes'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='PublishHook',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('tag', models.TextField(blank=True, default='')),
                ('reason', models.TextField()),
                ('placed_at', models.DateTimeField()),
                ('url', models.TextField()),
                ('secret', models.BinaryField()),
                ('seconds', models.SmallIntegerField()),
                ('when_silent', models.CharField(choices=[('refuse', 'refused'), ('pass', 'published, which the audit log says')], max_length=6)),
                ('placed_by', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('team', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.team')),
                ('zone', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='zones.zone')),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('tag', ''), ('team', None), ('zone', None)), models.Q(('tag', ''), ('team', None), ('zone__isnull', False)), models.Q(('team', None), ('zone', None), models.Q(('tag', ''), _negated=True)), models.Q(('tag', ''), ('team__isnull', False), ('zone', None)), _connector='OR'), name='publishhook_one_scope'), models.CheckConstraint(condition=models.Q(('seconds__gte', 1), ('seconds__lte', 10)), name='publishhook_seconds')],
            },
        ),
    ]
