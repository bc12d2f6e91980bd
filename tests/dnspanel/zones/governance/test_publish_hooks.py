"""Actions after their publish hooks have answered. `tests/dnspanel/webhooks` tests answers over the network."""

from datetime import timedelta

import pytest

from dnspanel.accounts.actors.actors import SystemRight
from dnspanel.accounts.models import User
from dnspanel.accounts.secrets.vault import encrypt_secret
from dnspanel.zones.acting import Acting
from dnspanel.zones.errors import HookRefused, HookUnasked
from dnspanel.zones.governance import publish_hooks
from dnspanel.zones.governance.publish_hooks import MOST_ROUNDS, after_hooks
from dnspanel.zones.log.sequence_log import NewRevision, append_publication
from dnspanel.zones.models import Channel, PublishHook, WhenSilent, Zone
from dnspanel.zones.publishing import zone_patches
from replication.dns import rdtypes
from replication.dns.rrset import Change
from tests.dnspanel.zones.conftest import MakeZone, rr
from tests.people import NOW


def test_an_act_that_never_has_its_answers_is_refused_in_the_end() -> None:
    attempts: list[int] = []

    @after_hooks
    def act() -> None:
        attempts.append(1)
        raise HookUnasked((), None, NOW)

    with pytest.raises(HookRefused, match="Other people changed the same records") as refused:
        act()
    assert not isinstance(refused.value, HookUnasked)
    assert len(attempts) == MOST_ROUNDS + 1


def test_an_act_within_another_asks_for_itself_and_one_refusal_ends_both() -> None:
    attempts: list[str] = []

    @after_hooks
    def inner() -> str:
        attempts.append("inner")
        if attempts.count("inner") == 1:
            raise HookUnasked((), None, NOW)
        raise HookRefused({7: "example.test."}, "No.")

    @after_hooks
    def outer() -> str:
        attempts.append("outer")
        return inner()

    with pytest.raises(HookRefused, match=r"No\."):
        outer()
    assert attempts == ["outer", "inner", "inner"]


@pytest.mark.django_db(transaction=True)
def test_the_log_takes_nothing_of_which_a_hook_was_not_asked(make_zone: MakeZone, alice: User) -> None:
    """A verb that forgets to ask the hook is refused too, with a readable message."""
    zone = make_zone("www 60 A 192.0.2.1")
    PublishHook.objects.create(
        zone=zone,
        reason="Names",
        placed_at=NOW - timedelta(days=1),
        url="https://9.9.9.9/",
        secret=encrypt_secret(b"whsec_x"),
        seconds=1,
        when_silent=WhenSilent.PASS,
    )
    change = Change("www.example.test.", rdtypes.A, rr("www 60 A 192.0.2.1"), rr("www 60 A 192.0.2.2"))
    revision = NewRevision(zone.pk, zone.name, "change", zone.revision + 1, 2, zone.rrset_count, changes=[change])
    with pytest.raises(HookUnasked, match="A publish hook wasn’t asked about this"):
        append_publication(revisions=[revision], acting=Acting(alice, Channel.API, NOW))
    assert Zone.objects.get(pk=zone.pk).revision == zone.revision
    patch = zone_patches.patch_of_steps(zone, [(change.key, zone_patches.remove_rrset)])
    zone_patches.publish_patches(patches=[patch], acting=Acting(None, Channel.SYSTEM, NOW), under=SystemRight.REPAIR)
    assert publish_hooks.refuse([], {}, [], acting=Acting(alice, "api", NOW)) == []
