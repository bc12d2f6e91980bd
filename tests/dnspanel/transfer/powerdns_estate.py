"""The same zones in each PowerDNS backend, and checks of the result of each source that reads them.

`fill` writes with PowerDNS's own tools; `EXTRAS` is SQL for rows that those tools cannot write. The trivial reader of
the oracle tests parses the documents here, so that an error in dnspanel's parser cannot hide one in a source.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache

from dnspanel.transfer.documents import Document, Item, Kept, Options, SourceFault
from dnspanel.transfer.models import KeptKind
from dnspanel.transfer.zonefile.parse import read_zone
from replication.dns.rrset import RRset
from tests.dnspanel.transfer.running import PowerDNS
from tests.oracle.corpus import rrsets_of, zone_texts

PRIVATE_KEY = """Private-key-format: v1.2
Algorithm: 13 (ECDSAP256SHA256)
PrivateKey: GU6SnQ/Ou+xC5RumuIUIuJZteXT2z0O/ok1s38Et6mQ=
"""
TSIG_SECRET = "c2VjcmV0IG9mIHRoZSB0ZXN0cyBmb3IgVFNJRyBrZXlz"

# In addition to the corpus: a disabled record, comments, metadata and a zone transferred from elsewhere.
EXTRA_ZONE = "extra.test."
SECONDARY_ZONE = "second.test."
EXTRA_TEXT = """@ 3600 IN SOA ns1.other.test. hostmaster.other.test. 7 10800 3600 604800 3600
@ 3600 IN NS ns1.other.test.
mail 300 IN MX 10 mx.other.test.
www 300 IN A 192.0.2.1
www 300 IN A 192.0.2.2
"""
DISABLED_LINE = ";!disabled off.extra.test. 300 IN A 192.0.2.3"
COMMENTED_LINE = "mail.extra.test. 300 IN MX 10 mx.other.test. ; two lines in Zürich; again"

EXTRAS = """
INSERT INTO records (domain_id, name, type, content, ttl, prio, disabled, auth)
  SELECT id, 'off.extra.test', 'A', '192.0.2.3', 300, 0, {true}, {true} FROM domains WHERE name='extra.test';
INSERT INTO comments (domain_id, name, type, modified_at, account, comment)
  SELECT id, 'mail.extra.test', 'MX', 2, 'bob', 'again' FROM domains WHERE name='extra.test';
INSERT INTO comments (domain_id, name, type, modified_at, account, comment)
  SELECT id, 'mail.extra.test', 'MX', 1, 'alice', 'two
lines in Zürich' FROM domains WHERE name='extra.test';
INSERT INTO comments (domain_id, name, type, modified_at, account, comment)
  SELECT id, 'gone.extra.test', 'TXT', 3, 'alice', 'it''s gone' FROM domains WHERE name='extra.test';
"""

KEPT = {
    ("", KeptKind.TSIG, "transfer.", f"hmac-sha256 {TSIG_SECRET}".encode()),
    (EXTRA_ZONE, KeptKind.METADATA, "X-NOTE", b"one"),
    (EXTRA_ZONE, KeptKind.METADATA, "X-NOTE", b"two"),
    (EXTRA_ZONE, KeptKind.METADATA, "account", b"acme"),
    (EXTRA_ZONE, KeptKind.KEY, "257 ECDSAP256SHA256 inactive", PRIVATE_KEY.encode()),
    (SECONDARY_ZONE, KeptKind.METADATA, "primaries", b"192.0.2.53"),
}
LOST_COMMENT = (EXTRA_ZONE, KeptKind.COMMENT, "gone.extra.test. TXT", b"it's gone")


def texts() -> dict[str, str]:
    """Return all zones as zone file texts, by zone name."""
    second = EXTRA_TEXT.replace("www", "copy")
    corpus = zone_texts()
    # PowerDNS's SQL schemas have 255 characters for a name and 64,000 for content, escapes and quotes included.
    del corpus["long.test."]
    large = corpus["large.test."].splitlines()
    corpus["large.test."] = "\n".join(line for line in large if not line.startswith("one ")) + "\n"
    return {**corpus, EXTRA_ZONE: EXTRA_TEXT, SECONDARY_ZONE: second}


def fill(powerdns: PowerDNS) -> None:
    """Write all zones with PowerDNS's own tools."""
    for zone, text in texts().items():
        powerdns.load_zone(zone, text)
    powerdns.pdnsutil("set-account", EXTRA_ZONE, "acme")
    powerdns.pdnsutil("set-meta", EXTRA_ZONE, "X-NOTE", "one", "two")
    key = powerdns.directory / "key"
    key.write_text(PRIVATE_KEY)
    powerdns.pdnsutil("import-zone-key", EXTRA_ZONE, str(key), "inactive", "ksk")
    powerdns.pdnsutil("change-slave-zone-master", SECONDARY_ZONE, "192.0.2.53")
    powerdns.pdnsutil("set-kind", SECONDARY_ZONE, "slave")
    powerdns.pdnsutil("import-tsig-key", "transfer", "hmac-sha256", TSIG_SECRET)


@dataclass
class Read:
    """The items of a source, sorted into documents, faults and kept data."""

    documents: dict[str, Document] = field(default_factory=dict)
    faults: list[SourceFault] = field(default_factory=list)
    kept: set[tuple[str, str, str, bytes]] = field(default_factory=set)

    def rrsets(self) -> dict[str, set[RRset]]:
        """Return the served RRsets of each zone, in canonical form."""
        return {zone: set(rrsets_of(zone, plain(document))) for zone, document in self.documents.items()}

    def lines(self, zone: str) -> list[str]:
        return self.documents[zone].text.decode().splitlines()


def plain(document: Document) -> str:
    """Return the document's lines of served records, without comments."""
    lines = document.text.decode("utf-8", "surrogateescape").splitlines()
    # Like PowerDNS, the corpus omits the dot of an IPSECKEY without gateway.
    served = (re.sub(r"(IPSECKEY \d+ 0 \d+) \. ", r"\1 ", line) for line in lines if not line.startswith(";"))
    return "\n".join(re.sub(r" ; [^\"]*$", "", line) for line in served)


def read(items: Iterable[Item]) -> Read:
    found = Read()
    for item in items:
        if isinstance(item, Document):
            assert item.zone not in found.documents
            found.documents[item.zone] = item
        elif isinstance(item, SourceFault):
            found.faults.append(item)
        else:
            assert isinstance(item, Kept)
            found.kept.add((item.zone, item.kind, item.name, item.value))
    return found


@cache
def expected() -> dict[str, set[RRset]]:
    return {zone: set(rrsets_of(zone, text)) for zone, text in texts().items()}


# The parser leaves these out, because name servers create them when they sign a zone.
CDS, CDNSKEY = 59, 60


def check_parsed(document: Document) -> None:
    """Check that dnspanel's parser finds the zone's RRsets in the document, and no error."""
    parsed = read_zone(document, options=Options(), include=lambda _: None, allow_lua=True)
    assert parsed.is_sound, parsed.faults
    served = {
        (rrset.name, rrset.type, rrset.ttl, rrset.texts) for rrset in parsed.rrsets if rrset.texts != rrset.disabled
    }
    expected_zones = expected()[document.zone]
    assert served == {
        (rrset.name, rrset.type, rrset.ttl, rrset.rdata) for rrset in expected_zones if rrset.type not in (CDS, CDNSKEY)
    }
    if document.zone == EXTRA_ZONE:
        comments = {(rrset.name, rrset.comment) for rrset in parsed.rrsets if rrset.comment}
        disabled = {(rrset.name, rrset.disabled) for rrset in parsed.rrsets if rrset.disabled}
        assert comments <= {("mail.extra.test.", COMMENTED_LINE.split(" ; ")[1])}
        assert disabled <= {("off.extra.test.", ("192.0.2.3",))}
        assert len(comments) == (b" ; " in document.text)
        assert len(disabled) == (b"!disabled" in document.text)


def check_estate(found: Read, *, comments: bool = True) -> None:
    """Check the source's zones: their RRsets, order, notes, comments and kept data."""
    expected_zones, got = expected(), found.rrsets()
    assert sorted(got) == sorted(expected_zones)
    for zone, rrsets in expected_zones.items():
        assert got[zone] == rrsets, zone
        check_parsed(found.documents[zone])
    assert list(found.documents) == sorted(found.documents)
    assert [(fault.zone, fault.code) for fault in found.faults] == [(SECONDARY_ZONE, "secondary-zone")]
    if comments:
        assert DISABLED_LINE in found.lines(EXTRA_ZONE)
        assert COMMENTED_LINE in found.lines(EXTRA_ZONE)
    assert sorted(found.kept) == sorted(KEPT | ({LOST_COMMENT} if comments else set()))
