"""The quick check of a parsed zone. With the rules for suspects, it finds the same violations as a complete check."""

from hypothesis import given, settings
from hypothesis import strategies as st

from dnspanel.transfer.documents import Document
from dnspanel.transfer.zonefile.check_zone import suspects, violations
from dnspanel.transfer.zonefile.reader import Reader
from dnspanel.transfer.zonefile.record_parser import Scope
from dnspanel.transfer.zonefile.zonefile_tokens import Sheet
from dnspanel.zones.rules import neighbourhood, rules
from dnspanel.zones.rules.unreadable import Kind
from dnspanel.zones.rules.violations import Severity, Violation
from replication.dns import rdtypes
from replication.dns.rrset import RRset
from tests.full import examples

ZONE = "example.test."
OWNERS = (
    *("@", "a", "b", "a.b", "c.a", "x.c.a", "*.a", "*", "_dmarc", "example.test", "b.example.test"),
    *("_sip._tcp", "_443._tcp.a", "s._domainkey", "xn--80ak6aa92e", "xn--pple-43d"),
    *("bad_under", "*.bad_under", r"\060x\062", "-a", "gc._msdcs"),
)
TARGETS = (
    *OWNERS[:7],
    *(
        "gone",
        "z.a",
        "b.example.test",
        "example.test",
        "www.other.test.",
        ".",
        "192.0.2.1.",
        "192.0.2.1",
        "a_b.c.test.",
    ),
)
TEXTS = (
    '"v=spf1 -all"',
    '"v=spf1 mx"',
    '"V=SPF1 ' + "a " * 11 + '"',
    '"v=DMARC1; p=none; rua=mailto:a@other.test"',
    '"v=DMARC1"',
    '" v=DMARC1; p=bad"',
    '"x"',
    '"" "v=spf1 ' + "mx " * 11 + '"',
    '"v" "=spf1 ' + "mx " * 11 + '"',
    '"v=DKIM1; p="',
    '"k=rsa; p=AAAA"',
)
OTHERS = (
    "TLSA 3 1 1 " + "00" * 32,
    *(f"CAA 0 {rest}" for rest in ('issue "ca.test"', 'issue "no host!"', 'iodef "somebody"', 'issue ";"', 'tbs "x"')),
    'CAA 0 issue ""',
    "CERT 0 0 0 AQID",
    "CERT 1 0 0 AQID",
    "APL 3:/0",
    "IPSECKEY 10 0 255 . AQID",
)


def values() -> st.SearchStrategy[str]:
    target = st.sampled_from(TARGETS)
    return st.one_of(
        st.sampled_from(("A 192.0.2.1", "A 192.0.2.2", "AAAA 2001:db8::1", "A 10.0.0.1")),
        *(target.map(f"{type_} {{}}".format) for type_ in ("CNAME", "CNAME", "NS", "PTR", "DNAME", "ALIAS")),
        target.map("MX 10 {}".format),
        target.map("SRV 0 0 1 {}".format),
        target.map("HTTPS 1 {} alpn=h2".format),
        st.sampled_from(TEXTS).map("TXT {}".format),
        st.sampled_from(OTHERS),
        st.sampled_from(("DS 1 13 2 " + "00" * 32, "LUA A \"'192.0.2.1'\"", "TYPE4242 \\# 1 00", "TYPE773 \\# 1 00")),
    )


def lines() -> st.SearchStrategy[str]:
    return st.builds(
        "{}{}.example.test. {} IN {}".format,
        st.sampled_from(("", "", "", ";!disabled ")),
        st.sampled_from(OWNERS),
        st.sampled_from((0, 29, 30, 300)),
        values(),
    ).map(lambda line: line.replace("@.example", "example"))


# As in a fleet whose nodes don't run LUA.
UNANSWERED = {
    rdtypes.LUA: "some nodes don’t answer LUA: ns1 (LUA is off)",
    Kind.EMPTY_CAA: "some nodes can’t read the value: ns1 (PowerDNS 4.7)",
}


def both(text: str) -> tuple[set[Violation], set[Violation]]:
    """Return the violations of the quick check, and those of all rules for the complete zone, both without notes."""
    reader = Reader(ZONE, Scope(comments=True, allow_lua=True), include=lambda path: None)
    reader.read_sheet(Sheet(Document("z", text.encode(), ZONE), 0))
    ordered = reader.content.finish()
    quick = set(violations(reader.content, ordered, suspects(reader.content, ordered), UNANSWERED))
    ready = [reader.content.sets[record] for record in ordered]
    rrsets = {(r.name, r.type): RRset(r.name, r.type, r.ttl, r.texts, r.disabled, r.comment) for r in ready}
    changed = {*rrsets, (ZONE, 6)}
    below = neighbourhood.names_below(ZONE, rrsets.values())
    found = rules.check_zone(ZONE, rrsets, changed, below=below, allow_lua=True, unanswered=UNANSWERED)
    return quick, {violation for violation in found if violation.severity is not Severity.NOTE}


HEADS = (
    "@ 300 SOA a.other.test. b.other.test. 1 2 3 4 5\n@ 300 NS a.other.test.\n@ 300 NS b.other.test.\n",
    "@ 300 SOA a.other.test. b.other.test. 1 2 3 4 5\n@ 300 NS a.other.test.\n",
    "@ 300 SOA a.other.test. b.other.test. 1 2 3 4 5\n@ 300 SOA a.other.test. b.other.test. 2 2 3 4 5\n",
    "",
)


@settings(max_examples=examples(100, 1_500), deadline=None)
@given(st.sampled_from(HEADS), st.lists(lines(), max_size=10))
def test_the_quick_look_and_the_rules_agree(head: str, body: list[str]) -> None:
    quick, full = both(head + "\n".join(body) + "\n")
    errors = {violation for violation in full if violation.severity is Severity.ERROR}
    assert {violation for violation in quick if violation.severity is Severity.ERROR} == errors
    if not errors:
        assert doubled_aside(quick) == doubled_aside(full)


def doubled_aside(found: set[Violation]) -> set[Violation]:
    """Return the violations except doubled names, which `zonefile_report` reports for all of them together."""
    return {violation for violation in found if violation.code != "doubled-name"}


def test_a_plain_zone_has_no_suspects() -> None:
    reader = Reader(ZONE, Scope(comments=True, allow_lua=False), include=lambda path: None)
    text = HEADS[0] + "\n".join(
        (
            "@ 300 MX 10 mail",
            "mail 300 A 192.0.2.1",
            "www 300 CNAME mail",
            '@ 300 TXT "v=spf1 mx -all"',
            "_sip._tcp 300 SRV 0 0 5060 mail",
            "sub 300 NS ns.sub",
            "ns.sub 300 A 192.0.2.2",
        )
    )
    reader.read_sheet(Sheet(Document("z", text.encode(), ZONE), 0))
    found = suspects(reader.content, reader.content.finish())
    assert not found.grave
    assert not found.slight
