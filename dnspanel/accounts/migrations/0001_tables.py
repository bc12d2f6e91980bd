"""People, teams, roles and grants, tokens, sign-in, and the audit log."""

import django.contrib.auth.models
import django.contrib.auth.validators
import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.text
import django.utils.timezone
from django.conf import settings
from django.core.management import call_command
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

from dnspanel.database.create_tables import CreateTables


_LIMITS = "accounts_limits"


def create_limits(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Create the table of Django's cache, where django-allauth counts failed sign-ins."""
    if settings.CACHES["default"]["LOCATION"] == _LIMITS:
        call_command("createcachetable", _LIMITS, database=schema_editor.connection.alias, verbosity=0)


class Migration(migrations.Migration):

    # What databases of before 1.0 have.
    replaces = [
        ("accounts", "0001_initial"),
        ("accounts", "0002_user_name_unique"),
        ("accounts", "0003_limits_table"),
        ("accounts", "0004_tokens"),
        ("accounts", "0005_token_allowance"),
        ("accounts", "0006_quotas"),
        ("accounts", "0007_token_needs_permission"),
        ("accounts", "0008_token_deletes_many"),
        ("accounts", "0009_sessions_ended"),
        ("accounts", "0010_right_dnssec"),
        ("accounts", "0011_list_looks"),
        ("accounts", "0012_time_zone"),
        ("accounts", "0013_service_accounts"),
        ("accounts", "0014_own_roles"),
        ("accounts", "0015_sessions"),
        ("accounts", "0016_oidc"),
        ("accounts", "0017_second_factor_rules"),
        ("accounts", "0018_scim_directories"),
        ("accounts", "0019_saml"),
        ("accounts", "0020_ldap"),
        ("accounts", "0021_same_person_at_provider"),
        ("accounts", "0022_language"),
        ("accounts", "0023_master_key"),
        ("accounts", "0024_canonical_names"),
        ("accounts", "0025_teams_of_directories"),
    ]
    initial = True

    dependencies = [
        ('auth', '0012_alter_user_first_name_max_length'),
    ]

    operations = [
        CreateTables(
            [
                migrations.CreateModel(
                    name='User',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('password', models.CharField(max_length=128, verbose_name='password')),
                        ('last_login', models.DateTimeField(blank=True, null=True, verbose_name='last login')),
                        ('is_superuser', models.BooleanField(default=False, help_text='Designates that this user has all permissions without explicitly assigning them.', verbose_name='superuser status')),
                        ('username', models.CharField(error_messages={'unique': 'A user with that username already exists.'}, help_text='Required. 150 characters or fewer. Letters, digits and @/./+/-/_ only.', max_length=150, unique=True, validators=[django.contrib.auth.validators.UnicodeUsernameValidator()], verbose_name='username')),
                        ('first_name', models.CharField(blank=True, max_length=150, verbose_name='first name')),
                        ('last_name', models.CharField(blank=True, max_length=150, verbose_name='last name')),
                        ('is_staff', models.BooleanField(default=False, help_text='Designates whether the user can log into this admin site.', verbose_name='staff status')),
                        ('is_active', models.BooleanField(default=True, help_text='Designates whether this user should be treated as active. Unselect this instead of deleting accounts.', verbose_name='active')),
                        ('date_joined', models.DateTimeField(default=django.utils.timezone.now, verbose_name='date joined')),
                        ('email', models.EmailField(max_length=254, null=True, unique=True)),
                        ('name_key', models.CharField(blank=True, editable=False, max_length=320, null=True, unique=True)),
                        ('mail_key', models.CharField(blank=True, editable=False, max_length=320, null=True, unique=True)),
                        ('is_service', models.BooleanField(db_default=False, default=False)),
                        ('role', models.CharField(choices=[('administrator', 'Administrator'), ('editor', 'Editor'), ('reader', 'Reader'), ('member', 'Member')], default='reader', max_length=16)),
                        ('sessions_ended', models.IntegerField(default=0)),
                        ('time_zone', models.CharField(db_default='UTC', default='UTC', max_length=64)),
                        ('language', models.CharField(blank=True, db_default='', default='', max_length=8)),
                        ('quotas', models.JSONField(blank=True, db_default={}, default=dict)),
                        ('list_looks', models.JSONField(blank=True, db_default={}, default=dict)),
                        ('groups', models.ManyToManyField(blank=True, help_text='The groups this user belongs to. A user will get all permissions granted to each of their groups.', related_name='user_set', related_query_name='user', to='auth.group', verbose_name='groups')),
                        ('same_person_as', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='other_accounts', to=settings.AUTH_USER_MODEL)),
                        ('user_permissions', models.ManyToManyField(blank=True, help_text='Specific permissions for this user.', related_name='user_set', related_query_name='user', to='auth.permission', verbose_name='user permissions')),
                        ('own_role', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='people', to='accounts.ownrole')),
                    ],
                    options={
                        'constraints': [models.CheckConstraint(condition=models.Q(('role__in', ['administrator', 'editor', 'reader', 'member'])), name='user_role_known'), models.CheckConstraint(condition=models.Q(('own_role', None), ('role', 'member'), _connector='OR'), name='user_own_role_of_member'), models.CheckConstraint(condition=models.Q(models.Q(('email__isnull', False), ('is_service', False)), models.Q(('email', None), ('is_service', True)), _connector='OR'), name='user_service_has_no_mail')],
                    },
                    managers=[
                        ('objects', django.contrib.auth.models.UserManager()),
                    ],
                ),
                migrations.CreateModel(
                    name='Invitation',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('secret_sha256', models.BinaryField(unique=True)),
                        ('role', models.CharField(choices=[('administrator', 'Administrator'), ('editor', 'Editor'), ('reader', 'Reader'), ('member', 'Member')], max_length=16)),
                        ('created_at', models.DateTimeField()),
                        ('expires_at', models.DateTimeField()),
                        ('used_at', models.DateTimeField(null=True)),
                        ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                        ('used_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                    ],
                ),
                migrations.CreateModel(
                    name='MasterKey',
                    fields=[
                        ('id', models.SmallIntegerField(default=1, primary_key=True, serialize=False)),
                        ('fingerprint', models.CharField(max_length=16)),
                        ('former', models.CharField(blank=True, max_length=16)),
                        ('changed_at', models.DateTimeField()),
                    ],
                    options={
                        'constraints': [models.CheckConstraint(condition=models.Q(('id', 1)), name='master_key_once')],
                    },
                ),
                migrations.CreateModel(
                    name='OwnRole',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('name', models.CharField(max_length=40)),
                        ('permissions', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=64), default=list, size=None)),
                        ('rights', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=16), default=list, size=None)),
                        ('created_at', models.DateTimeField()),
                    ],
                    options={
                        'constraints': [models.UniqueConstraint(django.db.models.functions.text.Lower('name'), name='own_role_name_unique')],
                    },
                ),
                migrations.CreateModel(
                    name='ScimDirectory',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('name', models.CharField(max_length=40)),
                        ('rules', models.JSONField(default=list)),
                        ('team_role', models.CharField(blank=True, choices=[('editor', 'Editor'), ('reader', 'Reader')], max_length=16)),
                        ('teams', django.contrib.postgres.fields.ArrayField(base_field=models.IntegerField(), blank=True, db_default=[], default=list, size=None)),
                        ('takes_over', models.BooleanField(default=False)),
                        ('created_at', models.DateTimeField()),
                        ('account', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='scim_directory', to=settings.AUTH_USER_MODEL)),
                    ],
                    options={
                        'constraints': [models.UniqueConstraint(django.db.models.functions.text.Lower('name'), name='scim_directory_name_unique')],
                    },
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
                        ('directory', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='people', to='accounts.scimdirectory')),
                        ('user', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='scim_person', to=settings.AUTH_USER_MODEL)),
                    ],
                    options={
                        'indexes': [models.Index(fields=['directory', 'external_id'], name='scim_person_external')],
                    },
                ),
                migrations.CreateModel(
                    name='Session',
                    fields=[
                        ('session_key', models.CharField(max_length=40, primary_key=True, serialize=False, verbose_name='session key')),
                        ('session_data', models.TextField(verbose_name='session data')),
                        ('expire_date', models.DateTimeField(db_index=True, verbose_name='expire date')),
                        ('began_at', models.DateTimeField(null=True)),
                        ('seen_at', models.DateTimeField(null=True)),
                        ('address', models.GenericIPAddressField(null=True)),
                        ('browser', models.CharField(blank=True, max_length=200)),
                        ('at_provider', models.CharField(blank=True, db_default='', default='', max_length=64)),
                        ('user', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                    ],
                    options={
                        'verbose_name': 'session',
                        'verbose_name_plural': 'sessions',
                        'abstract': False,
                        'indexes': [models.Index(condition=models.Q(('at_provider', ''), _negated=True), fields=['at_provider'], name='session_at_provider')],
                    },
                ),
                migrations.CreateModel(
                    name='SignInProvider',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('kind', models.CharField(choices=[('oidc', 'OpenID Connect'), ('saml', 'SAML 2.0'), ('ldap', 'LDAP')], default='oidc', max_length=4)),
                        ('slug', models.SlugField(max_length=40, unique=True)),
                        ('name', models.CharField(max_length=40)),
                        ('issuer', models.TextField()),
                        ('client_id', models.CharField(max_length=255)),
                        ('client_secret', models.BinaryField(default=bytes)),
                        ('scopes', models.CharField(default='', max_length=300)),
                        ('metadata', models.TextField(default='')),
                        ('metadata_url', models.TextField(default='')),
                        ('metadata_at', models.DateTimeField(null=True)),
                        ('attributes', models.JSONField(default=dict)),
                        ('group_claim', models.CharField(max_length=250)),
                        ('rules', models.JSONField(default=list)),
                        ('makes_people', models.BooleanField(default=False)),
                        ('mail_domains', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=253), default=list, size=None)),
                        ('links_by_mail', models.BooleanField(default=False)),
                        ('trusts_mail', models.BooleanField(default=False)),
                        ('session_hours', models.IntegerField()),
                        ('active', models.BooleanField(default=True)),
                        ('created_at', models.DateTimeField()),
                        ('looked_at', models.DateTimeField(null=True)),
                        ('look_fault', models.TextField(db_default='', default='')),
                    ],
                    options={
                        'constraints': [models.CheckConstraint(condition=models.Q(('session_hours__gt', 0)), name='oidc_session_has_length')],
                    },
                ),
                migrations.CreateModel(
                    name='SeenAssertion',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('digest', models.BinaryField(max_length=32)),
                        ('ends_at', models.DateTimeField(db_index=True)),
                        ('said', models.JSONField(null=True)),
                        ('provider', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.signinprovider')),
                    ],
                    options={
                        'constraints': [models.UniqueConstraint(fields=('provider', 'digest'), name='assertion_seen_once')],
                    },
                ),
                migrations.CreateModel(
                    name='ProviderLink',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('subject', models.CharField(max_length=255)),
                        ('given', models.JSONField(default=dict)),
                        ('linked_at', models.DateTimeField()),
                        ('signed_in_at', models.DateTimeField(null=True)),
                        ('looked_at', models.DateTimeField(null=True)),
                        ('absent_since', models.DateTimeField(null=True)),
                        ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='provider_links', to=settings.AUTH_USER_MODEL)),
                        ('provider', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='links', to='accounts.signinprovider')),
                    ],
                    options={
                        'constraints': [models.UniqueConstraint(fields=('provider', 'subject'), name='oidc_subject_unique'), models.UniqueConstraint(fields=('provider', 'user'), name='oidc_person_unique')],
                    },
                ),
                migrations.CreateModel(
                    name='Team',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('name', models.CharField(max_length=64)),
                        ('created_at', models.DateTimeField()),
                        ('quotas', models.JSONField(blank=True, db_default={}, default=dict)),
                        ('made_by_directory', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='accounts.scimdirectory')),
                    ],
                    options={
                        'constraints': [models.UniqueConstraint(django.db.models.functions.text.Lower('name'), name='team_name_unique')],
                    },
                ),
                migrations.CreateModel(
                    name='SecondFactorRule',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('role', models.CharField(max_length=24, null=True, unique=True)),
                        ('since', models.DateTimeField()),
                        ('grace_days', models.SmallIntegerField()),
                        ('team', models.OneToOneField(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.team')),
                    ],
                    options={
                        'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('role', None), ('team__isnull', False)), models.Q(('role__isnull', False), ('team', None)), _connector='OR'), name='second_factor_rule_of_one')],
                    },
                ),
                migrations.CreateModel(
                    name='ScimGroup',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('name', models.CharField(max_length=300)),
                        ('external_id', models.CharField(blank=True, max_length=255)),
                        ('created_at', models.DateTimeField()),
                        ('changed_at', models.DateTimeField()),
                        ('directory', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='groups', to='accounts.scimdirectory')),
                        ('people', models.ManyToManyField(related_name='groups', to='accounts.scimperson')),
                        ('team', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='accounts.team')),
                    ],
                    options={
                        'constraints': [models.UniqueConstraint(fields=('directory', 'name'), name='scim_group_name_unique')],
                    },
                ),
                migrations.CreateModel(
                    name='Membership',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('role', models.CharField(choices=[('editor', 'Editor'), ('reader', 'Reader')], max_length=16)),
                        ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='memberships', to=settings.AUTH_USER_MODEL)),
                        ('team', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='memberships', to='accounts.team')),
                    ],
                    options={
                        'constraints': [models.UniqueConstraint(fields=('team', 'user'), name='membership_unique'), models.CheckConstraint(condition=models.Q(('role__in', ['editor', 'reader'])), name='membership_role_known')],
                    },
                ),
                migrations.CreateModel(
                    name='GrantRow',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('grant', models.JSONField()),
                        ('created_at', models.DateTimeField()),
                        ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                        ('user', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='grants', to=settings.AUTH_USER_MODEL)),
                        ('team', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='grants', to='accounts.team')),
                    ],
                    options={
                        'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('team__isnull', False), ('user', None)), models.Q(('team', None), ('user__isnull', False)), _connector='OR'), name='grant_to_one')],
                    },
                ),
                migrations.CreateModel(
                    name='Token',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('kind', models.CharField(choices=[('api', 'API token'), ('tsig', 'TSIG key'), ('scim', 'SCIM token')], max_length=4)),
                        ('purpose', models.CharField(max_length=100)),
                        ('prefix', models.CharField(blank=True, max_length=16)),
                        ('secret_sha256', models.BinaryField(null=True, unique=True)),
                        ('tsig_name', models.TextField(null=True, unique=True)),
                        ('tsig_algorithm', models.CharField(blank=True, max_length=32)),
                        ('tsig_secret', models.BinaryField(null=True)),
                        ('scope', models.JSONField(default=list)),
                        ('needs_permission', models.BooleanField(default=False)),
                        ('permissions', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=64), default=list, size=None)),
                        ('networks', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=49), default=list, size=None)),
                        ('needs_if_match', models.BooleanField(default=False)),
                        ('deletes_many', models.BooleanField(db_default=False, default=False)),
                        ('requests_per_minute', models.IntegerField(null=True)),
                        ('allowance', models.IntegerField(null=True)),
                        ('created_at', models.DateTimeField()),
                        ('expires_at', models.DateTimeField(null=True)),
                        ('unused_days', models.IntegerField(null=True)),
                        ('last_used_at', models.DateTimeField(null=True)),
                        ('last_address', models.GenericIPAddressField(null=True)),
                        ('revoked_at', models.DateTimeField(null=True)),
                        ('allowance_of', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='accounts.token')),
                        ('made_with', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='made', to='accounts.token')),
                        ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='tokens', to=settings.AUTH_USER_MODEL)),
                        ('rotated_to', models.OneToOneField(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='rotated_from', to='accounts.token')),
                    ],
                    options={
                        'indexes': [models.Index(fields=['owner', '-id'], name='token_of_owner')],
                        'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('kind__in', ['api', 'scim']), ('secret_sha256__isnull', False), ('tsig_name', None)), models.Q(('kind', 'tsig'), ('secret_sha256', None), ('tsig_name__isnull', False), ('tsig_secret__isnull', False)), _connector='OR'), name='token_has_its_secret')],
                    },
                ),
                migrations.CreateModel(
                    name='AuditEntry',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('at', models.DateTimeField()),
                        ('address', models.GenericIPAddressField(null=True)),
                        ('action', models.CharField(max_length=40)),
                        ('target', models.TextField(blank=True)),
                        ('details', models.JSONField(default=dict)),
                        ('request_id', models.CharField(blank=True, max_length=36)),
                        ('user', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                        ('token', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='accounts.token')),
                    ],
                    options={
                        'indexes': [models.Index(fields=['action', '-id'], name='audit_by_action')],
                    },
                ),
            ]
        ),
        migrations.RunPython(create_limits),
    ]
