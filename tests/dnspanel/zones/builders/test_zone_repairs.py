"""Records that a zone lacks, and RRsets without the problem that a check found."""

from dnspanel.zones.builders.zone_repairs import missing_records, repair_of, shared_network
from dnspanel.zones.rules.violations import Severity, Violation
from replication.dns.rrset import RRset
from tests.dnspanel.zones.conftest import ZONE, rr


def present(*lines: str) -> dict[tuple[str, int], RRset]:
    return {(each.name, each.type): each for each in map(rr, lines)}


def test_mail_makes_missing_records_a_warning() -> None:
    found = list(missing_records(ZONE, present("@ 300 MX 10 mail"), 300, is_top=True))
    assert [(each.code, each.severity) for each, _ in found] == [
        ("spf-missing", Severity.WARNING),
        ("dmarc-missing", Severity.WARNING),
        ("caa-missing", Severity.NOTE),
    ]
    assert [each.severity for each, _ in missing_records(ZONE, {}, 300, is_top=True)] == [Severity.NOTE] * 3
    assert found[2][1] == {}, "only people know their authorities"


def test_an_alias_at_dmarc_is_a_record_for_dmarc() -> None:
    here = present("_dmarc 300 CNAME reports.example.net.", '@ 300 TXT "V=SPF1 -all"')
    assert [each.code for each, _ in missing_records(ZONE, here, 300, is_top=True)] == ["caa-missing"]


def test_one_server_or_unknown_addresses_say_nothing_about_networks() -> None:
    assert not list(shared_network(ZONE, {"a.": ["192.0.2.1"]}))
    assert not list(shared_network(ZONE, {"a.": ["192.0.2.1"], "b.": []}))
    [found] = shared_network(ZONE, {"a.": ["192.0.2.1"], "b.": ["192.0.2.2", "2001:db8::1"]})
    assert "192.0.2.0/24, 2001:db8::/48" in found.message


def test_what_only_a_person_can_decide_has_no_repair() -> None:
    def repair(line: str, code: str, target: str = "") -> object:
        rrset = rr(line)
        about = Violation(Severity.WARNING, code, rrset.name, rrset.type, "", target)
        return repair_of(about, rrset, ZONE, 300)

    assert repair("a 300 CNAME b", "cname-loop") == {}
    assert repair("@ 300 NS ns1 | ns2", "target-missing", f"ns2.{ZONE}") == {}
    wrong = '@ 300 TXT "v=spf1 nonsense -all" | "v=spf1 mx"'
    assert repair(wrong, "spf-duplicate") == {}, "the form for SPF refuses the term"
