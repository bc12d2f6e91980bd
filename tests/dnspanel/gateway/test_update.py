"""Tests of DNS UPDATE (RFC 2136) as a pure function: requests, and their effect on RRsets."""

import struct

import dns.message
import dns.rcode
import dns.rdataclass
import dns.rdatatype
import dns.update
import pytest

from dnspanel.gateway.errors import MessageRefused
from dnspanel.gateway.update import Update, read_update
from dnspanel.zones.publishing.zone_patches import CurrentRRsets
from replication.dns.rrset import RRset
from replication.errors import BadRdata
from tests.dnspanel.zones.conftest import rr

SOA = "@ 3600 SOA ns1.example.net. hostmaster.example.net. 10 10800 3600 604800 3600"
NS = "@ 3600 NS ns1.example.net. | ns2.example.net."


def current(*lines: str) -> CurrentRRsets:
    return {(r.name, r.type): r for r in map(rr, lines)}


def message() -> dns.update.UpdateMessage:
    return dns.update.UpdateMessage("example.test.")


def read(update: dns.update.UpdateMessage) -> Update:
    """Read an update from its wire form, with compressed names and single records."""
    found = dns.message.from_wire(update.to_wire(), one_rr_per_rrset=True)
    assert isinstance(found, dns.update.UpdateMessage)
    return read_update(found)


def becomes(update: dns.update.UpdateMessage, *lines: str) -> set[str]:
    """Return the changes as `name type ttl values`, or as `name type -` for removed RRsets."""
    wanted = read(update).decide(current(*lines))
    return {f"{name} {type_} {_displayed(rrset)}" for (name, type_), rrset in wanted.items()}


def _displayed(rrset: RRset | None) -> str:
    return "-" if rrset is None else " ".join([str(rrset.ttl), *rrset.rdata])


def refusal(update: dns.update.UpdateMessage, *lines: str) -> str:
    with pytest.raises(MessageRefused) as caught:
        read(update).decide(current(*lines))
    return dns.rcode.to_text(caught.value.rcode)


def test_a_record_is_added_to_those_that_are_there_and_its_ttl_is_that_of_all() -> None:
    update = message()
    update.add("www", 60, "A", "192.0.2.2")
    assert becomes(update) == {"www.example.test. 1 60 192.0.2.2"}
    assert becomes(update, "www 300 A 192.0.2.1") == {"www.example.test. 1 60 192.0.2.1 192.0.2.2"}
    assert becomes(update, "www 60 A 192.0.2.2") == set()


def test_names_are_the_same_in_upper_and_lower_case() -> None:
    update = dns.update.UpdateMessage("EXAMPLE.test.")
    update.add("WWW", 60, "CNAME", "Host.Example.NET.")
    assert becomes(update) == {"www.example.test. 5 60 Host.Example.NET."}
    # An existing name matches in any case, and gets the case of the update (as in BIND).
    assert becomes(update, "www 60 CNAME host.example.net.") == {"www.example.test. 5 60 Host.Example.NET."}
    assert becomes(update, "www 60 CNAME Host.Example.NET.") == set()


def test_a_value_is_deleted_and_required_in_whatever_capitals() -> None:
    here = "www 300 MX 10 Mail.Other.test. | 20 b.test."
    update = message()
    update.present("www", "MX", "10 mail.OTHER.test.")
    update.present("www", "MX", "20 B.test.")
    update.delete("www", "MX", "10 MAIL.other.test.")
    assert becomes(update, here) == {"www.example.test. 15 300 20 b.test."}


def test_records_rrsets_and_names_are_deleted() -> None:
    here = ("www 300 A 192.0.2.1 | 192.0.2.2", 'www 300 TXT "a"')
    one, rrset, name = message(), message(), message()
    one.delete("www", "A", "192.0.2.1")
    rrset.delete("www", "A")
    name.delete("www")
    assert becomes(one, *here) == {"www.example.test. 1 300 192.0.2.2"}
    assert becomes(rrset, *here) == {"www.example.test. 1 -"}
    assert becomes(name, *here) == {"www.example.test. 1 -", "www.example.test. 16 -"}
    for deletion in (one, rrset, name):
        assert becomes(deletion) == set()


def test_the_last_record_takes_its_rrset_along() -> None:
    update = message()
    update.delete("www", "A", "192.0.2.1")
    assert becomes(update, "www 300 A 192.0.2.1") == {"www.example.test. 1 -"}


def test_acts_build_on_each_other_in_their_order() -> None:
    replaced, undone = message(), message()
    replaced.replace("www", 60, "A", "192.0.2.9")
    undone.add("new", 60, "A", "192.0.2.9")
    undone.delete("new")
    assert becomes(replaced, "www 300 A 192.0.2.1") == {"www.example.test. 1 60 192.0.2.9"}
    assert becomes(undone) == set()


def test_soa_and_ns_of_the_zone_outlive_every_deletion() -> None:
    update = message()
    update.delete("@")
    update.delete("@", "NS")
    update.delete("@", "SOA")
    update.delete("@", "SOA", "ns1.example.net. hostmaster.example.net. 10 10800 3600 604800 3600")
    assert becomes(update, SOA, NS, "@ 300 A 192.0.2.1") == {"example.test. 1 -"}


def test_the_last_ns_of_the_zone_stays() -> None:
    update = message()
    update.delete("@", "NS", "ns1.example.net.")
    update.delete("@", "NS", "ns2.example.net.")
    assert becomes(update, NS) == {"example.test. 2 3600 ns2.example.net."}


def test_the_ns_of_a_delegation_goes_like_any_record() -> None:
    update = message()
    update.delete("sub", "NS", "ns1.example.net.")
    assert becomes(update, "sub 300 NS ns1.example.net.") == {"sub.example.test. 2 -"}


@pytest.mark.parametrize(("serial", "is_taken"), [(9, False), (10, False), (11, True), (10 + 2**31, False)])
def test_a_soa_is_taken_only_with_a_greater_serial(serial: int, is_taken: bool) -> None:
    update = message()
    update.add("@", 600, "SOA", f"ns2.example.net. root.example.net. {serial} 1 2 3 4")
    assert bool(becomes(update, SOA)) == is_taken


def test_a_soa_stands_nowhere_else() -> None:
    update = message()
    update.add("www", 600, "SOA", "ns2.example.net. root.example.net. 11 1 2 3 4")
    assert becomes(update) == set()


def test_a_cname_beside_others_and_others_beside_a_cname_are_ignored() -> None:
    alias, other = message(), message()
    alias.add("www", 60, "CNAME", "host")
    other.add("www", 60, "A", "192.0.2.9")
    assert becomes(alias, "www 300 A 192.0.2.1") == set()
    assert becomes(other, "www 300 CNAME host") == set()


def test_a_cname_takes_the_place_of_another_and_of_what_the_same_message_deletes() -> None:
    alias, instead = message(), message()
    alias.add("www", 60, "CNAME", "host")
    instead.delete("www")
    instead.add("www", 60, "CNAME", "host")
    assert becomes(alias, "www 300 CNAME old") == {"www.example.test. 5 60 host.example.test."}
    assert becomes(instead, "www 300 A 192.0.2.1") == {
        "www.example.test. 1 -",
        "www.example.test. 5 60 host.example.test.",
    }


def test_what_is_kept_but_not_served_is_not_there_until_it_is_added() -> None:
    parked = rr("www 300 A 192.0.2.1 | 192.0.2.2", disabled=("192.0.2.2",), comment="old address")
    here = {(parked.name, parked.type): parked}
    delete, add, exists = message(), message(), message()
    delete.delete("www", "A", "192.0.2.2")
    add.add("www", 300, "A", "192.0.2.2")
    exists.present("www", "A", "192.0.2.1")
    assert read(delete).decide(here) == {}
    assert read(exists).decide(here) == {}
    (served,) = read(add).decide(here).values()
    assert served is not None
    assert (served.served, served.comment) == (("192.0.2.1", "192.0.2.2"), "old address")


@pytest.mark.parametrize("deletes", [("www", "A", "192.0.2.1"), ("www", "A"), ("www",)], ids=len)
@pytest.mark.parametrize("served", [(), ("192.0.2.1",), ("192.0.2.1", "192.0.2.3")], ids=len)
def test_no_deletion_reaches_a_disabled_record(deletes: tuple[str, ...], served: tuple[str, ...]) -> None:
    values = (*served, "192.0.2.2")
    parked = rr(f"www 300 A {' | '.join(values)}", disabled=("192.0.2.2",), comment="old address")
    text = rr("www 300 TXT hi", disabled=('"hi"',))
    here = {(each.name, each.type): each for each in (parked, text)}
    update = message()
    update.delete(*deletes)
    changes = read(update).decide(here)
    assert set(changes) == ({(parked.name, parked.type)} if served else set())
    after = changes.get((parked.name, parked.type), parked)
    assert after is not None
    left = {value for value in served if len(deletes) == 3 and value != "192.0.2.1"}
    assert (set(after.served), after.disabled, after.comment) == (left, ("192.0.2.2",), "old address")


def test_a_cname_takes_the_place_of_what_is_served_only() -> None:
    parked = rr("www 300 CNAME old | older", disabled=("older.example.test.",))
    update = message()
    update.add("www", 60, "CNAME", "host")
    (after,) = read(update).decide({(parked.name, parked.type): parked}).values()
    assert after is not None
    assert (after.served, after.disabled) == (("host.example.test.",), ("older.example.test.",))


# The method of dnspython's message, its arguments, and the refusal with `www A 192.0.2.1` and without it.
PREREQUISITES = [
    ("present", ("www",), "", "NXDOMAIN"),
    ("absent", ("www",), "YXDOMAIN", ""),
    ("present", ("www", "A"), "", "NXRRSET"),
    ("absent", ("www", "A"), "YXRRSET", ""),
    ("present", ("www", "TXT"), "NXRRSET", "NXRRSET"),
    ("absent", ("www", "TXT"), "", ""),
    ("present", ("www", "A", "192.0.2.1"), "", "NXRRSET"),
    ("present", ("www", "A", "192.0.2.2"), "NXRRSET", "NXRRSET"),
    ("present", ("www", "A", "192.0.2.1", "192.0.2.2"), "NXRRSET", "NXRRSET"),
]


@pytest.mark.parametrize(("method", "arguments", "if_present", "if_absent"), PREREQUISITES)
def test_each_prerequisite_holds_or_refuses_by_its_rcode(
    method: str, arguments: tuple[str, ...], if_present: str, if_absent: str
) -> None:
    update = message()
    getattr(update, method)(*arguments)
    update.add("new", 60, "A", "192.0.2.9")
    for lines, rcode in ((("www 300 A 192.0.2.1",), if_present), ((), if_absent)):
        if rcode:
            assert refusal(update, *lines) == rcode
        else:
            assert becomes(update, *lines) == {"new.example.test. 1 60 192.0.2.9"}


def test_a_prerequisite_with_values_means_all_of_them() -> None:
    update = message()
    update.present("www", "A", "192.0.2.1")
    update.present("www", "A", "192.0.2.2")
    update.delete("www")
    assert becomes(update, "www 300 A 192.0.2.1 | 192.0.2.2") == {"www.example.test. 1 -"}
    assert refusal(update, "www 300 A 192.0.2.1") == "NXRRSET"
    assert refusal(update, "www 300 A 192.0.2.1 | 192.0.2.2 | 192.0.2.3") == "NXRRSET"


def test_prerequisites_see_the_zone_before_the_updates_of_their_message() -> None:
    update = message()
    update.delete("www")
    update.present("www")
    assert becomes(update, "www 300 A 192.0.2.1") == {"www.example.test. 1 -"}


@pytest.mark.parametrize("method", ["absent", "delete"])
def test_a_name_outside_of_the_zone_is_notzone(method: str) -> None:
    update = message()
    getattr(update, method)("www.other.test.")
    assert refusal(update) == "NOTZONE"


def test_a_zone_of_another_class_is_not_here() -> None:
    assert refusal(dns.update.UpdateMessage("example.test.", rdclass="CH")) == "NOTAUTH"


def test_a_message_without_a_zone_has_no_form() -> None:
    found = dns.update.UpdateMessage(id=1)
    with pytest.raises(MessageRefused, match="one zone"):
        read_update(found)


@pytest.mark.parametrize(
    ("type_", "rdclass"), [("ANY", "IN"), ("ANY", "NONE"), ("AXFR", "IN"), ("AXFR", "ANY"), ("MAILB", "NONE")]
)
def test_a_type_of_questions_has_no_form_in_an_update(type_: str, rdclass: str) -> None:
    update = message()
    update.delete("www", "A", "192.0.2.1")
    wire = bytearray(update.to_wire()[:-4])
    wire[-10:] = struct.pack(">HHIH", dns.rdatatype.from_text(type_), dns.rdataclass.from_text(rdclass), 0, 0)
    found = dns.message.from_wire(bytes(wire), one_rr_per_rrset=True)
    assert isinstance(found, dns.update.UpdateMessage)
    with pytest.raises(MessageRefused) as caught:
        read_update(found)
    assert caught.value.rcode == dns.rcode.FORMERR


def test_a_deletion_with_a_ttl_has_no_form() -> None:
    update = message()
    update.delete("www", "A", "192.0.2.1")
    wire = bytearray(update.to_wire())
    wire[-7] = 5
    found = dns.message.from_wire(bytes(wire), one_rr_per_rrset=True)
    assert isinstance(found, dns.update.UpdateMessage)
    with pytest.raises(MessageRefused, match="TTL"):
        read_update(found)


@pytest.mark.parametrize(
    ("type_", "text", "reason"),
    [
        ("RRSIG", "A 13 3 60 20261224000000 20261101000000 1 example.test. AAAA", "RRSIG records can’t"),
        ("NSEC", "example.test. A", "NSEC records can’t"),
        ("NSEC3", "1 0 0 - 2T7B4G4VSA5SMI47K61MV5BV1A22BOJR A", "NSEC3 records can’t"),
        ("NSEC3PARAM", "1 0 0 -", "a setting of the signed zone"),
    ],
)
def test_a_record_that_only_signing_makes_is_refused(type_: str, text: str, reason: str) -> None:
    update = message()
    update.add("www", 60, type_, text)
    with pytest.raises(BadRdata, match=reason):
        read(update)
