"""Create, change and delete DNSSEC policies, and attach them to zones, tags and teams. Verbs.

A change to a policy publishes nothing. Zones are updated by runs (`policy_runs`) and rollovers.
"""

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction

from dnspanel.accounts.actors.actors import Author, Permission, Right, actor_of
from dnspanel.accounts.audit import audit
from dnspanel.accounts.models import Team
from dnspanel.database.first_rows import first_or
from dnspanel.field_faults import name_taken
from dnspanel.texts import gettext, ngettext
from dnspanel.zones.dnssec.key_material import ALGORITHMS, MADE, MOST_RSA_BITS, RSA_BITS
from dnspanel.zones.dnssec.policy import Terms
from dnspanel.zones.errors import DnssecRefused, Forbidden, PolicyRefused, PolicyUnknown, SettingsRefused, Unknown
from dnspanel.zones.models import DnssecPolicy, PolicyAttachment, Zone
from dnspanel.zones.rights import access
from dnspanel.zones.settings.settings_of_zone import canonical_tags
from dnspanel.zones.signing.sign import digest_list, refuse_nsec3

MOST_POLICIES = 100
MOST_TAGS = 500  # tags with a policy; the query for a policy's zones lists all of them
LONGEST_NAME = 64
MOST_DAYS = 3650


@dataclass(frozen=True, slots=True)
class Target:
    """The zone, team or tag that a policy is attached to."""

    zone: Zone | None = None
    team: Team | None = None
    tag: str | None = None

    def __str__(self) -> str:
        if self.zone is not None:
            return self.zone.name
        if self.team is not None:
            return gettext("team {team}").format(team=self.team.name)
        return gettext("tag {tag}").format(tag=self.tag)

    @property
    def key(self) -> dict[str, Any]:
        """The filter that finds the target's row in PolicyAttachment."""
        if self.zone is not None:
            return {"zone": self.zone}
        return {"team": self.team} if self.team is not None else {"tag": self.tag}


@dataclass(frozen=True, slots=True)
class Attached:
    """The tags and teams to which a policy is attached. None leaves them unchanged."""

    tags: tuple[str, ...] | None = None
    teams: tuple[Team, ...] | None = None


AS_IT_IS = Attached()


def require_signer_of_all(by: Author) -> None:
    """Raise Forbidden unless the author has the right to sign all zones, which is required to change policies."""
    actor = None if by is None else actor_of(by)
    if by is not None and (actor is None or not actor.may_everywhere(Right.DNSSEC)):
        raise Forbidden(Permission.EDIT, gettext("DNSSEC policies require the right `dnssec` for all zones."))


def create_policy(
    *, name: str, terms: Terms, is_default: bool = False, attached: Attached = AS_IT_IS, by: Author, now: datetime
) -> DnssecPolicy:
    """Create a policy, as the default if `is_default`.

    Raise Forbidden if the author isn't allowed to sign all zones. Raise PolicyRefused for invalid values, a used name,
    or too many policies.
    """
    require_signer_of_all(by)
    name, columns = _checked_name(name), _columns(terms)
    try:
        with transaction.atomic():
            # Two transactions that create policies wait for each other, so that the limit holds.
            if len(DnssecPolicy.objects.select_for_update().order_by("pk").values_list("pk")) >= MOST_POLICIES:
                raise PolicyRefused(
                    {
                        "name": [
                            gettext("The panel can have at most {most_policies} policies.").format(
                                most_policies=MOST_POLICIES
                            )
                        ]
                    }
                )
            if is_default:
                DnssecPolicy.objects.filter(is_default=True).update(is_default=False)
            policy = DnssecPolicy.objects.create(
                name=name, is_default=is_default, created_at=now, changed_at=now, **columns
            )
            audit.record(
                action="dnssec.policy_create", by=by, now=now, target=name, **_details(terms, is_default=is_default)
            )
            _set_attached(policy, attached, by, now)
    except IntegrityError as exc:
        raise _name_taken(name) from exc
    return policy


def change_policy(  # noqa: PLR0913  # the fields of a policy
    *,
    policy: DnssecPolicy,
    name: str,
    terms: Terms,
    is_default: bool,
    attached: Attached = AS_IT_IS,
    by: Author,
    now: datetime,
) -> DnssecPolicy:
    """Change and return a policy. Its zones are updated only by the policy's next run.

    Raise PolicyUnknown if the policy was deleted, and the same errors as `create_policy`.
    """
    require_signer_of_all(by)
    name, columns = _checked_name(name), _columns(terms)
    values = {"name": name, "is_default": is_default, **columns}
    try:
        with transaction.atomic():
            locked = _lock_policy(policy)
            _set_attached(locked, attached, by, now)
            if all(getattr(locked, column) == value for column, value in values.items()):
                return locked
            if is_default and not locked.is_default:
                DnssecPolicy.objects.filter(is_default=True).update(is_default=False)
            DnssecPolicy.objects.filter(pk=locked.pk).update(changed_at=now, **values)
            details = _details(terms, is_default=is_default)
            audit.record(action="dnssec.policy_change", by=by, now=now, target=name, before=locked.name, **details)
            locked.refresh_from_db()
    except IntegrityError as exc:
        raise _name_taken(name) from exc
    return locked


def delete_policy(*, policy: DnssecPolicy, by: Author, now: datetime, replaced_by: DnssecPolicy | None = None) -> None:
    """Delete a policy. `replaced_by` takes over its attachments and its role as the default.

    Raise Forbidden if the author isn't allowed to sign all zones, and PolicyUnknown if one of the policies was already
    deleted. Raise PolicyRefused if the policy is attached and has no replacement, or would replace itself.
    """
    require_signer_of_all(by)
    with transaction.atomic():
        locked = _lock_policy(policy)
        attached = PolicyAttachment.objects.filter(policy=locked)
        if replaced_by is not None:
            heir = _lock_policy(replaced_by)
            if heir.pk == locked.pk:
                raise PolicyRefused({"replaced_by": [gettext("Choose a different policy as the replacement.")]})
            attached.update(policy=heir)
        elif count := attached.count():
            message = ngettext(
                "{name} is attached to {count} zone, tag or team.",
                "{name} is attached to {count} zones, tags or teams.",
                count,
            ).format(name=locked.name, count=count)
            raise PolicyRefused(
                {"replaced_by": [gettext("{message} Choose a replacement policy.").format(message=message)]}
            )
        was_default = locked.is_default
        DnssecPolicy.objects.filter(pk=locked.pk).delete()
        if was_default and replaced_by is not None:
            DnssecPolicy.objects.filter(pk=replaced_by.pk).update(is_default=True, changed_at=now)
        name = replaced_by.name if replaced_by else ""
        audit.record(action="dnssec.policy_delete", by=by, now=now, target=locked.name, replaced_by=name)


def attach(*, policy: DnssecPolicy, to: Target, by: Author, now: datetime) -> Target:
    """Attach a policy to a zone, tag or team, and replace an earlier attachment.

    Return the target, with its tag in canonical form. Raise RightMissing for a zone that the author isn't allowed to
    sign. Raise Forbidden for a tag or team if the author isn't allowed to sign all zones. Raise PolicyRefused for an
    invalid tag or too many tags, and PolicyUnknown or Unknown if the policy or the zone was deleted.
    """
    to = _require_right(by, to)
    with transaction.atomic():
        locked = _lock_policy(policy)
        if to.zone is not None and not Zone.objects.filter(pk=to.zone.pk, deleted_at=None).exists():
            raise Unknown(to.zone.name)
        before = PolicyAttachment.objects.select_related("policy").select_for_update(of=("self",)).filter(**to.key)
        old = before.first()
        if old is None and to.tag is not None and PolicyAttachment.objects.exclude(tag=None).count() >= MOST_TAGS:
            raise PolicyRefused(
                {"tag": [gettext("At most {most_tags} tags can have a policy.").format(most_tags=MOST_TAGS)]}
            )
        if old is not None and old.policy_id == locked.pk:
            return to
        PolicyAttachment.objects.update_or_create(defaults={"policy": locked, "attached_at": now}, **to.key)
        audit.record(
            action="dnssec.policy_attach",
            by=by,
            now=now,
            target=str(to),
            policy=locked.name,
            before=old.policy.name if old else "",
        )
    return to


def detach(*, target: Target, by: Author, now: datetime) -> None:
    """Detach the policy from a zone, tag or team, if it has one.

    Raise RightMissing or Forbidden like `attach`, and PolicyRefused for an invalid tag.
    """
    target = _require_right(by, target)
    with transaction.atomic():
        row = PolicyAttachment.objects.select_related("policy").filter(**target.key).first()
        if row is not None and PolicyAttachment.objects.filter(pk=row.pk).delete()[0]:
            audit.record(action="dnssec.policy_detach", by=by, now=now, target=str(target), policy=row.policy.name)


def _set_attached(policy: DnssecPolicy, attached: Attached, by: Author, now: datetime) -> None:
    """Attach the policy to exactly these tags and teams. None leaves the policy's tags or teams unchanged."""
    rows = PolicyAttachment.objects.select_related("team").filter(policy=policy, zone=None)
    present = {str(target): target for target in (Target(team=row.team, tag=row.tag) for row in rows)}
    targets = [Target(tag=tag) for tag in attached.tags or ()] + [Target(team=team) for team in attached.teams or ()]
    result = {str(target): target for target in (_require_right(by, target) for target in targets)}
    kept = {
        name: target
        for name, target in present.items()
        if (target.team is None and attached.tags is None) or (target.team is not None and attached.teams is None)
    }
    for name, target in present.items():
        if name not in result and name not in kept:
            detach(target=target, by=by, now=now)
    for name, target in result.items():
        if name not in present:
            attach(policy=policy, to=target, by=by, now=now)


def _require_right(by: Author, target: Target) -> Target:
    """Return the target with its canonical tag. Raise RightMissing or Forbidden, or PolicyRefused for a bad tag."""
    if target.zone is not None:
        access.require_right(by, target.zone, Right.DNSSEC)
        return target
    require_signer_of_all(by)
    if target.team is not None:
        return target
    try:
        tags = canonical_tags([target.tag or ""])
    except SettingsRefused as exc:
        raise PolicyRefused({"tag": [str(exc)]}) from exc
    if not tags:
        raise PolicyRefused({"tag": [gettext("Enter a tag.")]})
    return Target(tag=tags[0])


def _lock_policy(policy: DnssecPolicy) -> DnssecPolicy:
    return first_or(DnssecPolicy.objects.select_for_update().filter(pk=policy.pk), PolicyUnknown)


def _name_taken(name: str) -> PolicyRefused:
    message = gettext("A policy named {name} already exists, or someone else just changed the default policy.")
    return PolicyRefused({"name": [name_taken(message.format(name=name))]})


def _checked_name(name: str) -> str:
    name = " ".join(name.split())
    if not name or not name.isprintable():
        raise PolicyRefused({"name": [gettext("Enter a policy name with printable characters only.")]})
    if len(name) > LONGEST_NAME:
        raise PolicyRefused(
            {"name": [gettext("Enter at most {longest_name} characters.").format(longest_name=LONGEST_NAME)]}
        )
    return name


def _columns(terms: Terms) -> dict[str, object]:
    """Return the values of the columns that store the terms. Raise PolicyRefused if a term is invalid."""
    faults = {name: [message] for name, message in _faults(terms).items()}
    if faults:
        raise PolicyRefused(faults)
    nsec3 = terms.nsec3
    stored = None if nsec3 is None else [nsec3.iterations, nsec3.salt.hex(), nsec3.opt_out, nsec3.narrow]
    columns = asdict(terms)
    return columns | {"nsec3": stored, "cds": terms.cds.replace(" ", "")}


def _faults(terms: Terms) -> dict[str, str]:
    found = _faults_of_keys(terms)
    try:
        refuse_nsec3(terms.nsec3)
    except DnssecRefused as exc:
        found["nsec3"] = str(exc)
    try:
        asks_to_delete = "0" in digest_list(terms.cds).split(",")
    except DnssecRefused as exc:
        found["cds"] = str(exc)
    else:
        if asks_to_delete:
            found["cds"] = gettext("A policy can’t request that DS records be deleted.")
    return found


def _faults_of_keys(terms: Terms) -> dict[str, str]:
    found = {}
    if terms.algorithm not in MADE:
        found["algorithm"] = gettext(
            "The panel cannot create keys with algorithm {algorithm}. Choose one of these algorithms: {made}."
        ).format(algorithm=terms.algorithm, made=MADE)
    elif terms.bits is not None and not ALGORITHMS[terms.algorithm].startswith("RSA"):
        found["bits"] = gettext("You can only choose the size of RSA keys.")
    elif terms.bits is not None and (not RSA_BITS <= terms.bits <= MOST_RSA_BITS or terms.bits % 8):
        found["bits"] = gettext("An RSA key must have {rsa_bits} to {most_rsa_bits} bits.").format(
            rsa_bits=RSA_BITS, most_rsa_bits=MOST_RSA_BITS
        )
    for name, days in (("zsk_days", terms.zsk_days), ("ksk_days", terms.ksk_days)):
        if days is not None and not 1 <= days <= MOST_DAYS:
            found[name] = gettext("A lifetime must be 1 to {most_days} days.").format(most_days=MOST_DAYS)
    if terms.zsk_days is not None and not terms.split:
        found["zsk_days"] = gettext("A policy with one key (CSK) doesn’t have a ZSK.")
    return found


def _details(terms: Terms, *, is_default: bool) -> dict[str, object]:
    return {
        "says": terms.description,
        "cds": terms.cds_description,
        "lifetimes": terms.lifetimes,
        "automatic": terms.automatic,
        "signs_new_zones": terms.signs_new_zones,
        "first_ds": terms.first_ds,
        "is_default": is_default,
    }
