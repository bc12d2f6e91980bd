"""Names in values from programs must be absolute. Without a final dot they are refused, with both corrections."""

import pytest

from dnspanel.zones.plan.many_rrsets import Refused, add_values, replace_text, set_values, try_act
from dnspanel.zones.values.absolute_values import parse_absolute, reason_in_zone
from replication.dns import rdata, rdtypes
from replication.errors import BadRdata
from tests.dnspanel.zones.conftest import rr

# For each type with names: a valid value, with each of its names between { and }.
VALUES = {
    "NS": "{ns1.example.net}.",
    "CNAME": "{www}.",
    "DNAME": "{other.example.net}.",
    "PTR": "{host.example.net}.",
    "ALIAS": "{host.example.net}.",
    "MB": "{host}.",
    "MG": "{host}.",
    "MR": "{host}.",
    "MX": "10 {mail}.",
    "AFSDB": "1 {host}.",
    "KX": "1 {host}.",
    "LP": "1 {host}.",
    "SRV": "0 0 443 {host.example.net}.",
    "NAPTR": '1 1 "a" "" "" {host.example.net}.',
    "SVCB": "1 {host}. alpn=h2",
    "HTTPS": "1 {host}. alpn=h2",
    "IPSECKEY": "10 3 2 {gateway}. AQNRU3mG7TVTO2BkR47usntb102uFJtugbo6BSGvgqt4AQ==",
    "SOA": "{ns1}. {hostmaster}. 1 2 3 4 5",
    "RP": "{admin}. {text}.",
    "MINFO": "{admin}. {errors}.",
}


def test_every_type_with_a_name_is_here() -> None:
    assert {rdata.type_from_text(type_) for type_ in VALUES} >= rdata.POINTING


@pytest.mark.parametrize("type_", VALUES)
def test_a_name_without_a_final_dot_is_refused_with_both_ways_out(type_: str) -> None:
    """Previously `CNAME www` silently became `www.`."""
    number, value = rdata.type_from_text(type_), VALUES[type_]
    right = value.replace("{", "").replace("}", "")
    assert parse_absolute(number, right) == rdata.parse(number, right)
    for name in [part.split("}")[0] for part in value.split("{")[1:]]:
        bare = value.replace(f"{{{name}}}.", name).replace("{", "").replace("}", "")
        with pytest.raises(BadRdata) as caught:
            parse_absolute(number, bare)
        assert f"“{name}.”" in str(caught.value)
        assert f"“{name}.example.com.”" in str(caught.value)
        with pytest.raises(BadRdata) as in_zone:
            parse_absolute(number, bare, "house.test.")
        assert f"“{name}.house.test.”" in str(in_zone.value)
        assert reason_in_zone(caught.value, "house.test.") == str(in_zone.value)


def test_the_zone_itself_is_not_meant_by_an_at_sign() -> None:
    with pytest.raises(BadRdata, match=r"“@” is relative.* Enter “house\.test\.” for the zone itself\."):
        parse_absolute(rdtypes.CNAME, "@", "house.test.")


def test_other_values_are_what_they_were() -> None:
    assert parse_absolute(rdtypes.TXT, '"a.relative.name.invalid."') == '"a.relative.name.invalid."'
    assert parse_absolute(rdtypes.A, "192.0.2.1") == "192.0.2.1"
    assert parse_absolute(rdtypes.MX, "0 .") == "0 ."


def test_acts_on_many_rrsets_refuse_it_too() -> None:
    alias, mail = rr("a 300 CNAME www.example.net."), rr("@ 300 MX 10 mail.example.net.")
    for act, rrset in (
        (set_values(["www"]), alias),
        (add_values(["20 mail"]), mail),
        (replace_text("example.net.", "example.net"), alias),
    ):
        with pytest.raises(BadRdata, match="a trailing dot"):
            act(rrset)
        refused = try_act(act, rrset, "house.test.")
        assert isinstance(refused, Refused)
        assert ".house.test.”" in refused.reason
    moved = replace_text("example.net.", "example.com.")(alias)
    assert moved is not None
    assert moved.rdata == ("www.example.com.",)
