"""Generated zones, rows in memory, and kinds of denial of existence, for the compiler tests."""

from collections.abc import Iterator, Mapping

from hypothesis import strategies as st

from replication.codec import keys
from replication.codec.dnssec import Nsec3, nsec3_hash
from replication.compile import Row
from replication.dns import names, rdata, rrset
from replication.dns.rdtypes import AAAA, CNAME, DS, NS, RRSIG, SOA, TXT, A, type_from_text
from replication.dns.rrset import RRset

ZONE = "example.test."
RDATA = {
    A: "192.0.2.1",
    AAAA: "2001:db8::1",
    CNAME: "www.example.test.",
    DS: "1 13 2 " + "ab" * 32,
    NS: "ns.example.test.",
    RRSIG: f"A 13 3 300 20270101000000 20260101000000 12345 example.test. {'q80x' * 21}qw==",
    SOA: "ns.example.test. hostmaster.example.test. 1 2 3 4 5",
    TXT: '"text"',
}
Key = tuple[str, int]

DENIALS: dict[str, Nsec3 | None] = {
    "nsec": None,
    "nsec3": Nsec3(),
    "salted": Nsec3(iterations=2, salt=b"\xab\xcd"),
    "opt-out": Nsec3(opt_out=True),
    "salted-opt-out": Nsec3(iterations=1, salt=b"\xab\xcd", opt_out=True),
    "narrow": Nsec3(narrow=True),
    "narrow-opt-out": Nsec3(narrow=True, opt_out=True),
}


def one(name: str, type: int, ttl: int = 300) -> RRset:
    if type == RRSIG:  # refused by `make`
        return RRset(names.parse(name, ZONE), type, ttl, (rdata.parse_signature(RDATA[type]),))
    return rrset.make(name, type, ttl, [RDATA[type]], origin=ZONE)


def zone_of(*texts: str) -> list[RRset]:
    """Return the RRsets in lines such as `www A`, and SOA and NS for the apex."""
    lines = [text.split() for text in ("@ SOA", "@ NS", *texts)]
    return [one(name, type_from_text(mnemonic)) for name, mnemonic in lines]


class DictRows:
    """The rows of one zone in memory, with a count of the rows read."""

    def __init__(self, rows: list[Row]) -> None:
        self.content = {(rel, type): body for rel, type, body in rows}
        # No key twice: one of the rows would be lost in the file.
        assert len(self.content) == len(rows)
        self.read = 0

    def get(self, rel: bytes, type: int) -> bytes | None:
        self.read += 1
        return self.content.get((rel, type))

    def at(self, rel: bytes) -> list[tuple[int, bytes]]:
        self.read += 1
        return [(type, body) for (key, type), body in sorted(self.content.items()) if key == rel]

    def below(self, rel: bytes) -> Iterator[Row]:
        for (key, type), body in sorted(self.content.items()):
            if key != rel and (rel == keys.APEX or key.startswith(rel)):
                self.read += 1
                yield key, type, body


def difference(before: Mapping[tuple[bytes, int], bytes], after: list[Row]) -> dict[tuple[bytes, int], bytes | None]:
    """Return the rows to put or delete that turn `before` into `after`."""
    new = {(rel, type): body for rel, type, body in after}
    return {key: new.get(key) for key in before.keys() | new.keys() if before.get(key) != new.get(key)}


# Only looks like a hash. A person who knows the zone's salt can write such a name.
HASH_LIKE = "0123456789abcdefghijklmnopqrstuv"
LABELS = ["a", "b", "*", "ns", "\\001", "\\255x", "a-", "\\.", HASH_LIKE]
NAMES = st.lists(st.sampled_from(LABELS), min_size=0, max_size=4).map(
    lambda labels: ".".join([*labels, ZONE]) if labels else ZONE
)
# Few names, so that they interact: chains of empty names, and delegations below delegations.
NEAR_NAMES = st.lists(st.sampled_from("ab*"), min_size=0, max_size=4).map(lambda labels: ".".join([*labels, ZONE]))
TYPES = st.sampled_from([A, TXT, NS, NS, DS, AAAA, RRSIG, RRSIG])
# The place of RRSIGs over NSEC3 in a presigned zone.
HASH_NAMES = st.builds(
    lambda name, salt: f"{nsec3_hash(name, salt, 2 if salt else 0).decode()}.{ZONE}",
    st.sampled_from([ZONE, f"a.{ZONE}", f"b.{ZONE}", f"a.a.{ZONE}", f"b.a.{ZONE}"]),
    st.sampled_from([b"", b"\xab\xcd"]),
)
KEYS = st.tuples(NEAR_NAMES | NAMES, TYPES) | st.tuples(HASH_NAMES, st.sampled_from([RRSIG, RRSIG, A]))
CONTENT = st.dictionaries(KEYS, st.integers(0, 2), max_size=14)
# A TTL of None deletes.
EDITS = st.dictionaries(KEYS, st.none() | st.integers(0, 2), max_size=6)
