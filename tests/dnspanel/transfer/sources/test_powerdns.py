import pytest

from dnspanel.transfer.documents import Kept
from dnspanel.transfer.models import KeptKind
from dnspanel.transfer.sources import powerdns


@pytest.mark.parametrize(
    ("stored", "name"),
    [
        ("www.a.test", "www.a.test."),
        ("www.a.test.", "www.a.test."),
        ("", "."),
        (".", "."),
        ("*.a.test", "*.a.test."),
        ("64/26.2.0.192.in-addr.arpa", "64/26.2.0.192.in-addr.arpa."),
        ("par(en);.a.test", "par\\(en\\)\\;.a.test."),
        ('q"q@x$.test', 'q\\"q\\@x\\$.test.'),
        ("a\\.b.test", "a\\.b.test."),
        ("a\\032b.test", "a\\032b.test."),
        ("a b.test", "a\\032b.test."),
        ("x.test\\.", "x.test\\.."),
        ("x.test\\\\.", "x.test\\\\."),
    ],
)
def test_names_are_absolute_and_escaped(stored: str, name: str) -> None:
    assert powerdns.owner(stored) == name


@pytest.mark.parametrize(
    ("type", "content", "prio", "written"),
    [
        ("A", "192.0.2.1", "0", "192.0.2.1"),
        ("NS", "ns.a.test", None, "ns.a.test."),
        ("CNAME", ".", None, "."),
        ("ALIAS", "target.test", None, "target.test."),
        ("MX", "mail.test", "10", "10 mail.test."),
        ("MX", "20 mail.test", "0", "20 mail.test."),
        ("MX", "mail.test", None, "0 mail.test."),
        ("SRV", "5 5060 sip.test", "1", "1 5 5060 sip.test."),
        ("SRV", "0 5 5060 sip.test.", "0", "0 5 5060 sip.test."),
        ("SRV", "0 0 .", "0", "0 0 0 ."),
        (
            "NAPTR",
            '100 10 "u" "E2U+sip" "!^.*$!sip:a(b);c@test!" .',
            None,
            '100 10 "u" "E2U+sip" "!^.*$!sip:a(b);c@test!" .',
        ),
        ("NAPTR", '1 1 "" "" "" next.test', None, '1 1 "" "" "" next.test.'),
        ("SVCB", "1 svc.test alpn=h2 port=8443", None, "1 svc.test. alpn=h2 port=8443"),
        ("HTTPS", "0 svc.test", None, "0 svc.test."),
        ("RP", "host.test text.test", None, "host.test. text.test."),
        ("IPSECKEY", "10 0 2 AQID", None, "10 0 2 . AQID"),
        ("IPSECKEY", "10 3 2 gw.test AQID", None, "10 3 2 gw.test. AQID"),
        ("CAA", '0 issue "ca.test; policy=x"', None, '0 issue "ca.test; policy=x"'),
        ("CAA", "0 issue ca.test;policy=x", None, "0 issue ca.test\\;policy=x"),
        ("TXT", '"v=spf1 -all" "b;c"', None, '"v=spf1 -all" "b;c"'),
        ("TXT", "v=spf1 -all; x", None, '"v=spf1 -all; x"'),
        ("TXT", 'say "so"', None, '"say \\"so\\""'),
        ("TXT", '"a\nb"', None, '"a\\010b"'),
        ("TXT", b'"\xff"'.decode("utf-8", "surrogateescape"), None, '"\\255"'),
        ("LUA", "A \"ifportup(443, {'192.0.2.1'})\n;x\"", None, "A \"ifportup(443, {'192.0.2.1'})\\010;x\""),
        ("SOA", "ns.test host.test 1 2 3 4 5", None, "ns.test. host.test. 1 2 3 4 5"),
        ("SOA", "ns.test first.last@a.test 7", None, "ns.test. first\\.last.a.test. 7 10800 3600 604800 3600"),
        ("SOA", "ns.test", None, "ns.test. hostmaster.z.test. 0 10800 3600 604800 3600"),
    ],
)
def test_content_becomes_what_a_zone_file_says(type: str, content: str, prio: str | None, written: str) -> None:
    assert powerdns.rdata(type, content, "z.test.", prio) == written


def test_only_zones_from_elsewhere_get_a_note() -> None:
    assert powerdns.secondary_note("a.test.", "NATIVE") is None
    assert powerdns.secondary_note("a.test.", "MASTER") is None
    for kind in ("SLAVE", "Slave", "SECONDARY", "Consumer"):
        note = powerdns.secondary_note("a.test.", kind)
        assert note is not None
        assert note.severity.value == "note"


def test_a_key_is_named_by_its_flags_algorithm_and_state() -> None:
    content = "Private-key-format: v1.2\nAlgorithm: 8 (RSASHA256)\nModulus: x\n"
    key = powerdns.kept_key("a.test.", 256, content, active=True, published=False)
    assert key == Kept("a.test.", KeptKind.KEY, "256 RSASHA256 unpublished", content.encode())
    assert powerdns.kept_key("a.test.", 257, "Algorithm: 13\n", active=True, published=True).name == "257 13"
    assert powerdns.kept_key("a.test.", 257, "", active=False, published=True).name == "257 ? inactive"
