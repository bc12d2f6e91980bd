"""Zones under a rule of each kind, and what each refuses."""

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
    """Make changes of the zone need an approval; return what lifts the rule."""
    terms = ApprovalTerms()
    return publish_rules.add_approval_rule(
        scope=Scope(zone=zone), terms=terms, reason="Four eyes", author=admin, now=NOW
    ).delete


def freeze(zone: Zone, admin: User) -> Callable[[], object]:
    """Freeze the zone: nothing of it is published now."""
    times = FreezeTimes(starts_at=NOW - timedelta(days=1), ends_at=NOW + timedelta(days=50))
    return publish_rules.add_freeze(
        scope=Scope(zone=zone), times=times, reason="Year's end", author=admin, now=NOW
    ).delete


def lock(zone: Zone, admin: User, name: str = "", type: int | None = None) -> Callable[[], object]:
    """Lock the zone, or a part of it: only the administrator changes it."""
    manager = locks.manager_of(admin)
    placed = locks.add_lock(zone=zone, name=name, type=type, reason="Terraform", manager=manager, author=admin, now=NOW)
    return lambda: locks.lift_lock(zone=zone, lock_id=placed.pk, author=admin, now=NOW)


def hook(zone: Zone, admin: User) -> Callable[[], object]:
    """Place a publish hook that never answers; nothing is published without its answer."""
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
