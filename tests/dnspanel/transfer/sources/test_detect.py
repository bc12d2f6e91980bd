import pytest

from dnspanel.transfer.sources.detect import FileKind, file_kind, has_soa, is_named_like_a_zone

SOA = b"@ IN SOA ns1.example.test. root.example.test. 1 2 3 4 5\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (SOA, True),
        (SOA.lower(), True),
        (b"@ IN Soa a. b. ( 1 2 3 4 5 )\n", True),
        (b"@ SOA(a. b. 1 2 3 4 5)", True),
        (b"; SOA record is included\n@ IN NS a.\n", False),
        (b"@ IN TXT soapbox\n", False),
        (b"xSOA IN A 192.0.2.1\n", False),
        (b"", False),
    ],
)
def test_the_word_soa_counts_outside_of_comments(text: bytes, expected: bool) -> None:
    assert has_soa(text) is expected


@pytest.mark.parametrize(
    ("path", "text", "kind"),
    [
        ("example.md", SOA, FileKind.ZONE),
        ("README.md", SOA, FileKind.NOTHING),
        ("example.zone~", SOA, FileKind.BACKUP),
        ("example.zone.bak", SOA, FileKind.BACKUP),
        ("db.example.dpkg-old", SOA, FileKind.BACKUP),
        ("._example.zone", SOA, FileKind.NOTHING),
        ("__MACOSX/zones/example.zone", SOA, FileKind.NOTHING),
        ("zones/.git/HEAD", b"ref: refs/heads/main\n", FileKind.NOTHING),
        (".example.zone.swp", b"b0VIM\0", FileKind.NOTHING),
        ("a", b"www 3600 IN A 192.0.2.1\n", FileKind.ZONE),
        ("a", b"www IN 1h A 192.0.2.1\n", FileKind.ZONE),
        ("a", b"\tNS\tns1\n", FileKind.ZONE),
        ("a", b"$INCLUDE other\n", FileKind.ZONE),
        ("a.zone", b"", FileKind.EMPTY),
        ("a.zone", b" \n\n", FileKind.EMPTY),
        ("notes.txt", b"call the registry on Monday\n", FileKind.NO_RECORDS),
        ("SHA256SUMS", b"e3b0c44298fc1c14  a.zone\n", FileKind.NO_RECORDS),
        ("example.zone.jnl", b";BIND LOG V9\n\0\0\0\0", FileKind.NOTHING),
        ("Kexample.test.+013+12345.key", b"example.test. IN DNSKEY 257 3 13 x\n", FileKind.KEY),
        ("a.zone.gz", b"\x1f\x8b\x08\0abc", FileKind.ARCHIVE),
        ("a.zip", b"PK\3\4\0\0", FileKind.ARCHIVE),
        ("logo.png", b"\x89PNG\r\n\x1a\n\0\0", FileKind.BINARY),
        ("example.raw", b"\0\0\0\2\0\0\0\1" + bytes(20), FileKind.RAW),
        ("example.zone", "@ IN SOA a b 1 2 3 4 5\n".encode("utf-16"), FileKind.UTF16),
    ],
)
def test_files_look_like_what_they_are(path: str, text: bytes, kind: FileKind) -> None:
    assert file_kind(path, text) is kind


@pytest.mark.parametrize("path", ["a.zone", "zones/db.example.test", "X.DB", "example.dns", "pri.example.test"])
def test_names_of_zone_files_are_known(path: str) -> None:
    assert is_named_like_a_zone(path)


@pytest.mark.parametrize("path", ["notes.txt", "logo.png", "dbx", "Makefile"])
def test_other_names_are_not(path: str) -> None:
    assert not is_named_like_a_zone(path)
