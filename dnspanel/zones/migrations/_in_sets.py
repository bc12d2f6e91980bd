"""What PostgreSQL proves of RRsets, revisions and changes, it proves per statement, not per row.

A foreign key runs one query for each row: 40 percent of the time of a bulk
import. Triggers that see all rows of a statement prove the same in one query:

- a row whose parent is not there is refused, and the parent is locked until
  the transaction ends, so that nobody deletes it meanwhile;
- whoever deletes a parent deletes what belongs to it. Only in READ COMMITTED,
  where the deletion sees what others committed while it waited for their
  lock; in any other isolation deleting is refused;
- the id of a parent never changes.

An RRset is known by zone, owner key and type, and has no id besides. Zone
rows leave room on their page, so that a new serial and revision go beside
the old ones and touch no index. CNAMEs have indexes of their own: by name,
for the rule that they are alone, and by target, for who refers to a name.
"""

# Columns of fixed width first: those in the key are then found without reading the texts.
RRSETS = """
CREATE TABLE zones_rrset (
    zone_id int NOT NULL,
    type int NOT NULL CONSTRAINT rrset_type_u16 CHECK (type > 0 AND type < 65536),
    ttl int NOT NULL CONSTRAINT rrset_ttl_rfc2181 CHECK (ttl >= 0),
    owner_key bytea NOT NULL,
    name text COLLATE "C" NOT NULL,
    rdata text[] NOT NULL CONSTRAINT rrset_not_empty CHECK (cardinality(rdata) > 0),
    disabled text[] NOT NULL,
    comment text NOT NULL,
    notes text DEFAULT '' NOT NULL,
    changed_in int DEFAULT 1 NOT NULL,
    folded text[],
    CONSTRAINT rrset_disabled_subset CHECK (rdata @> disabled),
    CONSTRAINT rrset_unique PRIMARY KEY (zone_id, owner_key, type)
);
CREATE INDEX rrset_rdata ON zones_rrset USING gin (rdata) WITH (gin_pending_list_limit = 262144);
CREATE INDEX rrset_folded ON zones_rrset USING gin (folded) WITH (fastupdate = off) WHERE folded IS NOT NULL;
CREATE INDEX rrset_targets ON zones_rrset USING gin (rdata_targets(type, rdata)) WITH (gin_pending_list_limit = 32768)
    WHERE type IN (15, 18, 33, 35, 36, 45, 64, 65, 107);
CREATE INDEX rrset_ds ON zones_rrset (zone_id) WHERE type = 43;
"""

FILL = "ALTER TABLE zones_zone SET (fillfactor = 50);"

# Ids of metadata rows in PowerDNS's files: never used twice, as those of zones and keys.
ROW_IDS = "CREATE SEQUENCE zones_signing_row_id AS integer MAXVALUE 2147483646;"

# The targets of a CNAME are one, unless others are kept disabled beside it.
CNAME_INDEXES = """
CREATE INDEX rrset_cname ON zones_rrset (zone_id, owner_key) WHERE type = 5;
CREATE INDEX rrset_cname_target ON zones_rrset ((rdata[1])) WHERE type = 5;
CREATE INDEX rrset_cname_targets ON zones_rrset USING gin (rdata) WITH (fastupdate = off)
    WHERE type = 5 AND cardinality(rdata) > 1;
"""

# Statistics are older than the batch at hand, so the planner is held to the indexes.
BY_INDEX = "SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off"

# Zones are locked, not only looked at: of two transactions that each write half of a clash, one waits for the other.
# A clash has a CNAME in it: few rows are looked up one by one, many are found through the CNAMEs of their zones.
# Signatures (RRSIG, type 46) may stand beside a CNAME: zones that come signed have them there.
RRSET_WRITTEN = f"""
CREATE FUNCTION zones_rrset_written() RETURNS trigger LANGUAGE plpgsql {BY_INDEX} AS $$
DECLARE
    zone_ids int[];
    written_rows bigint;
    locked bigint;
    clash text;
BEGIN
    SELECT array_agg(zone_id), sum(n) INTO zone_ids, written_rows
        FROM (SELECT zone_id, count(*) AS n FROM written GROUP BY zone_id) AS per_zone;
    IF zone_ids IS NULL THEN
        RETURN NULL;
    END IF;
    SELECT count(*) INTO locked
        FROM (SELECT FROM zones_zone WHERE id = ANY(zone_ids) ORDER BY id FOR NO KEY UPDATE) AS there;
    IF locked < cardinality(zone_ids) THEN
        RAISE EXCEPTION 'an RRset without its zone'
            USING ERRCODE = 'foreign_key_violation', CONSTRAINT = 'rrset_zone', TABLE = 'zones_rrset';
    END IF;
    IF written_rows > 500 THEN
        SELECT c.name INTO clash FROM zones_rrset c
            WHERE c.type = 5 AND c.zone_id = ANY(zone_ids) AND EXISTS (
                SELECT FROM zones_rrset r
                WHERE r.zone_id = c.zone_id AND r.owner_key = c.owner_key AND r.type NOT IN (5, 46))
            LIMIT 1;
    ELSE
        SELECT w.name INTO clash FROM written w
            WHERE EXISTS (
                SELECT FROM zones_rrset r
                WHERE r.zone_id = w.zone_id AND r.owner_key = w.owner_key AND (r.type = 5) <> (w.type = 5)
                    AND r.type <> 46 AND w.type <> 46)
            LIMIT 1;
    END IF;
    IF clash IS NOT NULL THEN
        RAISE EXCEPTION 'a CNAME at % must be alone', clash
            USING ERRCODE = 'exclusion_violation', CONSTRAINT = 'rrset_cname_alone', TABLE = 'zones_rrset';
    END IF;
    RETURN NULL;
END
$$;
"""

# {0} child table, {1} its column, {2} parent table, {3} its column, {4} name of the constraint.
REFERS = f"""
CREATE FUNCTION {{4}}_is_there() RETURNS trigger LANGUAGE plpgsql {BY_INDEX} AS $$
DECLARE
    wanted bigint[];
    locked bigint;
BEGIN
    SELECT array_agg(DISTINCT {{1}}) INTO wanted FROM written;
    SELECT count(*) INTO locked
        FROM (SELECT FROM {{2}} WHERE {{3}} = ANY(wanted) ORDER BY {{3}} FOR KEY SHARE) AS there;
    IF locked < cardinality(wanted) THEN
        RAISE EXCEPTION '% refers to nothing', '{{0}}.{{1}}'
            USING ERRCODE = 'foreign_key_violation', CONSTRAINT = '{{4}}', TABLE = '{{0}}';
    END IF;
    RETURN NULL;
END
$$;
"""

ON_WRITE = """
CREATE TRIGGER {1}_on_{2} AFTER {2} ON {0}
REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION {3}();
"""

# {0} parent table, {1} its column, {2} one DELETE for each child.
BELONGS = f"""
CREATE FUNCTION {{0}}_gone() RETURNS trigger LANGUAGE plpgsql {BY_INDEX} AS $$
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'rows of % are deleted in READ COMMITTED only', '{{0}}' USING ERRCODE = 'restrict_violation';
    END IF;
    {{2}}
    RETURN NULL;
END
$$;
CREATE TRIGGER {{0}}_gone AFTER DELETE ON {{0}}
REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION {{0}}_gone();
CREATE FUNCTION {{0}}_stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '%.% never changes', '{{0}}', '{{1}}' USING ERRCODE = 'restrict_violation';
END
$$;
CREATE TRIGGER {{0}}_stays BEFORE UPDATE OF {{1}} ON {{0}}
FOR EACH ROW WHEN (OLD.{{1}} <> NEW.{{1}}) EXECUTE FUNCTION {{0}}_stays();
"""

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


def on_write(table: str, name: str, function: str) -> str:
    return "".join(ON_WRITE.format(table, name, event, function) for event in ("INSERT", "UPDATE"))


def refers(child: str, column: str, parent: str, key: str, name: str) -> str:
    return REFERS.format(child, column, parent, key, name) + on_write(child, name, f"{name}_is_there")


def belongs(parent: str, key: str, *children: tuple[str, str]) -> str:
    deletes = " ".join(
        f"DELETE FROM {child} USING gone WHERE {child}.{column} = gone.{key};" for child, column in children
    )
    return BELONGS.format(parent, key, deletes)


RULES = "".join(
    [
        FILL,
        ROW_IDS,
        CNAME_INDEXES,
        RRSET_WRITTEN,
        on_write("zones_rrset", "rrset_written", "zones_rrset_written"),
        GOES_WITH_ITS_RRSET,
        refers("zones_revision", "zone_id", "zones_zone", "id", "revision_zone"),
        refers("zones_revision", "publication_id", "zones_publication", "sequence", "revision_publication"),
        refers("zones_change", "revision_id", "zones_revision", "id", "change_revision"),
        belongs(
            "zones_zone",
            "id",
            ("zones_rrset", "zone_id"),
            ("zones_revision", "zone_id"),
            ("zones_searchtext", "zone_id"),
            ("zones_complaint", "zone_id"),
            ("zones_nameplace", "zone_id"),
        ),
        belongs("zones_publication", "sequence", ("zones_revision", "publication_id")),
        belongs("zones_revision", "id", ("zones_change", "revision_id")),
    ]
)
