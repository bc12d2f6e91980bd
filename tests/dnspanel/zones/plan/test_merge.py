"""Three-way merge."""

from hypothesis import given
from hypothesis import strategies as st

from dnspanel.zones.plan.merge import Edit, is_already_so, merge
from replication.dns.rrset import Change, RRset
from tests.dnspanel.zones.conftest import ZONE, rr

NAME, A = "www." + ZONE, 1
states = st.sampled_from([None, *(RRset(NAME, A, ttl, ("192.0.2.1",)) for ttl in (60, 300, 3600))])


@given(base=states, current=states, after=states)
def test_each_edit_applies_is_already_so_or_clashes(
    base: RRset | None, current: RRset | None, after: RRset | None
) -> None:
    change = Change(NAME, A, base, after)
    merged = merge(ZONE, [Edit(change, 7)], {(NAME, A): current} if current else {})
    assert len(merged.apply) + len(merged.already_so) + len(merged.conflicts) == 1
    assert bool(merged.already_so) == (current == after)
    assert bool(merged.apply) == (current != after and base == current)
    for found in (*merged.apply, *merged.already_so):
        assert found == Change(NAME, A, current, after)
    for conflict in merged.conflicts:
        assert (conflict.change, conflict.theirs, conflict.operation_id) == (change, current, 7)


def test_a_soa_that_others_only_renumbered_is_no_conflict() -> None:
    def soa(serial: int, refresh: int) -> RRset:
        return rr(f"@ 3600 SOA ns1.example.net. h.example.net. {serial} {refresh} 3600 604800 60")

    key = (ZONE, 6)
    edit = Edit(Change(*key, before=soa(1, 7200), after=soa(1, 3600)))
    assert merge(ZONE, [edit], {key: soa(5, 7200)}).apply == (Change(*key, soa(5, 7200), soa(1, 3600)),)
    assert is_already_so(soa(5, 7200), soa(4, 7200))
    assert not is_already_so(soa(5, 7200), soa(6, 7200))
