"""The conversion of RRsets to and from table rows."""

import pytest
from django.db import IntegrityError, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dnspanel.zones.models import RRset, Zone
from dnspanel.zones.store import store_rrsets
from dnspanel.zones.store.store_rrsets import (
    copy_in,
    delete_rrsets,
    replace_rrsets,
    rows_of_zone,
    rrset_of,
    rrsets_at_names,
    rrsets_below,
    rrsets_with_rdata,
)
from replication.dns.rrset import RRset as Values
from replication.dns.rrset import make
from tests.dnspanel.zones.conftest import ZONE, MakeZone, rr

texts = st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs"]), max_size=20)
odd_rrsets = st.builds(
    lambda label, strings, off, comment: Values(
        f"{label}.{ZONE}", 16, 300, tuple(strings), tuple(strings[:off]), comment
    ),
    st.sampled_from(["a", "b\\.c", "d\\\\e", "f\\009", '\\"', "_x"]),
    st.lists(texts, min_size=1, max_size=3, unique=True),
    st.integers(0, 1),
    texts,
)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(rrsets=st.lists(odd_rrsets, max_size=5, unique_by=lambda r: r.name))
def test_what_is_copied_or_replaced_comes_back_as_it_was_whatever_its_characters(
    zone: Zone, rrsets: list[Values]
) -> None:
    owners = {zone.pk: (ZONE, [r.name for r in rrsets])}
    for write in (
        lambda: copy_in([rows_of_zone(zone.pk, ZONE, rrsets)]),
        lambda: replace_rrsets([(zone.pk, ZONE, r) for r in rrsets]),
    ):
        write()
        assert set(rrsets_at_names(owners)[zone.pk].values()) == set(rrsets)
        delete_rrsets([(zone.pk, ZONE, r.name, r.type) for r in rrsets])
        assert rrsets_at_names(owners)[zone.pk] == {}


def test_replacing_replaces_and_does_not_add(zone: Zone) -> None:
    replace_rrsets([(zone.pk, ZONE, rr("www 60 A 192.0.2.8"))])
    assert rrset_of(RRset.objects.get(zone=zone, name="www." + ZONE)) == rr("www 60 A 192.0.2.8")


def test_names_are_looked_up_in_their_own_zone(zone: Zone, make_zone: MakeZone) -> None:
    other = make_zone("www 60 A 192.0.2.8", name="other.test.")
    found = rrsets_at_names(
        {zone.pk: (ZONE, ["www." + ZONE]), other.pk: ("other.test.", ["www.other.test.", "other.test."])}
    )
    assert [r.ttl for r in found[zone.pk].values()] == [300]
    assert {type_ for _, type_ in found[other.pk]} == {1, 2, 6}


def test_below_is_the_subtree_without_its_top(make_zone: MakeZone) -> None:
    zone = make_zone(
        *(f"{name} 60 A 192.0.2.8" for name in ("www", "a.www", "b.a.www", "www2", "ww", "\\255.www", "zz"))
    )
    www = "www." + ZONE
    below, nothing, two, everything = rrsets_below(
        [
            (zone.pk, ZONE, www, 10),
            (zone.pk, ZONE, "zz." + ZONE, 10),
            (zone.pk, ZONE, www, 2),
            (zone.pk, ZONE, ZONE, 100),
        ]
    )
    assert [r.name.removesuffix("." + ZONE) for r in below] == ["a.www", "b.a.www", "\\255.www"]
    assert (nothing, two, len(everything)) == ([], below[:2], 7)


def test_rdata_are_found_inside_of_each_zone(zone: Zone, make_zone: MakeZone, monkeypatch: pytest.MonkeyPatch) -> None:
    other = make_zone("shop 300 CNAME www.example.test.", "a 300 CNAME b", "c 300 CNAME b", name="other.test.")
    requested = {zone.pk: ["www." + ZONE, "none."], other.pk: {"b.other.test."}}
    found = rrsets_with_rdata(requested, 10)
    assert {id: [r.name for r in rrsets] for id, rrsets in found.items()} == {
        zone.pk: ["shop." + ZONE],
        other.pk: ["a.other.test.", "c.other.test."],
    }
    monkeypatch.setattr(store_rrsets, "_ZONES_TOGETHER", 1)
    assert rrsets_with_rdata(requested, 10) == found
    assert len(rrsets_with_rdata(requested, 1)[other.pk]) == 1
    assert rrsets_with_rdata({zone.pk: []}, 1) == {}


def refused(*rrsets: Values, zone: Zone) -> None:
    with pytest.raises(IntegrityError, match="must be alone"), transaction.atomic():
        replace_rrsets([(zone.pk, ZONE, r) for r in rrsets])


def test_the_database_refuses_a_cname_beside_other_data_in_every_order(zone: Zone) -> None:
    refused(rr("www 300 CNAME x.example.net."), zone=zone)
    refused(rr("shop 300 TXT text"), zone=zone)
    refused(rr("new 300 CNAME x.example.net."), rr("new 300 TXT text"), zone=zone)
    with pytest.raises(IntegrityError, match="must be alone"), transaction.atomic():
        copy_in([rows_of_zone(zone.pk, ZONE, [rr("new 300 CNAME x.example.net."), rr("new 300 TXT text")])])
    with pytest.raises(IntegrityError, match="must be alone"), transaction.atomic():
        RRset.objects.filter(zone=zone, name="mail." + ZONE).update(name="shop." + ZONE, owner_key=b"shop\0")


def test_a_cname_may_change_and_stand_at_the_same_name_in_another_zone(zone: Zone, make_zone: MakeZone) -> None:
    make_zone("shop 60 A 192.0.2.8", name="other.test.")
    replace_rrsets([(zone.pk, ZONE, rr("shop 60 CNAME x.example.net."))])
    assert RRset.objects.get(zone=zone, name="shop." + ZONE).ttl == 60


def test_a_made_rrset_survives_the_table_exactly(zone: Zone) -> None:
    made = make(f"x.{ZONE}", 16, 300, ['"<script>\\"\\\\ \\000 ü"', "plain; text"], comment="a\tb\nc")
    replace_rrsets([(zone.pk, ZONE, made)])
    assert rrset_of(RRset.objects.get(zone=zone, name=made.name)) == made
