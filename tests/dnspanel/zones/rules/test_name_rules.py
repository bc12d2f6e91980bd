"""Warnings about names that probably differ from their author's intention."""

import pytest

from dnspanel.zones.rules.name_rules import mailbox_name
from dnspanel.zones.rules.rules import check_zone
from dnspanel.zones.rules.violations import Violation
from replication.dns import rdata, rdtypes
from replication.dns.rrset import RRset, make
from tests.dnspanel.transfer.zonefile.test_parse import at, codes, read

ZONE = "example.test."
NS = "@ NS ns1.other.test.\n@ NS ns2.other.test.\n"
SOA = "@ SOA ns1.other.test. hostmaster.other.test. 1 10800 3600 604800 3600\n"


def read_soa(primary: str, mailbox: str, more: str = "") -> list[tuple[str, str, str]]:
    """Return the code, the word and the fix of each warning of a file with this SOA."""
    line = f"@ SOA {primary} {mailbox} 1 10800 3600 604800 3600"
    found = read(f"$ORIGIN {ZONE}\n$TTL 3600\n{line}\n{NS}{more}")
    assert found.is_sound
    assert at(found, "@", "SOA")
    return [(f.code, f.source[f.column - 1 :].split()[0], f.fix) for f in found.faults]


def fixed(primary: str, mailbox: str) -> str:
    return f"@ SOA {primary} {mailbox} 1 10800 3600 604800 3600"


GOOD = "ns1.other.test."


@pytest.mark.parametrize(
    ("mailbox", "meant"),
    [
        ("hostmaster@other.test.", "hostmaster.other.test."),
        ("hostmaster@other.test", "hostmaster.other.test."),
        ("Host.Master@Other.test.", "Host\\.Master.Other.test."),
        ("hostmaster\\@other.test.", "hostmaster.other.test."),
        ("hostmaster@", "hostmaster"),
        ("mailto:hostmaster@other.test", "hostmaster.other.test."),
        ("<hostmaster@other.test>", "hostmaster.other.test."),
        ("hostmaster.other.test", "hostmaster.other.test."),
        ("hostmaster.other.test.example.test.", "hostmaster.other.test."),
        ("hostmaster.example.test", "hostmaster.example.test."),
    ],
)
def test_the_mailbox_of_the_soa_is_kept_with_a_warning_and_what_was_meant(mailbox: str, meant: str) -> None:
    assert read_soa(GOOD, mailbox) == [("soa-mailbox", mailbox, fixed(GOOD, meant))]
    assert read_soa(GOOD, meant) == []


@pytest.mark.parametrize(
    ("primary", "meant"),
    [
        ("ns1@other.test.", "ns1.other.test."),
        ("ns1@other.test", "ns1.other.test."),
        ("https://ns1.other.test/", "ns1.other.test."),
        ("ns1.other.test", "ns1.other.test."),
        ("ns1.other.test.example.test.", "ns1.other.test."),
        ("ns1.example.test", "ns1.example.test."),
    ],
)
def test_the_primary_of_the_soa_is_kept_with_a_warning_and_what_was_meant(primary: str, meant: str) -> None:
    mailbox = "hostmaster.other.test."
    assert read_soa(primary, mailbox) == [("soa-primary", primary, fixed(meant, mailbox))]
    assert read_soa(meant, mailbox) == []


@pytest.mark.parametrize("address", ["192.0.2.1", "192.0.2.1.", "2001:db8::1", "2001:db8::1."])
def test_an_address_is_no_primary_and_is_replaced_by_the_name_server_that_has_it(address: str) -> None:
    mailbox = "hostmaster.other.test."
    assert read_soa(address, mailbox) == [("soa-primary", address, "")]
    kind = "AAAA" if ":" in address else "A"
    server = f"@ NS ns.example.test.\nns {kind} {address.removesuffix('.')}\n"
    assert read_soa(address, mailbox, server) == [("soa-primary", address, fixed("ns.example.test.", mailbox))]


@pytest.mark.parametrize(
    ("primary", "mailbox", "more"),
    [
        (".", ".", ""),
        ("ns1", "hostmaster", ""),
        ("@", "root", ""),
        ("ns1.dns", "hostmaster.dns", "ns1.dns A 192.0.2.1\ndns MX 10 mx.other.test.\n"),
        ("ns1.dns", "hostmaster.dns", "*.dns A 192.0.2.1\ndns NS ns1.other.test.\n"),
        ("xn--bcher-kva.test.", "first\\.last.other.test.", ""),
    ],
)
def test_good_names_of_a_soa_get_no_warning(primary: str, mailbox: str, more: str) -> None:
    assert [code for code, *_ in read_soa(primary, mailbox, more) if code.startswith("soa")] == []


AT_SIGNS = [
    ("_sip._tls.@ SRV 100 1 443 sip.provider.test.", "_sip._tls.@", "_sip._tls"),
    ("w CNAME www.@", "www.@", "www"),
    ("w CNAME www.@.example.test.", "www.@.example.test.", "www.example.test."),
    ("@.example.test. A 192.0.2.1", "@.example.test.", "example.test."),
    ("@.www A 192.0.2.1", "@.www", "www"),
    ("w MX 10 www.@", "www.@", "www"),
    ("_a._tcp SRV 0 0 443 www.@", "www.@", "www"),
    ("w 60 IN NS www.@", "www.@", "www"),
    ("w PTR www.@", "www.@", "www"),
    ("w DNAME www.@", "www.@", "www"),
    ("w AFSDB 1 www.@", "www.@", "www"),
    ("w KX 1 www.@", "www.@", "www"),
    ("w HTTPS 1 www.@ alpn=h2", "www.@", "www"),
    ('w NAPTR 1 1 "s" "x" "" www.@', "www.@", "www"),
    ("w RP ana@other.test. .", "ana@other.test.", "ana.other.test."),
    ("w RP ana.other.test. txt.@", "txt.@", "txt"),
]


@pytest.mark.parametrize(("line", "word", "meant"), AT_SIGNS)
def test_an_at_sign_inside_a_name_is_kept_with_a_warning_at_its_word(line: str, word: str, meant: str) -> None:
    head = f"$ORIGIN {ZONE}\n$TTL 3600\n{SOA}{NS}www A 192.0.2.1\ntxt TXT x\n"
    found = read(f"{head}{line}\n")
    assert found.is_sound
    assert any("\\@" in each.name + each.texts[0] for each in found.rrsets)
    [fault] = found.faults
    assert (fault.code, fault.source[fault.column - 1 :].split()[0]) == ("at-in-name", word)
    assert fault.fix == line.replace(word, meant, 1)
    assert set(codes(read(f"{head}{fault.fix}\n"))) <= {"duplicate"}


@pytest.mark.parametrize(
    "line",
    [
        r"_presence._tcp PTR ana\@desk._presence._tcp",
        r"ana\@desk._presence._tcp TXT x",
        "w TXT a@b",
        'w TXT "@ b@c"',
        'w CAA 0 iodef "mailto:a@other.test"',
        "w CNAME @",
    ],
)
def test_other_uses_of_an_at_sign_get_no_warning(line: str) -> None:
    found = read(f"$ORIGIN {ZONE}\n$TTL 3600\n{SOA}{NS}{line}\n")
    assert "at-in-name" not in [fault.code for fault in found.faults]


def of_rules(*rrsets: RRset) -> list[Violation]:
    by_key = {(rrset.name, rrset.type): rrset for rrset in rrsets}
    return check_zone(ZONE, by_key, by_key.keys())


@pytest.mark.parametrize(
    ("name", "type", "text", "code"),
    [
        (r"_sip._tls.\@.example.test.", "SRV", "1 1 443 sip.other.test.", "at-in-name"),
        ("www.example.test.", "CNAME", r"www.\@.example.test.", "at-in-name"),
        ("www.example.test.", "RP", r"ana\@other.test. .", "at-in-name"),
        ("example.test.", "SOA", r"ns1.other.test. hostmaster\@other.test. 1 2 3 4 5", "soa-mailbox"),
        ("example.test.", "SOA", "192.0.2.1. hostmaster.other.test. 1 2 3 4 5", "soa-primary"),
    ],
)
def test_every_way_in_asks_the_same_rules(name: str, type: str, text: str, code: str) -> None:
    """Reviews, both APIs and DNS UPDATE all use `check_zone`."""
    assert code in [each.code for each in of_rules(make(name, rdata.type_from_text(type), 300, [text]))]


def test_a_mailbox_is_read_as_an_address_of_mail_or_as_a_name() -> None:
    assert mailbox_name("host.master@example.net") == r"host\.master.example.net."
    assert mailbox_name("hostmaster.example.net.") == "hostmaster.example.net."
    assert mailbox_name("root@localhost") == "root.localhost."


TLSA = "TLSA 3 1 1 " + "ab" * 32


@pytest.mark.parametrize(
    ("lines", "is_warned"),
    [
        (f"tlsa201._dane {TLSA}", True),
        (f"tlsa201._dane {TLSA}\n_25._tcp.mail CNAME tlsa201._dane", False),
        (f"tlsa201._dane {TLSA}\n_25._tcp.mail CNAME x\nx CNAME tlsa201._dane", False),
        (f"tlsa201._dane {TLSA}\n*._tcp.mail CNAME tlsa201._dane", False),
        (f"_25._dane {TLSA}\n_tcp.mail DNAME _dane", False),
        (f"tlsa201._dane {TLSA}\nmail CNAME tlsa201._dane", True),
        (f"a {TLSA}\nb CNAME a\na 60 TXT x", True),
        ("sip SRV 1 1 443 sip.other.test.", True),
        ("sip SRV 1 1 443 sip.other.test.\n_sip._tcp CNAME sip", False),
        (r"Dr\.\032Smith._http._tcp SRV 1 1 443 sip.other.test.", False),
    ],
)
def test_an_owner_that_an_alias_leads_to_is_not_misplaced(lines: str, is_warned: bool) -> None:
    found = read(f"$ORIGIN {ZONE}\n$TTL 3600\n{SOA}{NS}{lines}\n")
    assert [f.code for f in found.faults if f.code.endswith("-owner")] == (
        [] if not is_warned else ["srv-owner" if "SRV" in lines else "tlsa-owner"]
    )
    rrsets = [make(each.name, each.type, each.ttl, each.texts) for each in found.rrsets]
    assert any(each.code.endswith("-owner") for each in of_rules(*rrsets)) == is_warned


def test_an_address_behind_an_alias_needs_no_host_name() -> None:
    address = make("_lb.example.test.", rdtypes.A, 300, ["192.0.2.1"])
    alias = make("www.example.test.", rdtypes.CNAME, 300, ["_lb.example.test."])
    assert "owner-not-host" in [each.code for each in of_rules(address)]
    assert "owner-not-host" not in [each.code for each in of_rules(address, alias)]


@pytest.mark.parametrize("name", ["_adsp._domainkey", "_report._domainkey"])
def test_other_texts_below_the_keys_of_dkim_are_no_keys(name: str) -> None:
    found = read(f'$ORIGIN {ZONE}\n$TTL 3600\n{SOA}{NS}{name} TXT "dkim=all"\n')
    assert found.faults == []
