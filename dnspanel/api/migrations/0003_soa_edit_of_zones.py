from django.db import migrations

# What clients said of a zone was kept without effect; now it moves the zone's serial. No zone gets a word that it
# would be refused today.
MOVE = """
UPDATE zones_zone SET soa_edit_api = said.soa_edit_api, soa_edit = said.soa_edit
FROM api_powerdnszone said
WHERE said.zone_id = zones_zone.id
    AND upper(said.soa_edit_api) IN ('', 'DEFAULT', 'INCREASE', 'EPOCH', 'SOA-EDIT', 'SOA-EDIT-INCREASE')
    AND upper(said.soa_edit) IN ('', 'NONE', 'EPOCH', 'INCEPTION-EPOCH', 'INCEPTION-INCREMENT')
"""


class Migration(migrations.Migration):
    dependencies = [("api", "0002_comments_in_full"), ("zones", "0009_soa_edit")]

    operations = [
        migrations.RunSQL(MOVE, migrations.RunSQL.noop),
        migrations.RemoveField(model_name="powerdnszone", name="soa_edit"),
        migrations.RemoveField(model_name="powerdnszone", name="soa_edit_api"),
    ]
