import uuid

import django.contrib.postgres.functions
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0010_right_dnssec'),
        ('zones', '0033_pointers_across_zones'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AlterField(
            model_name='draft',
            name='author',
            field=models.OneToOneField(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='draft', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='draft',
            name='owner',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='draft',
            name='name',
            field=models.CharField(blank=True, db_default='', default='', max_length=80),
        ),
        migrations.AddField(
            model_name='draft',
            name='key',
            field=models.UUIDField(db_default=django.contrib.postgres.functions.RandomUUID(), default=uuid.uuid4, editable=False, unique=True),
        ),
        migrations.AddField(
            model_name='draft',
            name='is_by_link',
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.CreateModel(
            name='DraftShare',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('may_edit', models.BooleanField(default=False)),
                ('draft', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='shares', to='zones.draft')),
                ('team', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.team')),
                ('user', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.AddConstraint(
            model_name='draft',
            constraint=models.UniqueConstraint(fields=('owner', 'name'), name='draft_name_unique'),
        ),
        migrations.AddConstraint(
            model_name='draft',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('author__isnull', False), ('name', ''), ('owner', None)), models.Q(('owner__isnull', False), models.Q(('name', ''), _negated=True)), _connector='OR'), name='draft_named_or_in_hand'),
        ),
        migrations.AddConstraint(
            model_name='draftshare',
            constraint=models.UniqueConstraint(fields=('draft', 'user'), name='draftshare_user_unique'),
        ),
        migrations.AddConstraint(
            model_name='draftshare',
            constraint=models.UniqueConstraint(fields=('draft', 'team'), name='draftshare_team_unique'),
        ),
        migrations.AddConstraint(
            model_name='draftshare',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('team', None), ('user__isnull', False)), models.Q(('team__isnull', False), ('user', None)), _connector='OR'), name='draftshare_one_receiver'),
        ),
    ]
