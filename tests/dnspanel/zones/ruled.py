"""Zones under a rule of each kind, and the refusal of each kind."""

from collections.abc import Callable
from datetime import timedelta

from dnspanel.accounts.models import User
from dnspanel.accounts.secrets.vault import encrypt_secret
from dnspanel.zones.errors import ApprovalNeeded, Frozen, HookRefused, Locked
from dnspanel.zones.governance import publish_rules
from dnspanel.zones.governance.publish_rules import ApprovalTerms, FreezeTimes, Scope
from dnspanel.zones.models import PublishHook, WhenSilent, Zone
from dnspanel.zones.rights import locks
from tests.people import NOW


def need_approval(zone: Zone, admin: User) -> Callable[[], object]:
    """Require approval for changes to the zone. Return a function that removes the rule."""
    terms = ApprovalTerms()
    return publish_rules.add_approval_rule(
        scope=Scope(zone=zone), terms=terms, reason="Four eyes", author=admin, now=NOW
    ).delete


def freeze(zone: Zone, admin: User) -> Callable[[], object]:
    """Freeze the zone, so that nothing in it can be published. Return a function that ends the freeze."""
    times = FreezeTimes(starts_at=NOW - timedelta(days=1), ends_at=NOW + timedelta(days=50))
    return publish_rules.add_freeze(
        scope=Scope(zone=zone), times=times, reason="Year's end", author=admin, now=NOW
    ).delete


def lock(zone: Zone, admin: User, name: str = "", type: int | None = None) -> Callable[[], object]:
    """Lock the zone or a part of it for all except the administrator. Return a function that lifts the lock."""
    manager = locks.manager_of(admin)
    placed = locks.add_lock(zone=zone, name=name, type=type, reason="Terraform", manager=manager, author=admin, now=NOW)
    return lambda: locks.lift_lock(zone=zone, lock_id=placed.pk, author=admin, now=NOW)


def hook(zone: Zone, admin: User) -> Callable[[], object]:
    """Add a publish hook that never answers, which blocks publication. Return a function that deletes the hook."""
    return PublishHook.objects.create(
        zone=zone,
        reason="Release process",
        placed_at=NOW - timedelta(days=1),
        url="https://127.0.0.1:1/",
        secret=encrypt_secret(b"whsec_c2l4dGVlbiBieXRlcyBub3c="),
        seconds=1,
        when_silent=WhenSilent.REFUSE,
    ).delete


PLACE = {"approval": need_approval, "freeze": freeze, "lock": lock, "hook": hook}
REFUSAL: dict[str, type[Exception]] = {
    "approval": ApprovalNeeded,
    "freeze": Frozen,
    "lock": Locked,
    "hook": HookRefused,
}
