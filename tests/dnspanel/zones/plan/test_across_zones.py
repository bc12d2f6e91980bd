"""Records that refer from one zone of the panel to another."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from dnspanel.accounts.actors.actors import Role
from dnspanel.accounts.models import Membership, Team, User
from dnspanel.zones.acting import Acting
from dnspanel.zones.drafts import draft
from dnspanel.zones.errors import RuleViolations
from dnspanel.zones.models import Channel, Zone
from dnspanel.zones.plan.across_zones import pointers_into
from dnspanel.zones.publishing import edit, revision, zone_patches
from dnspanel.zones.publishing.zone_patches import patch_of_steps, remove_rrset
from dnspanel.zones.rules.violations import Violation
from dnspanel.zones.store import store_rrsets, waiting_entries
from replication.dns import names, rdata, rdtypes
from tests.dnspanel.zones.conftest import MakeZone, rr
from tests.people import NOW, make_person

OTHER = "other.test."


@pytest.fixture
def other(make_zone: MakeZone) -> Zone:
    """Create a zone with a host, an alias, a wildcard, a delegation, a DNAME and a TXT record."""
    return make_zone(
        "mail 300 A 192.0.2.9", "alias 300 CNAME mail", "*.wild 300 A 192.0.2.9", "sub 300 NS ns1.example.net.",
        "old 300 DNAME new.example.net.", "text 300 TXT hello", name=OTHER,
    )  # fmt: skip


def wanted(author: User, *lines: str) -> list[Violation]:
    """Add these lines, each with a zone name in front, to the author's draft. Return the draft's warnings."""
    for line in lines:
        zone_name, _, record = line.partition(" ")
        zone = Zone.objects.get(name=zone_name, deleted_at=None)
        draft.replace_rrset(author=author, zone=zone, rrset=rr(record, origin=zone_name), now=NOW)
    return [each for plan in revision.preview(author=author) for each in plan.warnings]


def without(author: User, *records: str) -> list[Violation]:
    """Delete these `name TYPE` in the author's draft, each from the parent's zone. Return the draft's warnings."""
    for text in records:
        name, type_ = text.split()
        zone = Zone.objects.get(name=names.parent(name), deleted_at=None)
        draft.delete_rrset(author=author, zone=zone, name=name, type=rdata.type_from_text(type_), now=NOW)
    return [each for plan in revision.preview(author=author) for each in plan.warnings]


@pytest.mark.parametrize(
    ("record", "fault"),
    [
        ("a 300 CNAME gone.other.test.", "CNAME a points to gone.other.test., which does not exist"),
        ("a 300 CNAME mail.other.test.", ""),
        ("a 300 CNAME any.wild.other.test.", ""),
        ("a 300 CNAME any.sub.other.test.", ""),
        ("a 300 CNAME any.old.other.test.", ""),
        ("a 300 CNAME other.test.", ""),
        ("a 300 CNAME elsewhere.example.org.", ""),
        ("a 300 DNAME gone.other.test.", ""),
        ("@ 300 MX 10 mail.other.test.", ""),
        ("@ 300 MX 10 text.other.test.", "MX example.test. points to text.other.test., which doesn’t have an address"),
        (
            "a 300 NS gone.other.test. | mail.other.test.",
            "NS a points to gone.other.test., which doesn’t have an address"),
        (
            "_a._tcp 300 SRV 1 1 5060 gone.other.test.",
            "SRV _a._tcp points to gone.other.test., which doesn’t have an address"),
        ("a 300 HTTPS 1 gone.other.test. alpn=h2", "HTTPS a points to gone.other.test., which does not exist"),
        ("a 300 SVCB 0 mail.other.test.", ""),
        ("1 300 PTR gone.other.test.", "PTR 1 points to gone.other.test., which does not exist"),
        (
            "@ 300 MX 10 alias.other.test.",
            "MX example.test. points to alias.other.test., which is a CNAME; the target must have A or AAAA records",
        ),
    ],
)  # fmt: skip
def test_targets_in_other_zones_have_to_be_there(bob: User, zone: Zone, other: Zone, record: str, fault: str) -> None:
    assert [each.message for each in wanted(bob, f"example.test. {record}")] == ([fault] if fault else [])


def test_what_the_same_draft_adds_there_is_there(bob: User, zone: Zone, other: Zone) -> None:
    found = wanted(bob, "example.test. a 300 CNAME new.other.test.", "other.test. new 300 A 192.0.2.1")
    assert found == []
    [alone] = revision.preview(author=bob, zones=[zone])
    assert [each.code for each in alone.warnings] == ["target-missing"], "the other zone's draft stays behind"


def test_the_closest_zone_that_is_served_answers(bob: User, make_zone: MakeZone, zone: Zone, other: Zone) -> None:
    inside = make_zone("www 300 A 192.0.2.1", name="in.other.test.")
    assert wanted(bob, "example.test. a 300 CNAME www.in.other.test.") == []
    [found] = wanted(bob, "example.test. a 300 CNAME mail.in.other.test.")
    assert found.code == "target-missing"
    edit.delete_zone(zone=inside, acting=Acting(bob, Channel.WEB, NOW), confirmed=True)
    [found] = wanted(bob, "example.test. a 300 CNAME www.in.other.test.")
    assert found.message == "CNAME a points to www.in.other.test., which does not exist"


def test_a_draft_is_published_with_the_warning_accepted_only(bob: User, zone: Zone, other: Zone) -> None:
    wanted(bob, "example.test. a 300 CNAME gone.other.test.")
    with pytest.raises(RuleViolations):
        revision.publish(acting=Acting(bob, Channel.WEB, NOW))
    revision.publish(acting=Acting(bob, Channel.WEB, NOW), consent=revision.Consent(accept_warnings=["target-missing"]))


@pytest.mark.parametrize(
    ("pointer", "says"),
    [
        ("shop 300 CNAME mail.other.test.", "CNAME shop.example.test. still points to this name"),
        ("dept 300 MX 17 mail.other.test.", "MX dept.example.test. still points to this name"),
        ("_sip._tcp 300 SRV 1 1 5060 mail.other.test.", "SRV _sip._tcp.example.test. still points to this name"),
        ("a 300 HTTPS 1 mail.other.test. alpn=h2", "HTTPS a.example.test. still points to this name"),
        ("a 300 CNAME alias.other.test.", ""),
        ("a 300 TXT mail.other.test.", ""),
        ("a 300 DNAME mail.other.test.", ""),
    ],
)
def test_what_goes_is_warned_of_where_other_zones_point_at_it(
    bob: User, make_zone: MakeZone, other: Zone, pointer: str, says: str
) -> None:
    make_zone(pointer)
    found = [each for each in without(bob, "mail.other.test. A") if each.name == "mail.other.test."]
    assert [each.code for each in found] == (["pointed-at"] if says else [])
    if says:
        assert found[0].message == f"mail no longer exists, but {says}"
        assert found[0].type == rdtypes.A


def test_who_takes_both_away_or_leaves_a_text_or_a_wildcard_is_not_warned(
    bob: User, make_zone: MakeZone, other: Zone
) -> None:
    make_zone("shop 300 CNAME text.other.test.", "www 300 CNAME any.wild.other.test.")
    assert [each.code for each in without(bob, "text.other.test. TXT")] == ["pointed-at"]
    assert without(bob, "shop.example.test. CNAME") == []
    assert wanted(bob, "other.test. any.wild 300 A 192.0.2.3") == []
    revision.publish(acting=Acting(bob, Channel.WEB, NOW), consent=revision.Consent(accept_warnings=True))
    draft.delete_rrset(author=bob, zone=other, name="any.wild.other.test.", type=rdtypes.A, now=NOW)
    [plan] = revision.preview(author=bob)
    assert plan.warnings == (), "the wildcard answers again"


def test_a_host_that_loses_its_addresses_only_is_no_mail_server_any_more(
    bob: User, make_zone: MakeZone, other: Zone
) -> None:
    make_zone("@ 300 MX 10 mail.other.test.", "shop 300 CNAME mail.other.test.")
    wanted(bob, "other.test. mail 300 TXT hello")
    [found] = [each for each in without(bob, "mail.other.test. A") if each.name == "mail.other.test."]
    assert found.message == "mail no longer has an address, but MX example.test. still points to this name"


def test_pointers_of_the_same_zone_are_found_by_a_word_of_their_rdata(bob: User, make_zone: MakeZone) -> None:
    make_zone("mail 300 A 192.0.2.9", "dept 300 MX 10 mail", "@ 300 MX 10 mail", "www 300 CNAME mail")
    found = without(bob, "mail.example.test. A")
    assert sorted((each.code, each.name) for each in found) == [
        ("target-missing", "dept.example.test."),
        ("target-missing", "example.test."),
        ("target-missing", "www.example.test."),
    ]


def test_nobody_learns_of_records_and_zones_that_are_hidden_from_them(
    bob: User, make_zone: MakeZone, zone: Zone, other: Zone
) -> None:
    for number in range(5):
        make_zone("@ 300 MX 10 mail.other.test.", name=f"z{number}.test.")
    ours = Team.objects.create(name="Ours", created_at=NOW)
    mia = make_person("mia", Role.MEMBER)
    Membership.objects.create(team=ours, user=mia, role=Role.EDITOR)
    Zone.objects.filter(name__in=["other.test.", "z1.test."]).update(team=ours)

    def seen_by(person: User | None) -> str:
        patch = patch_of_steps(other, [(("mail.other.test.", rdtypes.A), remove_rrset)])
        [plan] = zone_patches.preview_patches(patches=[patch], author=person)
        [message] = [each.message for each in plan.warnings if each.code == "pointed-at"]
        return message.removeprefix("mail no longer exists, but ")

    assert seen_by(bob) == "MX z0.test., MX z1.test., MX z2.test. and 2 records in other zones still point to this name"
    assert seen_by(mia) == "MX z1.test. and 4 records in other zones still point to this name"
    assert seen_by(None) == "5 records in other zones still point to this name"
    found, _ = pointers_into(other, mia)
    assert [each.zone and each.zone.name for each in found] == ["z1.test.", None, None, None, None]

    Zone.objects.filter(name__in=["other.test."]).update(team=None)
    Zone.objects.filter(name__in=["example.test."]).update(team=ours)
    assert wanted(mia, "example.test. a 300 CNAME gone.other.test.") == [], "whether it is here, is not for her to know"


def test_the_queries_are_as_many_for_one_name_as_for_twenty(
    bob: User, make_zone: MakeZone, other: Zone, zone: Zone
) -> None:
    for number in range(20):
        make_zone("@ 300 MX 10 mail.other.test.", f"a 300 CNAME h{number}.many.test.", name=f"z{number}.test.")
    many = make_zone(*(f"h{number} 300 A 192.0.2.1" for number in range(20)), name="many.test.")

    def queries(count: int) -> int:
        steps = [((f"h{number}.many.test.", rdtypes.A), remove_rrset) for number in range(count)]
        lines = [rr(f"n{number} 300 CNAME gone{number}.other.test.") for number in range(count)]
        added = [((line.name, line.type), zone_patches.replace_with(line)) for line in lines]
        patches = [patch_of_steps(many, steps), patch_of_steps(zone, added)]
        with CaptureQueriesContext(connection) as context:
            plans = zone_patches.preview_patches(patches=patches, author=bob)
        assert [len(plan.warnings) for plan in plans] == [count, count]
        return len(context)

    assert queries(1) == queries(20)


def test_pointers_into_a_zone_are_those_of_other_zones(bob: User, make_zone: MakeZone, other: Zone) -> None:
    make_zone("@ 300 MX 10 mail.other.test.", "a 300 CNAME any.other.test.", "b 300 CNAME text.other.test.")
    found, has_more = pointers_into(other, bob)
    assert {(each.target, each.rrset.name if each.rrset else "") for each in found} == {
        ("mail.other.test.", "example.test."),
        ("text.other.test.", "b.example.test."),
    }
    assert not has_more


def test_targets_in_the_index_are_those_that_the_panel_sees(make_zone: MakeZone) -> None:
    target = "host.example.org."
    lines = [
        f"mx 300 MX 10 {target}", f"afsdb 300 AFSDB 1 {target}", f"srv 300 SRV 1 2 3 {target}", f"kx 300 KX 1 {target}",
        f'naptr 300 NAPTR 1 2 "s" "a b" "" {target}', f"ipseckey 300 IPSECKEY 10 3 2 {target} AQNRU3mG",
        f"svcb 300 SVCB 1 {target}", f"https 300 HTTPS 1 {target} alpn=h2", f"lp 300 LP 10 {target}",
        f"ns 300 NS {target}", f"cname 300 CNAME {target}", f"ptr 300 PTR {target}",
        f"mb 300 MB {target}", f"mg 300 MG {target}", f"mr 300 MR {target}",
    ]  # fmt: skip
    make_zone(*lines)
    found = {rrset.type for _, _, rrset in store_rrsets.rrsets_pointing_at([target], 50)}
    assert found == rdata.POINTING - {rdtypes.DNAME, rdtypes.ALIAS}, "ALIAS needs a resolver to be allowed"


def test_pointers_are_found_by_the_indexes_before_postgresql_has_statistics(make_zone: MakeZone) -> None:
    zone = make_zone("c 300 CNAME A1.other.test.")
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO zones_rrset (zone_id, name, owner_key, type, ttl, rdata, disabled, comment)"
            " SELECT %s, n || '.test.', int4send(n), 2, 300, ARRAY['ns' || n || '.example.net.'], '{}', ''"
            " FROM generate_series(1, 120000) AS n",
            [zone.pk],
        )
        cursor.execute("DELETE FROM pg_statistic WHERE starelid = 'zones_rrset'::regclass")
    # PostgreSQL may keep a plan that was made while many entries waited for the index.
    store_rrsets.rrsets_pointing_at(["a.other.test."] * 20, 50)
    waiting_entries.sort_in(waiting_entries.RDATA)  # as the upkeep of complaints does
    before = _rows_read()
    found = store_rrsets.rrsets_pointing_at([f"a{n}.other.test." for n in range(20)], 50)
    assert [(target, rrset.type) for target, _, rrset in found] == [("a1.other.test.", rdtypes.CNAME)]
    assert _rows_read() - before < 20


def _rows_read() -> int:
    """Return the number of rows that this transaction has read from the RRset table."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_xact_user_tables WHERE relid = 'zones_rrset'::regclass"
        )
        return int(cursor.fetchone()[0])


def test_aliases_of_a_classless_network_need_no_pointer_at_their_end(bob: User, make_zone: MakeZone) -> None:
    make_zone(name="2.0.192.in-addr.arpa.")
    inside = make_zone("65 300 PTR www.example.org.", name="64/30.2.0.192.in-addr.arpa.")
    assert wanted(bob, f"2.0.192.in-addr.arpa. 66 300 CNAME 66.{inside.name}") == []
    assert wanted(bob, f"2.0.192.in-addr.arpa. 65 300 CNAME 65.{inside.name}") == []
    assert without(bob, f"65.{inside.name} PTR") == []
    [found] = wanted(bob, f"2.0.192.in-addr.arpa. 67 300 PTR 67.{inside.name}")
    assert found.code == "target-missing"
