import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

# What is to be removed at a time is known by zone, name and type: an RRset made anew later must not be meant.
# Only deletions run it; an import that only writes does not.
GOES_WITH_ITS_RRSET = """
CREATE FUNCTION zones_rrset_gone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM zones_expiry) THEN
        DELETE FROM zones_expiry e USING gone
            WHERE e.zone_id = gone.zone_id AND e.owner_key = gone.owner_key AND e.type = gone.type;
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER zones_rrset_gone AFTER DELETE ON zones_rrset
REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION zones_rrset_gone();
"""
STAYS = "DROP TRIGGER zones_rrset_gone ON zones_rrset; DROP FUNCTION zones_rrset_gone();"


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0010_right_dnssec'),
        ('zones', '0030_templates'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Expiry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('owner_key', models.BinaryField()),
                ('type', models.IntegerField()),
                ('name', models.TextField(db_collation='C')),
                ('remove_at', models.DateTimeField(db_index=True)),
                ('set_at', models.DateTimeField()),
                ('by_token', models.BooleanField(default=False)),
                ('refusal', models.TextField(blank=True, default='')),
                ('tried_at', models.DateTimeField(null=True)),
                ('set_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('token', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='accounts.token')),
                ('zone', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='zones.zone')),
            ],
        ),
        migrations.AddConstraint(
            model_name='expiry',
            constraint=models.UniqueConstraint(fields=('zone', 'owner_key', 'type'), name='expiry_unique'),
        ),
        migrations.RunSQL(GOES_WITH_ITS_RRSET, STAYS),
    ]
