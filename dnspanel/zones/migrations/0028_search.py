"""What searches look into: names in their own script, addresses of a network, and texts of blocks of RRsets."""

import importlib

import django.contrib.postgres.indexes
import django.db.models.deletion
from django.db import migrations, models

in_sets = importlib.import_module("dnspanel.zones.migrations.0003_in_sets")

# RFC 3492 6.2 for each label that begins with `xn--`; one that says nothing legal is displayed as it is.
_NAME_SHOWN = r"""
CREATE FUNCTION name_displayed(name text) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
    label text;
    displayed text[] := '{}';
    points int[];
    point bigint;
    place bigint;
    bias int;
    before bigint;
    weight bigint;
    digit int;
    threshold int;
    k int;
    at int;
    delta bigint;
    split int;
    is_legal boolean;
BEGIN
    FOREACH label IN ARRAY string_to_array(name, '.') LOOP
        IF label !~ '^xn--[a-z0-9-]{1,59}$' THEN
            displayed := displayed || label;
            CONTINUE;
        END IF;
        label := substr(label, 5);
        split := CASE WHEN strpos(label, '-') = 0 THEN 0 ELSE length(label) - strpos(reverse(label), '-') + 1 END;
        points := ARRAY(SELECT ascii(substr(label, n, 1)) FROM generate_series(1, split - 1) n);
        point := 128;
        place := 0;
        bias := 72;
        at := split + 1;
        is_legal := at <= length(label);
        WHILE is_legal AND at <= length(label) LOOP
            before := place;
            weight := 1;
            k := 36;
            LOOP
                digit := strpos('abcdefghijklmnopqrstuvwxyz0123456789', substr(label, at, 1)) - 1;
                is_legal := at <= length(label) AND digit >= 0 AND place + digit * weight < 2147483648;
                EXIT WHEN NOT is_legal;
                at := at + 1;
                place := place + digit * weight;
                threshold := greatest(1, least(26, k - bias));
                EXIT WHEN digit < threshold;
                weight := weight * (36 - threshold);
                k := k + 36;
            END LOOP;
            EXIT WHEN NOT is_legal;
            delta := (place - before) / CASE WHEN before = 0 AND cardinality(points) = greatest(split - 1, 0)
                THEN 700 ELSE 2 END;
            delta := delta + delta / (cardinality(points) + 1);
            bias := 0;
            WHILE delta > 455 LOOP
                delta := delta / 35;
                bias := bias + 36;
            END LOOP;
            bias := bias + (36 * delta / (delta + 38))::int;
            point := point + place / (cardinality(points) + 1);
            place := place % (cardinality(points) + 1);
            is_legal := point <= 1114111 AND point NOT BETWEEN 55296 AND 57343;
            EXIT WHEN NOT is_legal;
            points := points[:place] || point::int || points[place + 1:];
            place := place + 1;
        END LOOP;
        displayed := displayed || CASE WHEN is_legal
            THEN (SELECT string_agg(chr(each), '' ORDER BY n) FROM unnest(points) WITH ORDINALITY AS p (each, n))
            ELSE 'xn--' || label END;
    END LOOP;
    RETURN array_to_string(displayed, '.');
END $$;

CREATE FUNCTION rrset_within(type int, texts text, network text) RETURNS boolean LANGUAGE sql IMMUTABLE STRICT
PARALLEL SAFE AS $$
    SELECT CASE WHEN type IN (1, 28)
        THEN EXISTS (SELECT FROM unnest(string_to_array(btrim(texts, E'\n'), E'\n')) t WHERE t::inet <<= network::inet)
        ELSE false END
$$;
"""

# What belongs to a zone goes with it: as in 0003_in_sets, and the texts besides.
_CHILDREN = (("zones_rrset", "zone_id"), ("zones_revision", "zone_id"))
_DROP_GONE = """
DROP TRIGGER zones_zone_gone ON zones_zone;
DROP FUNCTION zones_zone_gone;
DROP TRIGGER zones_zone_stays ON zones_zone;
DROP FUNCTION zones_zone_stays;
"""
_GONE_WITH_TEXTS = _DROP_GONE + in_sets.belongs("zones_zone", "id", *_CHILDREN, ("zones_searchtext", "zone_id"))
_GONE_WITHOUT = _DROP_GONE + in_sets.belongs("zones_zone", "id", *_CHILDREN)


class Migration(migrations.Migration):
    dependencies = [("zones", "0027_zone_defaults")]

    operations = [
        migrations.RunSQL(
            _NAME_SHOWN, "DROP FUNCTION name_displayed(text); DROP FUNCTION rrset_within(int, text, text)"
        ),
        migrations.AddIndex(
            "zone",
            django.contrib.postgres.indexes.GinIndex(
                django.contrib.postgres.indexes.OpClass(
                    models.Func(models.F("name"), function="name_displayed"), name="gin_trgm_ops"
                ),
                condition=models.Q(name__contains="xn--"),
                name="zone_name_displayed",
            ),
        ),
        migrations.CreateModel(
            name="SearchProgress",
            fields=[
                ("id", models.SmallIntegerField(default=1, primary_key=True, serialize=False)),
                ("sequence", models.BigIntegerField()),
                ("last_zone", models.IntegerField(null=True)),
            ],
            options={
                "constraints": [models.CheckConstraint(condition=models.Q(id=1), name="search_progress_single")],
            },
        ),
        migrations.CreateModel(
            name="SearchText",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "zone", "first_key", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("first_key", models.BinaryField()),
                ("end_key", models.BinaryField(null=True)),
                ("text", models.TextField()),
                (
                    "zone",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="zones.zone",
                    ),
                ),
            ],
            options={
                "indexes": [
                    django.contrib.postgres.indexes.GinIndex(
                        django.contrib.postgres.indexes.OpClass("text", "gin_trgm_ops"),
                        gin_pending_list_limit=262144,
                        name="search_text_trigram",
                    )
                ],
            },
        ),
        migrations.RunSQL(_GONE_WITH_TEXTS, _GONE_WITHOUT),
    ]
