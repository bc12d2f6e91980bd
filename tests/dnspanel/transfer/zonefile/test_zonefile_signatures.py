"""Zone files with signatures and an NSEC chain. Both are kept if the options say so and they fit the zone.

Tests `zonefile.zonefile_chain` too.
"""

from pathlib import Path

import pytest
from django.utils.translation import override

from dnspanel.transfer.documents import Options, ParsedZone
from dnspanel.transfer.zonefile import zonefile_chain
from replication.codec.dnssec import Nsec3
from replication.dns import rdtypes
from tests.dnspanel.transfer.conftest import zone_text
from tests.dnspanel.transfer.zonefile.test_parse import ZONE, at, read
from tests.signzone import signed_text

KEEP = Options(signatures="keep", nameservers="ours", soa="ours", ttl=77)
PLAIN = zone_text(ZONE, "www A 192.0.2.1", "www 60 TXT x", "shop CNAME www", "sub NS ns.elsewhere.test.")


def types(zone: ParsedZone) -> set[int]:
    return {rrset.type for rrset in zone.rrsets}


def reasons(zone: ParsedZone) -> dict[str, str]:
    return {fault.code: fault.reason for fault in zone.faults}


def test_an_empty_list_of_types_is_in_the_reader_s_language() -> None:
    with override("de"):
        assert zonefile_chain._type_texts([rdtypes.TXT, rdtypes.A]) == "A TXT"
        assert zonefile_chain._type_texts([]) == "nichts"


@pytest.mark.parametrize(
    ("options", "nsec3"),
    [
        ((), None),
        (("-3", "abcd", "-H", "1"), Nsec3(1, b"\xab\xcd")),
        (("-3", "-", "-H", "0", "-A"), Nsec3(opt_out=True)),
    ],
)
def test_a_signed_zone_is_kept_as_it_is(tmp_path: Path, options: tuple[str, ...], nsec3: Nsec3 | None) -> None:
    zone = read(signed_text(ZONE, PLAIN, tmp_path, *options), options=KEEP)
    assert zone.is_sound
    assert zone.signatures is not None
    assert (zone.signatures.nsec3, len(zone.signatures.entries), len(zone.signatures.end)) == (nsec3, 1, 14)
    assert types(zone).isdisjoint((rdtypes.NSEC, rdtypes.NSEC3, rdtypes.NSEC3PARAM))
    assert (zone.serial, at(zone, "www", "A").ttl) == (7, 3600)
    assert len(at(zone, "@", "NS").texts) == 2
    signatures = at(zone, "www", "RRSIG")
    assert signatures.ttl == 60
    assert {text.split()[0] for text in signatures.texts} >= {"A", "TXT"}
    assert at(zone, "shop", "RRSIG")
    of_hashes = [rrset for rrset in zone.rrsets if rrset.type == rdtypes.RRSIG and rrset.texts[0].startswith("NSEC3 ")]
    assert len(of_hashes) == (0 if nsec3 is None else 3 if nsec3.opt_out else 4)


def test_without_the_option_nothing_of_it_is_kept(tmp_path: Path) -> None:
    zone = read(signed_text(ZONE, PLAIN, tmp_path))
    assert zone.signatures is None
    assert types(zone).isdisjoint((rdtypes.RRSIG, rdtypes.DNSKEY))
    assert "dnssec-left-out" in reasons(zone)


def test_a_zone_whose_soa_or_keys_are_not_signed_comes_unsigned(tmp_path: Path) -> None:
    text = signed_text(ZONE, PLAIN, tmp_path, "-O", "full")
    lines = text.splitlines(keepends=True)
    for lost in ("RRSIG SOA", "RRSIG DNSKEY", "DNSKEY 257"):
        broken = "".join(line for line in lines if lost not in " ".join(line.split()))
        assert broken != text
        zone = read(broken, options=KEEP)
        assert zone.is_sound
        assert zone.signatures is None
        assert types(zone).isdisjoint((rdtypes.RRSIG, rdtypes.DNSKEY))
        assert {"signatures-missing", "dnssec-left-out"} <= reasons(zone).keys()
        assert at(zone, "www", "A").ttl == 77
    assert "signatures-missing" in reasons(read(PLAIN, options=KEEP))


def test_parameters_that_cannot_be_served_are_an_error(tmp_path: Path) -> None:
    text = signed_text(ZONE, PLAIN, tmp_path, "-O", "full", "-3", "-", "-H", "0")
    found = read(text.replace("NSEC3PARAM 1 0 0 -", "NSEC3PARAM 1 0 500 -"), options=KEEP)
    if "NSEC3PARAM 1 0 0 -" not in text:
        found = read(text.replace("1 0 0 -\n", "1 0 500 -\n"), options=KEEP)
    assert not found.is_sound
    assert "nsec3-parameters" in reasons(found)


def test_a_chain_that_powerdns_would_not_make_is_refused(tmp_path: Path) -> None:
    opt_out = ("-3", "-", "-H", "0", "-A")
    glued = zone_text(ZONE, "sub NS sub", "sub A 192.0.2.1")
    for options in ((), opt_out[:-1], opt_out):
        assert read(signed_text(ZONE, glued, tmp_path, *options), options=KEEP).is_sound
    below_nothing = zone_text(ZONE, "sub.empty NS sub.empty", "sub.empty A 192.0.2.1")
    found = read(signed_text(ZONE, below_nothing, tmp_path, *opt_out), options=KEEP)
    assert not found.is_sound
    told = reasons(found)["signatures-chain"]
    assert "PowerDNS creates a record at empty.example.test., but the zone has no signed NSEC3 for that name" in told
    assert "With opt-out, PowerDNS hashes empty names above an insecure delegation" in told


def test_each_record_of_the_chain_has_to_be_the_one_that_powerdns_makes(tmp_path: Path) -> None:
    signed = signed_text(ZONE, PLAIN, tmp_path, "-O", "full")
    unsigned = f"\nwww.{ZONE} 60 IN AAAA 2001:db8::1\n"
    others = {
        unsigned: "the record at www.example.test. lists A TXT RRSIG NSEC, but PowerDNS lists",
        f"\nnew.{ZONE} 60 IN A 192.0.2.9\n": "PowerDNS creates a record at new.example.test., but the zone has no",
    }
    for added, reason in others.items():
        found = read(signed + added, options=KEEP)
        assert not found.is_sound
        assert reason in reasons(found)["signatures-chain"]
        assert "With opt-out" not in reasons(found)["signatures-chain"]


def test_a_next_name_with_capital_letters_is_not_what_powerdns_answers(tmp_path: Path) -> None:
    text = zone_text(ZONE, "a A 192.0.2.1", "Zebra A 192.0.2.1")
    found = read(signed_text(ZONE, text, tmp_path, "-O", "full"), options=KEEP)
    assert "with capital letters" in reasons(found)["signatures-chain"]
    assert read(signed_text(ZONE, text, tmp_path, "-3", "-", "-H", "0"), options=KEEP).is_sound


def test_what_bind_notes_at_the_apex_is_kept_because_it_is_signed(tmp_path: Path) -> None:
    text = zone_text(ZONE, "@ TYPE65534 \\# 5 0d0000ab00", "www A 192.0.2.1")
    for options in ((), ("-3", "-", "-H", "0")):
        zone = read(signed_text(ZONE, text, tmp_path, *options), options=KEEP)
        assert zone.is_sound, zone.faults
        assert at(zone, "@", "TYPE65534").texts == ("\\# 5 0d0000ab00",)
    assert rdtypes.SIGNING_STATE not in types(read(text))
    assert rdtypes.SIGNING_STATE not in types(read(text, options=KEEP))


def test_the_same_type_below_the_apex_is_kept_signed_or_not(tmp_path: Path) -> None:
    text = zone_text(ZONE, "www TYPE65534 \\# 1 07", "www A 192.0.2.1")
    for found in (read(signed_text(ZONE, text, tmp_path), options=KEEP), read(text), read(text, options=KEEP)):
        assert found.is_sound, found.faults
        assert at(found, "www", "TYPE65534").texts == ("\\# 1 07",)
    assert "dnssec-left-out" not in reasons(read(text))


def test_of_several_chains_the_zone_is_served_with_one_that_powerdns_makes(tmp_path: Path) -> None:
    below_nothing = zone_text(ZONE, "sub.empty NS sub.empty", "sub.empty A 192.0.2.1", "www A 192.0.2.2")
    by_nsec = signed_text(ZONE, below_nothing, tmp_path, "-O", "full")
    by_nsec3 = signed_text(ZONE, below_nothing, tmp_path, "-O", "full", "-3", "-", "-H", "0", "-A")
    zone = read(by_nsec + "".join(line for line in by_nsec3.splitlines(keepends=True) if "NSEC3" in line), options=KEEP)
    assert zone.is_sound, zone.faults
    assert zone.signatures is not None
    assert zone.signatures.nsec3 is None


@pytest.mark.parametrize(
    "line",
    [
        r"x 60 TYPE50 \# 2 zz",
        r"x 60 TYPE50 \# 2 0101",
        f"x 60 NSEC3 1 {'9' * 5000} 0 - x A",
        f"@ 60 NSEC3PARAM 1 0 {'9' * 5000} -",
        f"@ 60 NSEC3PARAM 1 {'9' * 5000} 0 -",
        "@ 60 NSEC3PARAM 1 0 0 x",
        "x 60 RRSIG A 13 2 60 20261224000000 20261101000000 1 example.test. !",
        "x 60 RRSIG SOA",
        f"@ 60 DNSKEY 257 3 13 {'A' * 20000}",
        "@ 60 DNSKEY 257 3 256 AAAA",
        f"@ 60 RRSIG SOA 13 2 60 99999999999999 20261101000000 1 {ZONE} {'A' * 86}==",
    ],
    ids=lambda line: line[:40],
)
def test_whatever_stands_in_the_file_is_judged(tmp_path: Path, line: str) -> None:
    for text in (PLAIN + f"\n{line}\n", signed_text(ZONE, PLAIN, tmp_path) + f"\n$ORIGIN {ZONE}\n{line}\n"):
        found = read(text, options=KEEP)
        assert found.name == ZONE
        assert found.signatures is None or found.signatures.end.isdecimal()
