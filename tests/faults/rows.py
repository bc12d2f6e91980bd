"""The fault table, row by row: the fault, what has to come of it, and which tests automate it.

Tests in this directory carry `@pytest.mark.row(number)`; `elsewhere` names tests of other directories that belong to
a row too, as a file or as one test of it. `stands_in` says, where a row speaks of a part that this design does not
have, what is tested in its place.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the fault table."""

    number: int
    fault: str
    outcome: str
    checked: str  # what the test looks at, besides the checker's assertions
    elsewhere: tuple[str, ...] = ()
    stands_in: str = ""


_FRONT = "tests/replication/front/test_faults.py::test_"
ROWS = (
    Row(1, "web process killed between edit and commit", "nothing published, the user sees an error",
        "killed at each message to PostgreSQL up to the commit: no publication, no answer changes"),
    Row(2, "web process killed just after the commit", "published within 2 s; a retry makes no second change",
        "killed at each message after the commit: one publication, every node answers, the retry adds none"),
    Row(3, "who hands out sequences and who encodes killed at every statement", "no gap, no duplicate, chain intact",
        "publishing process and publish worker killed at each call; publications and segments end to end",
        stands_in="the LogHead row inside the publishing transaction is the sequencer, the publish worker the encoder"),
    Row(4, "two publishers, the first paused past its lock", "the old one can insert nothing, no fork",
        "stopped inside a step, its session ended, a second one publishes, the first one wakes"),
    Row(5, "a long transaction while others commit", "all delivered, order kept, none skipped",
        "others publish meanwhile; the long one gets a later sequence"),
    Row(6, "publisher killed while it stores a segment", "no partial object is visible",
        "killed at each call of the upload; every named object is whole"),
    Row(7, "agent killed at every step", "resumes; no zone listed without its records",
        "killed at each read, write, sync, purge and answer, for a new and a removed zone"),
    Row(8, "PowerDNS killed during an apply", "apply unaffected; dead readers cleared",
        "files reach the head without it, no ack meanwhile, no dead reader afterwards"),
    Row(9, "power loss at a node, unsynced writes dropped", "database opens; position and data agree",
        "killed at each write of a commit, then everything unsynced dropped on an ext4 image"),
    Row(10, "a segment or chunk cut in the middle", "discarded, fetched again, nothing applied",
        "cut on the way and in the store; the node comes by snapshot",
        elsewhere=("tests/replication/agent/updates/test_snapshot_upload.py",)),
    Row(11, "a bit flipped, or a tree torn, inside the LMDB file",
        "that zone repaired; an unreadable tree: built beside and swapped, others unaffected",
        "found by a check, repaired alone; every branch page torn: new files, PowerDNS started again"),
    Row(12, "a bit flipped in the bucket", "signature fails, never applied, another way is taken",
        "flipped on the way and in the store; the node comes by snapshot"),
    Row(13, "a valid segment of another cluster", "refused", "sealed with our key for another cluster"),
    Row(14, "a segment forged with a stolen node certificate", "signature fails; the node is revoked, others go on",
        "a node's key opens no agent; another key's signature is refused; a revoked node gets nothing"),
    Row(15, "replay of the past", "nothing older is taken",
        "old segments are acknowledged at the present position; an old list of keys is refused",
        stands_in="there are no relays and no manifests of the head: somebody on the panel's channel replays segments "
        "and lists of keys; a panel that is cut off is shown by the age of its contact"),
    Row(16, "duplicate segments", "acknowledged, digest unchanged", "pushed again and again"),
    Row(17, "segment N+1 before N", "refused as a gap, memory bounded", "pushed early many times; resident memory"),
    Row(18, "a segment missing from the bucket", "gap noticed, snapshot instead", "objects removed from the store"),
    Row(19, "Redis stopped, flushed or full", "delivery goes on by polling, up to 5 s later",
        "edits saved all the while; seconds until every node has the last one",
        stands_in="imports, exports and snapshots wait for Redis; edits and their delivery do not"),
    Row(20, "broker flushed with tasks under way", "beat drives them again, same state", "flushed again and again"),
    Row(21, "a task runs twice at once", "one result", "second publish and push workers, every bell rung twice"),
    Row(22, "a node cut off for an hour at 10 changes/s", "answers; shown behind; 36,000 changes in 10 s",
        "shortened: 1,500 changes; seconds from the healed link to the head in its files"),
    Row(23, "a node cut off for longer than the log is kept", "snapshot by itself, deleted zones gone",
        "log pruned while a host's link is cut; REFUSED for the deleted zones"),
    Row(24, "one-way partition, acknowledgements lost", "applied once, shown unconfirmed",
        "TCP from the host lost: files ahead of what the panel shows; DNS answers seen"),
    Row(25, "30 % loss, 500 ms delay, 1 Mbit/s", "progress, no effect on others", "others' slowest edit in a hundred"),
    Row(26, "agent stopped for 10 minutes", "others unchanged, panel's memory flat",
        "shortened: 10 s; others' slowest edit in a hundred, memory of the push worker"),
    Row(27, "syncs of 2 s on one node", "it lags, others do not", "progress; others' slowest edit in a hundred"),
    Row(28, "disk full at a node during an apply", "old data served, alarm, resumes",
        "filled to the last byte; the panel's words; freed"),
    Row(29, "LMDB map full", "as before; the operator raises the map size", "a map of 2 MiB, then 256"),
    Row(30, "disk full at the panel", "edits refused in words, no half log", "PostgreSQL on a full ext4; then freed"),
    Row(31, "PostgreSQL failover that loses the last second", "publishing stops, a person decides",
        "the last second is taken out of PostgreSQL; held, differences listed, a new epoch",
        elsewhere=("tests/flow/test_restored_panel.py",)),
    Row(32, "PostgreSQL restored from yesterday's backup", "as before; serials never go down",
        "backup, edits, restore; held, decided, serials watched over DNS throughout",
        elsewhere=("tests/flow/test_restored_panel.py",)),
    Row(33, "clocks off by a day and an hour, and set back under load", "order and result identical",
        "agent ±1 h, set back while edits go on; publish, push and authors ±1 day"),
    Row(34, "a zone deleted and created 20 times in 5 s", "the last life everywhere, nothing of earlier ones",
        "lives with new keys, the first one again, and none; a name of each life, the DNSKEY and its signatures"),
    Row(35, "renames, zone moved to another team, case, wildcards, empty names", "old key gone, digest right",
        "each kind once; old names NXDOMAIN"),
    Row(36, "an edit storm during an import", "interactive p99 ≤ 2 s, import finishes",
        "seconds from each edit to its proof at every node while the import runs"),
    Row(37, "many zones deleted by mistake", "held for a person", "a script deletes 10 % of 400 zones over the API"),
    Row(38, "a change that makes PowerDNS SERVFAIL", "stops at ring 0, marked failed, later changes go on",
        "an IPSECKEY that 4.7 cannot serve", elsewhere=("tests/flow/test_stages.py",)),
    Row(39, "unknown segments; agent replaced mid-stream", "stops in words, never skips",
        "unknown version and kind of operation; the agent started anew goes on"),
    Row(40, "PowerDNS upgraded in place, schema change", "refuses in words, guided rebuild, others unaffected",
        "4.7 → 4.9 beside 4.9 and 5.1", elsewhere=("tests/flow/test_mixed_fleet.py",),
        stands_in="no package has LMDB 1.0 yet: the agent refuses to start on a library that is not 0.9"),
    Row(41, "a node joins while changes arrive", "digest equal at the end",
        "an author without pause, and the checker's edits; seconds until it is beyond the head of its beginning"),
    Row(42, "many nodes bootstrap at once", "panel responsive",
        "shortened: 3; whole: 16 agents with their PowerDNS; the slowest page meanwhile"),
    Row(43, "two agents on one LMDB; one identity on two machines", "the second is refused",
        "a second agent does not start; a copied state directory is noticed and gets nothing"),
    Row(44, "LMDB edited by hand with pdnsutil", "found within 60 s, repaired, reported", "pdnsutil replace-rrset"),
    Row(45, "control socket gone", "not in sync until the answer is right", "files ahead of what the panel shows"),
    Row(46, "certificate expired; signing key rotated while a node was away", "only that node; words; keys catch up",
        "a certificate that ended; a key rotated and used while the agent was down"),
    Row(47, "the store of segments lies or dies", "signature protects, the panel finds another way",
        "objects replaced by a lie, then the whole store away",
        stands_in="there are no relays: the store of objects is what stands between log and nodes"),
    Row(48, "power of the whole site", "nodes answer before the panel is back; converge",
        "everything killed; only the nodes started; then the rest"),
    Row(49, "the agent of a front dead", "dnsdist answers on, late nodes stay out; it goes on where it was",
        "dnsdist killed besides; no client gets an older answer than what was in sync",
        elsewhere=(f"{_FRONT}without_its_agent_dnsdist_answers_with_the_rotation_that_was",)),
    Row(50, "dnsdist of a front dead", "in sync with nothing new, in words; in sync by itself once it is back",
        "killed, and not started again, while a change is published; clients under load",
        elsewhere=(f"{_FRONT}without_dnsdist_a_front_is_in_sync_with_nothing_new_and_says_why",)),
    Row(51, "the key of dnsdist's console wrong", "nothing counts as done, in words; right again, it goes on",
        "another key while a change is published; clients under load",
        elsewhere=(f"{_FRONT}with_a_wrong_key_of_the_console_nothing_counts_as_done",)),
    Row(52, "every node behind a front late", "as many as the minimum answer all the same; the front is late itself",
        "the one that had everything dies; its words, and a late one that catches up",
        elsewhere=(f"{_FRONT}where_every_node_left_is_late_as_many_as_the_minimum_answer_and_the_front_says_so",)),
    Row(53, "the clock of a front jumps", "no node leaves rotation, nothing is held up",
        "set by an hour, forward and back, under load",
        elsewhere=(f"{_FRONT}a_clock_that_jumps_puts_no_node_out_and_holds_no_publication_up",)),
)  # fmt: skip
