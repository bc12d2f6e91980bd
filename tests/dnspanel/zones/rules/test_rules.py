"""All rules, including `rules.value_rules` and `rules.target_rules`: violations, and similar values that are valid."""

from ipaddress import ip_network

import pytest

from dnspanel.zones.rules.neighbourhood import names_to_know
from dnspanel.zones.rules.rules import check_zone
from dnspanel.zones.rules.violations import Severity
from replication.dns import rdata, rdtypes
from replication.dns.rrset import RRset, make
from tests.dnspanel.zones.conftest import ZONE, rr

APEX = (
    "@ 3600 SOA ns1.example.net. hostmaster.example.net. 1 7200 3600 604800 60",
    "@ 3600 NS ns1.example.net. | ns2.example.net.",
)


def codes(*lines: str, around: tuple[str, ...] = (), below: dict[str, tuple[str, ...]] | None = None) -> set[str]:
    """Return the codes of violations in the changed `lines`, within a valid apex and the RRsets `around`."""
    changed = [rr(line) for line in lines]
    everything = {(r.name, r.type): r for r in (*map(rr, APEX), *map(rr, around), *changed)}
    return {v.code for v in check_zone(ZONE, everything, {(r.name, r.type) for r in changed}, below=below)}


@pytest.mark.parametrize(
    ("lines", "around"),
    [
        (["www 300 A 192.0.2.1"], ()),
        (["www 300 A 192.0.2.1", "www 300 AAAA 2001:db8::1", "www 300 TXT text"], ()),
        (["shop 300 CNAME www"], ("www 300 A 192.0.2.1",)),
        (["shop 300 CNAME elsewhere.example.net."], ()),
        (["@ 300 MX 10 mail"], ("mail 300 A 192.0.2.1",)),
        (["@ 300 MX 10 mx.example.net."], ()),
        (["@ 300 MX 0 ."], ()),
        (["@ 300 MX 10 mail"], ("mail 300 ALIAS host.example.net.",)),
        (["@ 300 MX 10 mail"], ("* 300 A 192.0.2.1",)),
        (["@ 300 MX 10 mail.sub"], ("sub 300 NS ns.example.net.",)),
        (["_sip._tcp 300 SRV 0 5 5060 sip"], ("sip 300 A 192.0.2.1",)),
        (["_sip._tcp 300 SRV 0 0 0 ."], ()),
        (["sub 300 NS ns1.example.net. | ns2.example.net."], ()),
        (["sub 300 NS ns.sub"], ("ns.sub 300 A 192.0.2.1",)),
        (["ns.sub 300 A 192.0.2.1"], ("sub 300 NS ns.sub",)),
        (["sub 300 DS 1 13 2 " + "ab" * 32], ("sub 300 NS ns.example.net.",)),
        (["@ 300 ALIAS host.example.net.", "@ 300 MX 10 mx.example.net."], ()),
        (["old 300 DNAME new.example.net.", "old 300 TXT moved"], ()),
        (['@ 300 TXT "v=spf1 -all" | "v=spf10 is something else" | "text"'], ()),
        (['_dmarc 300 TXT "v=DMARC1; p=none; rua=mailto:a@example.test"'], ()),
        (["_acme-challenge 60 TXT token"], ()),
        (['www 300 HTTPS 1 . alpn=h2 ech="AAT+DQAA"'], ()),
        (["@ 300 DNSKEY 257 3 13 AAAA"], ()),
        (["gc._msdcs 300 A 192.0.2.1", "bad_under 300 TXT text", "_x 300 CNAME www.example.net."], ()),
        (["bad_under 300 A 192.0.2.1"], ("good 300 CNAME bad_under",)),
        (["_dmarc 300 CNAME _dmarc.example.net."], ()),
        (["www.example.test.example 300 A 192.0.2.1"], ()),
        (["@ 300 MX 10 mx-1.example.net."], ()),
        (["sub 300 NS ns1.2.example.net."], ()),
        (["printer._ipp._tcp 300 SRV 0 0 631 host.example.net."], ()),
        (["_443._tcp.www 300 TLSA 3 1 1 " + "ab" * 32], ()),
        (['@ 300 CAA 0 issue "ca.example.net; validationmethods=dns-01" | 0 iodef "mailto:a@example.net"'], ()),
        (['@ 300 CAA 0 issue ";"'], ()),
        (["xn--bcher-kva 300 A 192.0.2.1"], ()),
        (["xn--wgv71a119e 300 A 192.0.2.1"], ()),
    ],
    ids=lambda value: " + ".join(value) if isinstance(value, list) else None,
)
def test_what_is_right_is_not_complained_about(lines: list[str], around: tuple[str, ...]) -> None:
    assert codes(*lines, around=around) == set()


@pytest.mark.parametrize(
    ("code", "lines", "around"),
    [
        ("cname-alone", ["www 300 CNAME x.example.net."], ("www 300 A 192.0.2.1",)),
        ("cname-alone", ["www 300 A 192.0.2.1"], ("www 300 CNAME x.example.net.",)),
        ("cname-at-apex", ["@ 300 CNAME x.example.net."], ()),
        ("soa-not-apex", ["www 300 SOA ns. host. 1 2 3 4 5"], ()),
        ("dnskey-not-apex", ["www 300 DNSKEY 257 3 13 AAAA"], ()),
        ("ds-at-apex", ["@ 300 DS 1 13 2 " + "ab" * 32], ()),
        ("alias-beside", ["@ 300 ALIAS x.example.net."], ("@ 300 A 192.0.2.1",)),
        ("alias-beside", ["@ 300 AAAA 2001:db8::1"], ("@ 300 ALIAS x.example.net.",)),
        ("dname-below", ["a.old 300 A 192.0.2.1"], ("old 300 DNAME x.example.net.",)),
        ("dname-beside-ns", ["sub 300 DNAME x.example.net."], ("sub 300 NS ns.example.net.",)),
        ("lua-refused", ['www 300 LUA A "createReverse()"'], ()),
        ("cname-loop", ["a 300 CNAME a"], ()),
        ("cname-loop", ["a 300 CNAME b"], ("b 300 CNAME c", "c 300 CNAME a")),
        ("cname-loop", ["*.w 300 CNAME x.w"], ()),
        ("cname-loop", ["a 300 CNAME x.d"], ("d 300 DNAME e", "x.e 300 CNAME a")),
        ("cname-loop", ["x.e 300 CNAME x.d"], ("d 300 DNAME e",)),
        ("dname-loop", ["d 300 DNAME d"], ()),
        ("dname-loop", ["d 300 DNAME x.d"], ()),
        ("dname-loop", ["@ 300 DNAME x"], ()),
        ("dname-loop", ["d 300 DNAME e"], ("e 300 DNAME d",)),
        ("dname-loop", ["d 300 DNAME x.e"], ("e 300 DNAME f", "f 300 DNAME y.d")),
        ("ttl-low", ["www 29 A 192.0.2.1"], ()),
        ("target-is-cname", ["@ 300 MX 10 mail"], ("mail 300 CNAME x.example.net.",)),
        ("target-is-cname", ["@ 300 NS ns1 | ns2.example.net."], ("ns1 300 CNAME x.example.net.",)),
        ("target-missing", ["@ 300 MX 10 mail"], ()),
        ("target-missing", ["@ 300 MX 10 mail"], ("mail 300 TXT text",)),
        ("target-missing", ["shop 300 CNAME gone"], ()),
        ("target-missing", ["_sip._tcp 300 SRV 0 5 5060 sip"], ()),
        ("glue-missing", ["sub 300 NS ns.sub"], ()),
        ("ns-few", ["@ 300 NS ns1.example.net."], ()),
        ("occluded", ["a.sub 300 A 192.0.2.1"], ("sub 300 NS ns.example.net.",)),
        ("occluded", ["sub 300 TXT text"], ("sub 300 NS ns.example.net.",)),
        ("ds-without-ns", ["sub 300 DS 1 13 2 " + "ab" * 32], ()),
        ("doubled-name", ["www.example.test.example.test. 300 A 192.0.2.1"], ()),
        ("doubled-name", ["@ 300 MX 10 mail.example.test.example.test."], ()),
        ("wildcard", ["* 300 A 192.0.2.1"], ()),
        ("wildcard-ns", ["*.sub 300 NS ns.example.net."], ()),
        ("owner-not-host", ["_x 300 A 192.0.2.1"], ()),
        ("owner-not-host", ["bad_under 300 A 192.0.2.1"], ()),
        ("owner-not-host", ["www.bad_under 300 AAAA 2001:db8::1"], ()),
        ("owner-not-host", ["<script> 300 A 192.0.2.1"], ()),
        ("owner-not-host", ["-x 300 ALIAS host.example.net."], ()),
        ("owner-not-host", ["*.bad_under 300 A 192.0.2.1"], ()),
        ("owner-not-host", ["bad_under 300 MX 10 mx.example.net."], ()),
        ("private-address", ["www 300 A 192.168.1.1"], ()),
        ("private-address", ["www 300 AAAA fd00::1"], ()),
        ("ech-malformed", ['www 300 HTTPS 1 . ech="AEj+DQBEAQAgACBm"'], ()),
        ("target-is-address", ["@ 300 MX 10 192.0.2.1."], ()),
        ("target-is-address", ["@ 300 NS ns1.example.net. | 192.0.2.1."], ()),
        ("target-not-host", ["@ 300 MX 10 mail_1.example.net."], ()),
        ("target-not-host", ["_sip._tcp 300 SRV 0 5 5060 -sip.example.net."], ()),
        ("srv-owner", ["sip 300 SRV 0 5 5060 sip.example.net."], ()),
        ("tlsa-owner", ["www 300 TLSA 3 1 1 " + "ab" * 32], ()),
        ("tlsa-owner", ["_https._tcp 300 TLSA 3 1 1 " + "ab" * 32], ()),
        ("caa-tag", ['@ 300 CAA 0 issuer "ca.example.net"'], ()),
        ("caa-issuer", ['@ 300 CAA 0 issue "https://ca.example.net"'], ()),
        ("caa-iodef", ['@ 300 CAA 0 iodef "a@example.net"'], ()),
        ("caa-nobody", ['@ 300 CAA 0 issue ";" | 0 issue "ca.example.net"'], ()),
        ("mixed-scripts", ["xn--pple-43d 300 A 192.0.2.1"], ()),
        ("mixed-scripts", ["www 300 CNAME xn--pple-43d.example.net."], ()),
        ("looks-like-ascii", ["xn--80ak6aa92e 300 A 192.0.2.1"], ()),
        ("looks-like-ascii", ["www 300 CNAME xn--80ak6aa92e.example.net."], ()),
        ("looks-like-ascii", ["@ 300 MX 10 xn--80ak6aa92e.example.net."], ()),
        ("dkim-malformed", ['s._domainkey 300 TXT "v=DKIM1; k=rsa"'], ()),
        ("spf-duplicate", ['@ 300 TXT "v=spf1 -all" | "v=spf1 mx -all"'], ()),
        ("dmarc-policy", ['_dmarc 300 TXT "v=DMARC1; rua=mailto:a@example.test"'], ()),
    ],
)
def test_what_breaks_a_rule_is_named(code: str, lines: list[str], around: tuple[str, ...]) -> None:
    assert code in codes(*lines, around=around)


@pytest.mark.parametrize(
    "network",
    [
        *("10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16"),
        *("::1/128", "fc00::/7", "fe80::/10"),
    ],
)
def test_addresses_are_private_up_to_the_edges_of_a_network(network: str) -> None:
    inside = ip_network(network)
    type_ = "A" if inside.version == 4 else "AAAA"
    for address in {inside[0], inside[-1]}:
        assert "private-address" in codes(f"www 300 {type_} {address}"), address
    for address in (inside[0] - 1, inside[-1] + 1):
        assert "private-address" not in codes(f"www 300 {type_} {address}"), address


def test_the_labels_of_a_zone_are_looked_at_once_with_its_soa() -> None:
    zone = "xn--pple-43d.test."
    texts = {
        "SOA": "ns1.example.net. host.example.net. 1 2 3 4 5", "NS": "ns1.example.net.", "A": "192.0.2.1",
        "MX": f"10 mail.{zone}",
    }  # fmt: skip
    rrsets = [make(zone, rdata.type_from_text(type_), 300, [text]) for type_, text in texts.items()]
    found = check_zone(zone, {(r.name, r.type): r for r in rrsets}, {(r.name, r.type) for r in rrsets})
    [mixed] = [violation for violation in found if violation.code == "mixed-scripts"]
    assert (mixed.severity, mixed.type) == ("warning", rdtypes.SOA)
    assert mixed.message == (
        "xn--pple-43d is “аpple” and mixes letters from Cyrillic and Latin: the name looks similar to “apple”"
    )


def test_the_look_of_a_target_is_only_a_note() -> None:
    [rrset] = [rr("www 300 CNAME xn--pple-43d.example.net.")]
    [found] = check_zone(ZONE, {(rrset.name, rrset.type): rrset}, {(rrset.name, rrset.type)})
    assert (found.severity, found.code) == ("note", "mixed-scripts")
    assert found.message.startswith("CNAME www points to xn--pple-43d.example.net.: xn--pple-43d is “аpple”")


def test_a_dname_over_existing_names_is_refused_and_a_delegation_over_them_warned_of() -> None:
    assert "dname-below" in codes("old 300 DNAME x.example.net.", below={"old." + ZONE: ("a.old." + ZONE,)})
    hidden = {"sub." + ZONE: ("a.sub." + ZONE, "ns.sub." + ZONE)}
    assert "occludes" in codes("sub 300 NS ns.example.net.", below=hidden)
    glue = {"sub." + ZONE: ("ns.sub." + ZONE,)}
    assert "occludes" not in codes("sub 300 NS ns.sub", around=("ns.sub 300 A 192.0.2.1",), below=glue)


def test_a_zone_needs_its_soa_and_ns() -> None:
    soa, ns = map(rr, APEX)
    without_soa = check_zone(ZONE, {(ns.name, ns.type): ns}, {(soa.name, soa.type)})
    without_ns = check_zone(ZONE, {(soa.name, soa.type): soa}, {(ns.name, ns.type)})
    assert [v.code for v in without_soa] == ["soa-missing"]
    assert [v.code for v in without_ns] == ["apex-ns-missing"]


def test_a_name_outside_of_the_zone_is_refused() -> None:
    stray = RRset("www.other.test.", 1, 300, ("192.0.2.1",))
    assert [v.code for v in check_zone(ZONE, {(stray.name, 1): stray}, {(stray.name, 1)})] == ["not-in-zone"]


def test_lua_is_allowed_where_a_setting_says_so() -> None:
    lua = rr('www 300 LUA A "createReverse()"')
    key = (lua.name, lua.type)
    assert check_zone(ZONE, {key: lua}, {key}, allow_lua=True) == []


def test_who_points_at_a_changed_name_is_judged_again() -> None:
    mx, alias = rr("@ 300 MX 10 mail"), rr("mail 300 CNAME x.example.net.")
    everything = {(r.name, r.type): r for r in (*map(rr, APEX), mx, alias)}
    (found,) = check_zone(ZONE, everything, {(alias.name, alias.type)})
    assert (found.code, found.name, found.type) == ("target-is-cname", ZONE, mx.type)


def test_errors_come_first() -> None:
    changed = [rr("www 5 A 10.0.0.1"), rr("www 300 CNAME www")]
    everything = {(r.name, r.type): r for r in (*map(rr, APEX), *changed)}
    found = [v.severity for v in check_zone(ZONE, everything, {(r.name, r.type) for r in changed})]
    assert found == sorted(found, key=list(Severity).index)


def test_the_names_to_know_are_ancestors_targets_and_wildcards() -> None:
    assert names_to_know(ZONE, [rr("a.b 300 CNAME c.d")]) == {
        ZONE,
        "b." + ZONE,
        "c.d." + ZONE,
        "d." + ZONE,
        "*.d." + ZONE,
        "*." + ZONE,
    }
