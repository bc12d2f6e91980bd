import pytest
from hypothesis import given
from hypothesis import strategies as st

from dnspanel.transfer.sources.namedconf import Included, ListedZone, is_named_conf, parse_named_conf

DEBIAN = b"""// This is the primary configuration file for the BIND DNS server named.
include "/etc/bind/named.conf.options";
include "/etc/bind/named.conf.local"; # local zones
/* include "/etc/bind/zones.rfc1918"; */
options {
    directory "/var/cache/bind";
    forwarders { 192.0.2.1; 2001:db8::1 port 53; };
    listen-on-v6 { any; };
};
zone "Example.test" IN { type master; file "/etc/bind/db.example"; allow-transfer { key "x;y}"; }; };
zone example.org.test {
    type primary;
    file "primary/example.org"; // its file
    update-policy { grant local-ddns zonesub any; };
};
zone "." { type hint; file "/usr/share/dns/root.hints"; };
zone "0.2.192.in-addr.arpa" { type slave; masters { 192.0.2.7; }; file "slave/x"; };
"""


def zones(text: bytes) -> list[tuple[str, str, str]]:
    listed = parse_named_conf("named.conf", text).listed
    return [(zone.name, zone.type, zone.file) for zone in listed if isinstance(zone, ListedZone)]


def test_zones_are_read_with_their_types_and_files() -> None:
    assert zones(DEBIAN) == [
        ("Example.test", "master", "/etc/bind/db.example"),
        ("example.org.test", "primary", "primary/example.org"),
        (".", "hint", "/usr/share/dns/root.hints"),
        ("0.2.192.in-addr.arpa", "slave", "slave/x"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        'zone "a.test" { type master; file "x/a"; };',
        'zone "a.test" IN {\n  type master;\n  file "x/a";\n};',
        'zone "a.test"{type master; file "x/a";};',
        'zone "a.test" { type master; file "x/a"; allow-transfer { none; }; };',
        "zone a.test { file x/a; type master; };",
        'zone "a.test" /* ours */ { type "master"; // yes\n file "x/a"; };',
        'ZONE "a.test" { TYPE MASTER; FILE "x/a"; };',
    ],
)
def test_one_zone_written_in_many_ways_is_the_same(text: str) -> None:
    (listed,) = parse_named_conf("named.conf", text.encode()).listed

    assert isinstance(listed, ListedZone)
    assert (listed.name, listed.type, listed.file, listed.offset, listed.rdclass) == (
        "a.test",
        "master",
        "x/a",
        0,
        "in",
    )


def test_the_directory_and_what_is_included_are_read() -> None:
    conf = parse_named_conf("named.conf", DEBIAN)

    assert conf.directory == "/var/cache/bind"
    assert [statement.path for statement in conf.listed if isinstance(statement, Included)] == [
        "/etc/bind/named.conf.options",
        "/etc/bind/named.conf.local",
    ]
    assert conf.faults == []


def test_zones_know_their_place() -> None:
    conf = parse_named_conf("named.conf", DEBIAN)
    place = conf.lines.place(conf.listed[3].offset)

    assert (place.path, place.line, place.column) == ("named.conf", 11, 1)
    assert place.source == "zone example.org.test {"


def test_views_and_classes_are_read() -> None:
    conf = parse_named_conf(
        "c",
        b"""view "inside" { match-clients { any; }; zone "a.test" { type master; file "a"; };
            include "more.conf"; };
            view outside IN { zone "a.test" CH { type master; file "b"; }; zone "b.test" { in-view "inside"; }; };""",
    )

    assert [
        (statement.view, statement.rdclass, statement.type) if isinstance(statement, ListedZone) else statement.view
        for statement in conf.listed
    ] == [("inside", "in", "master"), "inside", ("outside", "ch", "master"), ("outside", "in", "in-view")]


def test_what_is_called_zone_elsewhere_is_no_zone() -> None:
    assert zones(b'response-policy { zone "a.test" { type master; file "a"; }; };') == []
    assert zones(b'response-policy { zone "rpz.test"; };\noptions { zone { x y; }; };') == []
    assert zones(b'zone "a.test" { type master; file "a"; options { file "b"; }; };') == [("a.test", "master", "a")]


@pytest.mark.parametrize(
    ("text", "line", "column", "reason"),
    [
        (b'options {\n  directory "x;\n};\n', 2, 13, "a quote that isn’t closed"),
        (b"a;\n /* open", 2, 2, "a comment that isn’t closed"),
        (b'zone "a" {\n type master;\n', 1, 1, "a “{” without a closing “}”"),
        (b"options { };\n };", 2, 2, "a “}” without an opening “{”"),
        (b"zone { type master; };", 1, 1, "a zone without a name"),
    ],
)
def test_faults_say_where_and_what(text: bytes, line: int, column: int, reason: str) -> None:
    fault = parse_named_conf("named.conf", text).faults[0]

    assert (fault.path, fault.line, fault.column, fault.reason) == ("named.conf", line, column, reason)
    assert fault.source


def test_zones_before_a_fault_still_count() -> None:
    assert zones(b'zone "a.test" { type master; file "a"; };\n zone "b" { file "') == [("a.test", "master", "a")]


def test_quotes_hold_anything() -> None:
    assert zones(b'zone "a.test" { type master; file "a \\"b\\" // {c}; #d"; };') == [
        ("a.test", "master", 'a "b" // {c}; #d')
    ]


@pytest.mark.parametrize(
    "text",
    [
        DEBIAN,
        b'zone "a.test" {\n',
        b"zone a.test IN\n{",
        b'include "/etc/bind/named.conf.local";\n',
        b"options {\n",
        b'view "x" {\n',
    ],
)
def test_configurations_are_recognised(text: bytes) -> None:
    assert is_named_conf(text)


@pytest.mark.parametrize(
    "text",
    [
        b'example.test. 3600 IN TXT "zone \\"x\\" {"\n',
        b"; zone example.test {\n@ IN SOA a b 1 2 3 4 5\n",
        b'$INCLUDE "x";\n',
        b"zone 3600 IN A 192.0.2.1\n",
        b'key "rndc-key" { algorithm hmac-sha256; };',
        b"",
    ],
)
def test_zone_files_and_others_are_not(text: bytes) -> None:
    assert not is_named_conf(text)


@given(st.text('zone"a {};/*\n#\\fileincludeview'))
def test_no_text_breaks_the_reader(text: str) -> None:
    for fault in parse_named_conf("x", text.encode()).faults:
        assert fault.line >= 1
        assert fault.column >= 1


def test_a_backslash_that_hides_no_quote_belongs_to_the_name() -> None:
    assert zones(b'zone "a\\032b.test" { type primary; file "x"; };') == [(r"a\032b.test", "primary", "x")]
