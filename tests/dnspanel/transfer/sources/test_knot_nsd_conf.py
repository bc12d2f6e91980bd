import pytest

from dnspanel.transfer.sources.knot_nsd_conf import is_indented_conf, parse_indented_conf
from dnspanel.transfer.sources.namedconf import Included, ListedZone

NSD = b"""server:
    zonesdir: "/etc/nsd"   # folder
include: "/etc/nsd/zones.d/*.conf"
pattern:
    name: "plain"
    zonefile: "zones/%s.zone"
zone:
    name: "example.test"
    zonefile: "primary/example.test"
zone:
    name: "b.test"
    include-pattern: "plain"
zone:
    name: "c.test"
    zonefile: c
    request-xfr: 192.0.2.1 NOKEY
remote-control:
    control-enable: yes
"""
KNOT = b"""template:
  - id: default
    storage: /var/lib/knot
    file: "%s.db"
  - id: other
    storage: "/srv/zones"
zone:
  - domain: Example.test
    file: example.zone
  - domain: b.test
    template: other
  - domain: c.test
    master: far
  - domain: d.test
log:
  - target: syslog
    any: info
"""


def listed(text: bytes) -> list[tuple[str, str, str]]:
    found = parse_indented_conf("x.conf", text).listed
    return [(zone.name, zone.type, zone.file) for zone in found if isinstance(zone, ListedZone)]


def test_nsd_zones_are_read_with_patterns() -> None:
    conf = parse_indented_conf("nsd.conf", NSD)

    assert listed(NSD) == [
        ("example.test", "primary", "primary/example.test"),
        ("b.test", "primary", "zones/b.test.zone"),
        ("c.test", "secondary", "c"),
    ]
    assert conf.directory == "/etc/nsd"
    assert [zone.path for zone in conf.listed if isinstance(zone, Included)] == ["/etc/nsd/zones.d/*.conf"]


def test_knot_zones_are_read_with_templates() -> None:
    assert listed(KNOT) == [
        ("Example.test", "primary", "/var/lib/knot/example.zone"),
        ("b.test", "primary", "/srv/zones/b.test.zone"),
        ("c.test", "secondary", "/var/lib/knot/c.test.db"),
        ("d.test", "primary", "/var/lib/knot/d.test.db"),
    ]


def test_zones_know_their_place() -> None:
    conf = parse_indented_conf("knot.conf", KNOT)
    place = conf.lines.place(conf.listed[1].offset)

    assert (place.line, place.column, place.source) == (10, 5, "- domain: b.test")


def test_only_configurations_are_recognised() -> None:
    assert is_indented_conf(NSD)
    assert is_indented_conf(KNOT)
    assert not is_indented_conf(b"; zone: example.test\n@ IN SOA a b 1 2 3 4 5\n")
    assert not is_indented_conf(b"zone: example.test is ours\n")


def test_a_value_ends_before_spaces_and_a_comment() -> None:
    lines = (b"a", b'"a"', b"a  ", b'"a"\t ', b"a # b", b'"a" # b', b"a\r", b'"a" \r')
    for line in lines:
        conf = parse_indented_conf("nsd.conf", b"zone:\n    name: " + line + b"\n    zonefile: z\n")
        assert [listed.name for listed in conf.listed if isinstance(listed, ListedZone)] == ["a"], line
    conf = parse_indented_conf("nsd.conf", b'zone:\n  name: "a#b"\n  zonefile: c d  \n')
    assert [(listed.name, listed.file) for listed in conf.listed if isinstance(listed, ListedZone)] == [("a#b", "c d")]


@pytest.mark.parametrize("text", [NSD, KNOT])
def test_lines_may_end_as_those_of_windows(text: bytes) -> None:
    assert listed(text.replace(b"\n", b"\r\n")) == listed(text)
