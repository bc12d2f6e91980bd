"""Which zone a file is about."""

import pytest

from dnspanel.transfer.documents import Document
from dnspanel.transfer.zonefile.apex import find, guess
from dnspanel.transfer.zonefile.tokens import Sheet

SOA = "SOA ns1.provider.test. hostmaster.provider.test. 1 2 3 4 5\n"


def name_of(text: str, *, path: str = "zone", files: dict[str, str] | None = None) -> str:
    def include(included: str) -> Document | None:
        return Document(included, files[included].encode()) if files and included in files else None

    return find(Sheet(Document(path, text.encode()), 0), include)[0]


@pytest.mark.parametrize(
    "path",
    [
        "db.example.test",
        "example.test.zone",
        "example.test.db",
        "example.test.hosts",
        "example.test.txt",
        "named.example.test",
        "pri.example.test",
        "example.test",
        "zones/x/example.test/db",
        "Example.TEST.zone",
        "/etc/bind/db.example.test",
        "example.test.zone.txt",
        "example.test.signed",
        "zone.example.test.bind",
        "c:\\zones\\example.test.dns",
        "example.test/zone.db",
        "example.test./db",
        "master.example.test",
    ],
)
def test_a_path_says_the_zone(path: str) -> None:
    assert guess(path) == "example.test."
    assert name_of("$TTL 60\n@ " + SOA, path=path) == "example.test."


@pytest.mark.parametrize(
    ("path", "zone"),
    [
        ("db.192.0.2", "2.0.192.in-addr.arpa."),
        ("192.0.2.rev", "2.0.192.in-addr.arpa."),
        ("db.10", "10.in-addr.arpa."),
        ("2.0.192.in-addr.arpa.zone", "2.0.192.in-addr.arpa."),
        ("db.2.0.192.in-addr.arpa", "2.0.192.in-addr.arpa."),
        ("0.8.b.d.0.1.0.0.2.ip6.arpa", "0.8.b.d.0.1.0.0.2.ip6.arpa."),
        ("0-25.2.0.192.in-addr.arpa", "0-25.2.0.192.in-addr.arpa."),
        ("db", ""),
        ("zone.txt", ""),
        ("", ""),
        ("localhost.db", ""),
        ("db.999.0.2", ""),
        ("a..b.test", ""),
        ("xn--bcher-kva.test.zone", "xn--bcher-kva.test."),
        ("bücher.test.zone", "xn--bcher-kva.test."),
    ],
)
def test_a_path_says_a_reverse_zone_or_nothing(path: str, zone: str) -> None:
    assert guess(path) == zone


@pytest.mark.parametrize(
    "text",
    [
        "$ORIGIN example.test.\n$TTL 60\n@ 60 IN " + SOA,
        "$ORIGIN EXAMPLE.test.\n@ " + SOA,
        "$ORIGIN test.\nexample " + SOA,
        "$ORIGIN test.\n$ORIGIN example\n@ IN " + SOA,
        "; a comment\n\n$TTL 60\nexample.test. 1h in " + SOA.lower(),
        "example.test. NS a.test.\n IN " + SOA,
        "www.example.test. A 192.0.2.1\nexample.test. " + SOA,
        "www.example.test. TXT SOA\nexample.test. " + SOA,
        "$INCLUDE soa\n",
    ],
)
def test_the_owner_of_the_soa_is_the_zone(text: str) -> None:
    assert name_of(text, files={"soa": "example.test. 60 " + SOA}) == "example.test."


def test_what_the_source_knows_comes_first() -> None:
    document = Document("db.other.test", b"$ORIGIN third.test.\n@ " + SOA.encode(), "example.test.")
    assert find(Sheet(document, 0), lambda path: None) == ("example.test.", None, 0)


def test_an_origin_in_the_file_is_worth_more_than_the_path() -> None:
    assert name_of("$ORIGIN example.test.\n@ " + SOA, path="db.other.test") == "example.test."
    assert name_of("$ORIGIN example.test.\nwww A 192.0.2.1\n", path="db.other.test") == "example.test."


def test_a_file_that_does_not_say_it_gets_a_proposal() -> None:
    name, fault, line = find(Sheet(Document("zone", b"$TTL 60\n@ 60 " + SOA.encode()), 0), lambda path: None)
    assert (name, line) == ("", 1)
    assert fault is not None
    assert fault.code == "zone-name-unknown"
    assert fault.fix == "provider.test. 60 " + SOA.rstrip()
    name, fault, _ = find(Sheet(Document("zone", b"www A 192.0.2.1\n"), 0), lambda path: None)
    assert (name, fault is not None and fault.code) == ("", "zone-name-unknown")


def test_includes_in_a_circle_end() -> None:
    assert name_of("$INCLUDE a\n", files={"a": "$INCLUDE a\n$INCLUDE a\n"}) == ""
