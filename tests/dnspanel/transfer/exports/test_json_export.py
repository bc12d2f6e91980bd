"""Exports of zones as JSON."""

import json

from dnspanel.transfer.exports.json_export import zone_line
from replication.dns import rdtypes
from replication.dns.rrset import make
from tests.dnspanel.transfer.estates import apex, estate, exported


def test_a_zone_is_one_object_on_one_line() -> None:
    rrsets = [
        *apex("a.test."),
        make("www.a.test.", rdtypes.A, 60, ["192.0.2.1", "192.0.2.2"], ["192.0.2.2"], comment='say "ü"\n'),
    ]
    line = "".join(zone_line(exported("a.test.", rrsets)))
    assert line.index("\n") == len(line) - 1
    read = json.loads(line)
    assert read["zone"] == "a.test."
    assert read["rrsets"][0]["type"] == "SOA"
    assert read["rrsets"][-1] == {
        "name": "www.a.test.",
        "type": "A",
        "ttl": 60,
        "records": [{"content": "192.0.2.1", "disabled": False}, {"content": "192.0.2.2", "disabled": True}],
        "comments": [{"content": 'say "ü"\n'}],
    }


def test_every_line_is_json_whatever_the_zone_holds() -> None:
    for zone, rrsets in estate().items():
        read = json.loads("".join(zone_line(exported(zone, rrsets))))
        assert [entry["name"] for entry in read["rrsets"]] == [rrset.name for rrset in rrsets]
