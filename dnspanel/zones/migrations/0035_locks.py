import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0010_right_dnssec'),
        ('zones', '0034_named_drafts'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField('zone', 'has_locks', models.BooleanField(default=False, db_default=False)),
        migrations.CreateModel(
            name='Lock',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.TextField(blank=True, db_collation='C', default='')),
                ('type', models.IntegerField(null=True)),
                ('reason', models.TextField()),
                ('placed_at', models.DateTimeField()),
                ('person', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('placed_by', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('token', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='accounts.token')),
                ('zone', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='zones.zone')),
            ],
        ),
        migrations.AddConstraint(
            'lock', models.UniqueConstraint(fields=('zone', 'name', 'type'), name='lock_unique', nulls_distinct=False)
        ),
        migrations.AddConstraint(
            'lock', models.CheckConstraint(condition=Q(type=None) | ~Q(name=''), name='lock_type_at_name')
        ),
    ]
