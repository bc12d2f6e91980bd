"""RRsets have tags, and their values comments, and know which revision changed them last.

Only those that were changed since their zone came are rewritten: the defaults are in the catalogue.
"""

from django.db import migrations, models

# A comment and those of values, a line for each; `notes` is any text of an object that may have `value_comments`.
_SAID = """
CREATE FUNCTION rrset_said(comment text, notes text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT concat_ws(E'\\n', NULLIF(comment, ''), (
        SELECT string_agg(said, E'\\n') FROM jsonb_each_text(NULLIF(notes, '')::jsonb->'value_comments') AS of (v, said)
    ))
$$
"""


# Of what was published before. It reads the history once.
_CHANGED = """
UPDATE zones_rrset r SET changed_in = newest.number
FROM (
    SELECT v.zone_id, c.owner_key, c.type, max(v.number) AS number
    FROM zones_change c JOIN zones_revision v ON v.id = c.revision_id GROUP BY v.zone_id, c.owner_key, c.type
) AS newest
WHERE r.zone_id = newest.zone_id AND r.owner_key = newest.owner_key AND r.type = newest.type AND newest.number > 1
"""


class Migration(migrations.Migration):
    dependencies = [("zones", "0041_due_nsec3")]

    operations = [
        migrations.AddField("rrset", "notes", models.TextField(blank=True, default="", db_default="")),
        migrations.AddField("rrset", "changed_in", models.IntegerField(default=1, db_default=1)),
        migrations.RunSQL(_CHANGED, migrations.RunSQL.noop),
        migrations.RunSQL(_SAID, "DROP FUNCTION rrset_said(text, text)"),
    ]
