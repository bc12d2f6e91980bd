"""Directories that keep people and groups here, and a kind of token for them."""

import django.db.models.deletion
import django.db.models.functions.text
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0017_second_factor_rules'),
    ]

    operations = [
        migrations.CreateModel(
            name='ScimDirectory',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=40)),
                ('rules', models.JSONField(default=list)),
                ('team_role', models.CharField(blank=True, choices=[('editor', 'Editor'), ('reader', 'Reader')], max_length=16)),
                ('takes_over', models.BooleanField(default=False)),
                ('created_at', models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name='ScimGroup',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=300)),
                ('external_id', models.CharField(blank=True, max_length=255)),
                ('created_at', models.DateTimeField()),
                ('changed_at', models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name='ScimPerson',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('external_id', models.CharField(blank=True, max_length=255)),
                ('display_name', models.CharField(blank=True, max_length=255)),
                ('given', models.JSONField(default=dict)),
                ('changed_at', models.DateTimeField()),
                ('deleted_at', models.DateTimeField(null=True)),
            ],
        ),
        migrations.RemoveConstraint(
            model_name='token',
            name='token_has_its_secret',
        ),
        migrations.AlterField(
            model_name='token',
            name='kind',
            field=models.CharField(choices=[('api', 'API token'), ('tsig', 'TSIG key'), ('scim', 'SCIM token')], max_length=4),
        ),
        migrations.AddConstraint(
            model_name='token',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('kind__in', ['api', 'scim']), ('secret_sha256__isnull', False), ('tsig_name', None)), models.Q(('kind', 'tsig'), ('secret_sha256', None), ('tsig_name__isnull', False), ('tsig_secret__isnull', False)), _connector='OR'), name='token_has_its_secret'),
        ),
        migrations.AddField(
            model_name='scimdirectory',
            name='account',
            field=models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='scim_directory', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='scimgroup',
            name='directory',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='groups', to='accounts.scimdirectory'),
        ),
        migrations.AddField(
            model_name='scimgroup',
            name='team',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='accounts.team'),
        ),
        migrations.AddField(
            model_name='scimperson',
            name='directory',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='people', to='accounts.scimdirectory'),
        ),
        migrations.AddField(
            model_name='scimperson',
            name='user',
            field=models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='scim_person', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='scimgroup',
            name='people',
            field=models.ManyToManyField(related_name='groups', to='accounts.scimperson'),
        ),
        migrations.AddConstraint(
            model_name='scimdirectory',
            constraint=models.UniqueConstraint(django.db.models.functions.text.Lower('name'), name='scim_directory_name_unique'),
        ),
        migrations.AddIndex(
            model_name='scimperson',
            index=models.Index(fields=['directory', 'external_id'], name='scim_person_external'),
        ),
        migrations.AddConstraint(
            model_name='scimgroup',
            constraint=models.UniqueConstraint(fields=('directory', 'name'), name='scim_group_name_unique'),
        ),
    ]
