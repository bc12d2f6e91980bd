"""What searches look into: names in their own script, addresses of a network, comments, and names in rdata."""

# RFC 3492 6.2 for each label that begins with `xn--`; one that says nothing legal is displayed as it is.
_NAMES_AND_NETWORKS = r"""
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

# What `rdata.targets` has, for types whose rdata is more than the name: the fourth word, the last, or the second.
_TARGETS = """
CREATE FUNCTION rdata_targets(type int, rdata text[]) RETURNS text[] LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
AS $$
DECLARE
    place int := CASE WHEN type IN (33, 45) THEN 4 WHEN type = 35 THEN -1 ELSE 2 END;
    found text[] := '{}';
    one text;
BEGIN
    FOREACH one IN ARRAY rdata LOOP
        found := found || lower(split_part(one, ' ', place) COLLATE "C");
    END LOOP;
    RETURN found;
END $$;
"""

# A comment and those of values, a line for each; `notes` is any text of an object that may have `value_comments`.
_SAID = """
CREATE FUNCTION rrset_said(comment text, notes text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT concat_ws(E'\\n', NULLIF(comment, ''), (
        SELECT string_agg(said, E'\\n') FROM jsonb_each_text(NULLIF(notes, '')::jsonb->'value_comments') AS of (v, said)
    ))
$$
"""

FUNCTIONS = _NAMES_AND_NETWORKS + _TARGETS + _SAID + ";"

# Without statistics of the names, a sequential scan that ends early looks cheap; where nothing fits, it reads all.
# The scalar query about the zone cannot become a join that begins with the zones.
# `folded` has names in lower case where rdata has capitals. It is searched separately: with an OR of both columns, the
# plan for any value reads the whole table until statistics exist, 90 ms for each name after an import of 10,000 zones.
# `IS TRUE` keeps PostgreSQL from searching the primary key for the types, which finds all NS records of all zones. A
# session keeps such a plan, once its estimates made it look cheap. Planning each name again would take 0.9 ms.
POINTING = """
CREATE OR REPLACE FUNCTION rrsets_pointing_at(wanted text[], most int)
RETURNS TABLE (target text, zone_id int, name text, type int, ttl int, rdata text[], disabled text[], comment text)
LANGUAGE plpgsql STABLE SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    one text;
BEGIN
    FOREACH one IN ARRAY wanted LOOP
        RETURN QUERY SELECT one, r.zone_id::int, r.name, r.type, r.ttl, r.rdata, r.disabled, r.comment
            FROM zones_rrset r
            WHERE r.rdata && ARRAY[one] AND (r.type IN (2, 5, 7, 8, 9, 12, 65401)) IS TRUE
                AND (SELECT z.deleted_at IS NULL FROM zones_zone z WHERE z.id = r.zone_id)
            LIMIT most;
        RETURN QUERY SELECT one, r.zone_id::int, r.name, r.type, r.ttl, r.rdata, r.disabled, r.comment
            FROM zones_rrset r
            WHERE r.folded && ARRAY[one] AND r.folded IS NOT NULL AND NOT r.rdata && ARRAY[one]
                AND (r.type IN (2, 5, 7, 8, 9, 12, 65401)) IS TRUE
                AND (SELECT z.deleted_at IS NULL FROM zones_zone z WHERE z.id = r.zone_id)
            LIMIT most;
        RETURN QUERY SELECT one, r.zone_id::int, r.name, r.type, r.ttl, r.rdata, r.disabled, r.comment
            FROM zones_rrset r
            WHERE rdata_targets(r.type, r.rdata) && ARRAY[one] AND r.type IN (15, 18, 33, 35, 36, 45, 64, 65, 107)
                AND (SELECT z.deleted_at IS NULL FROM zones_zone z WHERE z.id = r.zone_id)
            LIMIT most;
    END LOOP;
END $$;
"""

# Texts of many RRsets are read in full again and again: that takes a third of the time if they are not compressed.
UNCOMPRESSED = "ALTER TABLE zones_searchtext ALTER COLUMN text SET STORAGE EXTERNAL"
