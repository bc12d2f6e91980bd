"""The detection of the zone that a zone file describes."""

import pytest

from dnspanel.transfer.documents import Document
from dnspanel.transfer.zonefile.apex import find, guess
from dnspanel.transfer.zonefile.zonefile_tokens import Sheet
from tests.dnspanel.transfer.zonefile.test_parse import read

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
    assert find(Sheet(document, 0), lambda path: None)[:3] == ("example.test.", None, 0)


def test_an_origin_in_the_file_is_worth_more_than_the_path() -> None:
    assert name_of("$ORIGIN example.test.\n@ " + SOA, path="db.other.test") == "example.test."
    assert name_of("$ORIGIN example.test.\nwww A 192.0.2.1\n", path="db.other.test") == "example.test."


@pytest.mark.parametrize("owner", ["@", "example", ""])
def test_a_file_that_does_not_say_it_gets_no_proposal_from_its_name_servers(owner: str) -> None:
    text = f"$TTL 60\n{owner} 60 {SOA}".encode()
    name, fault, line, _ = find(Sheet(Document("zone", text), 0), lambda path: None)
    assert (name, line) == ("", 1)
    assert fault is not None
    assert fault.code == "zone-name-unknown"
    assert fault.fix == (f"example. 60 {SOA.rstrip()}" if owner == "example" else "")
    name, fault, *_ = find(Sheet(Document("zone", b"www A 192.0.2.1\n"), 0), lambda path: None)
    assert (name, fault is not None and fault.code) == ("", "zone-name-unknown")


def test_includes_in_a_circle_end() -> None:
    assert name_of("$INCLUDE a\n", files={"a": "$INCLUDE a\n$INCLUDE a\n"}) == ""


# A file whose own statement of its zone lacks the final dot

CLOUDFLARE = """;;
;; Domain:     example.test.
;; Exported:   2026-01-01 10:00:00
;;

;; SOA Record
example.test\t3600\tIN\tSOA\tara.ns.provider.test. dns.provider.test. 2052990754 10000 2400 604800 3600

;; NS Records
{ns}\t86400\tIN\tNS\tara.ns.provider.test.
{ns}\t86400\tIN\tNS\tcar.ns.provider.test.

;; A Records
www.example.test.\t1\tIN\tA\t192.0.2.1 ; cf_tags=cf-proxied:true
"""
NAMED = "SOA ns1.provider.test. a.provider.test. 1 2 3 4 60\n@ NS ns1.provider.test.\n@ NS ns2.provider.test.\n"
WAYS = [("example.test.txt", ""), ("zone.txt", ""), ("cloudflare.export.txt", ""), ("any.txt", "example.test.")]


@pytest.mark.parametrize(("path", "zone"), WAYS)
@pytest.mark.parametrize("ns", ["example.test.", "example.test", "Example.TEST"])
def test_the_owner_of_the_soa_may_lack_its_final_dot(path: str, zone: str, ns: str) -> None:
    found = read(CLOUDFLARE.format(ns=ns), path=path, zone=zone)
    assert (found.name, found.records, found.is_sound) == ("example.test.", 4, True)
    [fault] = [fault for fault in found.faults if fault.code != "ttl-low"]
    assert (fault.code, fault.line, fault.column, fault.severity) == ("zone-name-dot", 7, 1, "warning")
    assert fault.fix.startswith("example.test.\t3600\tIN\tSOA\t")


@pytest.mark.parametrize(("path", "zone"), WAYS)
@pytest.mark.parametrize(
    "head",
    [
        "$ORIGIN example.test\n@ ",
        "$TTL 60\n$ORIGIN example.test ; the zone\n\n@ IN ",
        "$ORIGIN example.test\nexample.test. ",
        "$ORIGIN example.test\nexample.test ",
        "$ORIGIN example.test.\nexample.test ",
    ],
)
def test_the_origin_may_lack_its_final_dot(path: str, zone: str, head: str) -> None:
    text = f"{head}60 {NAMED}www 60 A 192.0.2.1\nftp.example.test 60 A 192.0.2.1\n"
    text += "$ORIGIN sub.example.test\na 60 A 192.0.2.1\n"
    found = read(text, path=path, zone=zone)
    assert sorted({each.name.removesuffix("example.test.") for each in found.rrsets}) == ["", "a.sub.", "ftp.", "www."]
    assert [fault.code for fault in found.faults] == ["zone-name-dot"]


def test_an_owner_that_is_relative_to_the_name_of_the_file_stays_relative() -> None:
    text = "sub.dept 60 SOA ns1.example.test. a.example.test. 1 2 3 4 60\nsub.dept NS ns1.example.test.\n"
    found = read(text, path="example.test.zone")
    assert (found.name, found.records) == ("sub.dept.example.test.", 2)
    assert "zone-name-dot" not in [fault.code for fault in found.faults]
    twice = read(f"$ORIGIN example.test.\nexample.test 60 {NAMED}", path="example.test.example.test.zone")
    assert twice.name == "example.test.example.test."
    assert read(f"$ORIGIN com.\ncom 60 {NAMED}").name == "com.com."
    found = read(f"@ 60 {NAMED}x.example.test 60 A 192.0.2.1\n", zone="example.test.")
    assert [each.name for each in found.rrsets][-1] == "x.example.test.example.test."
    assert [fault.code for fault in found.faults] == ["doubled-name"], "the file states its zone as it should"
