"""The evaluation of an edited zone text: its differences from the opened text, and refusals."""

import pytest

from dnspanel.accounts.actors.actors import Grant, Right
from dnspanel.accounts.models import GrantRow, Role, User
from dnspanel.transfer.zone_text import EditedText, read_edited_text, text_of
from dnspanel.zones.drafts import draft
from dnspanel.zones.lists.selection import Selection
from dnspanel.zones.models import Zone
from replication.dns.rrset import RRset
from tests.dnspanel.zones.conftest import MakeZone, presigned_zone, rr
from tests.dnspanel.zones.conftest import make_zone as make_zone
from tests.people import NOW, make_person


@pytest.fixture
def zone(make_zone: MakeZone) -> Zone:
    return make_zone("www 300 A 192.0.2.1 | 192.0.2.2", "shop 300 CNAME www", "mail 300 A 192.0.2.9")


def text(zone: Zone, author: User, *keys: tuple[str, int]) -> str:
    selection = Selection(keys) if keys else None
    return text_of(zone=zone, author=author, selection=selection, default_ttl=3600).text


def after(zone: Zone, author: User, *replacements: tuple[str, str], is_complete: bool = True) -> EditedText:
    """Return the evaluation of the zone's text with these replacements."""
    base = changed = text(zone, author)
    for old, new in replacements:
        assert old in changed
        changed = changed.replace(old, new)
    return read_edited_text(zone=zone, author=author, text=changed, base=base, is_complete=is_complete, now=NOW)


def found(result: EditedText) -> list[tuple[int, str]]:
    return [(fault.line, fault.code) for fault in result.faults]


def test_comments_and_disabled_values_come_back_exactly(zone: Zone, bob: User) -> None:
    odd = [
        rr("www 300 A 192.0.2.1 | 192.0.2.2", comment="first; then", disabled=("192.0.2.1",)),
        rr("off 60 A 192.0.2.3", comment="ends", disabled=("192.0.2.3",)),
        rr('two 60 TXT "a;b" "c" | "\\"q\\" ; no comment"', comment="of\nthree  spaced\tlines "),
        rr("xn--bcher-kva 60 A 192.0.2.4"),
        rr("3600 60 A 192.0.2.4"),
        rr("in.\\@ 60 A 192.0.2.4"),
        rr("lua 60 LUA A \"return '192.0.2.1'\""),
        rr("alias 60 ALIAS www.example.net."),
        rr("old 60 TYPE65300 \\# 2 abcd"),
    ]
    draft.replace_rrsets(author=bob, zone=zone, rrsets=odd, now=NOW)
    displayed = text(zone, bob)
    assert ";!disabled www 300 IN A 192.0.2.1 ; first; then\nwww 300 IN A 192.0.2.2\n" in displayed
    assert "lua 60 IN LUA A \"return '192.0.2.1'\"\n" in displayed
    assert "alias 60 IN ALIAS www.example.net.\n" in displayed
    result = after(zone, bob)
    assert (result.afters, result.faults) == ({}, [])
    # A comment that does not fit on a line is kept if only the value changes.
    [changed] = after(zone, bob, ("a;b", "a;d")).afters.values()
    assert changed is not None
    assert changed.comment == "of\nthree  spaced\tlines "
    on = after(zone, bob, (";!disabled off", "off")).afters
    assert on == {("off.example.test.", 1): rr("off 60 A 192.0.2.3", comment="ends")}


@pytest.mark.parametrize(
    ("old", "new", "faults"),
    [
        ("www 300 IN A 192.0.2.2", "www 60 IN A 192.0.2.2", ["ttl-differs"]),
        ("mail 300", "mail.example.net. 300", ["out-of-zone"]),
        ("mail 300 IN A 192.0.2.9", "$INCLUDE other.zone", ["include-missing"]),
        ("mail 300 IN A 192.0.2.9", "$GENERATE 1-6000 h$ A 192.0.2.1", ["generate-limit"]),
        ("mail 300 IN A 192.0.2.9", "@ DNSKEY 257 3 13 q80x", ["dnssec-left-out"]),
        ("mail 300 IN A 192.0.2.9", "mail 300 IN A 192.0.2.9 ( ", ["parenthesis"]),
        ("mail 300 IN A", "mail 300 IN Q", ["type-unknown"]),
        ("mail 300 IN A", "mail 300 IN URL301", ["line-left-out"]),
    ],
    ids=["ttl", "outside", "include", "generate", "dnssec", "parenthesis", "type", "redirect"],
)
def test_what_cannot_be_kept_is_an_error_at_its_line(
    zone: Zone, bob: User, old: str, new: str, faults: list[str]
) -> None:
    result = after(zone, bob, (old, new))
    assert [fault.code for fault in result.faults] == faults
    assert all(fault.line > 2 for fault in result.faults)
    assert result.afters == {}


def test_the_soa_stays_and_may_change(zone: Zone, bob: User) -> None:
    soa = next(line for line in text(zone, bob).splitlines() if " SOA " in line)
    gone = after(zone, bob, (soa, ""))
    assert [(fault.line, fault.code) for fault in gone.faults] == [(0, "soa-missing")]
    assert soa in gone.faults[0].reason
    mailbox = after(zone, bob, ("hostmaster.", "dns."))
    assert list(mailbox.afters) == [(zone.name, 6)]


def test_rules_are_told_at_the_line_and_block_only_publishing(zone: Zone, bob: User) -> None:
    result = after(zone, bob, ("mail 300 IN A 192.0.2.9", "mail 300 A 192.0.2.9\nmail 300 CNAME www"))
    assert result.faults == []
    assert [(fault.line, fault.code) for fault in result.blocking] == [(7, "cname-alone")]
    assert result.afters[("mail.example.test.", 5)] == rr("mail 300 CNAME www")


def test_a_change_without_the_right_is_an_error_at_its_line(zone: Zone) -> None:
    mia = make_person("mia", Role.MEMBER)
    grant = Grant(frozenset({Right.READ, Right.CHANGE}), zones=frozenset({zone.pk}), names=("www",))
    GrantRow.objects.create(user=mia, grant=grant.to_json(), created_at=NOW)
    assert after(zone, mia, ("192.0.2.1", "192.0.2.5")).faults == []
    refused = after(zone, mia, ("192.0.2.9", "192.0.2.5"), ("shop 300 IN CNAME www.example.test.\n", ""))
    assert {fault.code for fault in refused.faults} == {"right-missing"}
    assert sorted(fault.line > 0 for fault in refused.faults) == [False, True]
    assert any("shop.example.test." in fault.reason for fault in refused.faults)


def test_signatures_are_not_text_and_guard_what_they_cover(alice: User) -> None:
    zone = presigned_zone(alice, "www 300 A 192.0.2.1")
    made = text_of(zone=zone, author=alice, selection=None, default_ttl=3600)
    assert "RRSIG" not in made.text
    assert "DNSKEY" not in made.text
    assert (made.rrsets, made.hidden) == (3, 3)
    assert after(zone, alice).afters == {}
    assert "presigned" in {fault.code for fault in after(zone, alice, ("192.0.2.1", "192.0.2.2")).blocking}


def test_a_base_that_somebody_made_up_gives_no_more_than_the_draft_does(zone: Zone, bob: User) -> None:
    base = "$ORIGIN example.test.\n$TTL 60\nnothing A 192.0.2.1\nwww.other.test. A 192.0.2.1\n"
    result = read_edited_text(zone=zone, author=bob, text="$TTL 60\n", base=base, is_complete=True, now=NOW)
    assert (result.afters, result.faults) == ({}, [])


def test_what_others_did_the_same_is_no_change(zone: Zone, bob: User) -> None:
    base = text(zone, bob)
    same: RRset = rr("www 300 A 192.0.2.2")
    draft.replace_rrset(author=bob, zone=zone, rrset=same, now=NOW)
    changed = base.replace("www 300 IN A 192.0.2.1\n", "")
    assert read_edited_text(zone=zone, author=bob, text=changed, base=base, is_complete=True, now=NOW).afters == {}
