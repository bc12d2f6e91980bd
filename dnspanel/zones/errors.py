"""What may go wrong with zones, as one tree. Every message can be shown to the person who caused it.

ZoneError
├── Unknown               no such zone, as far as this person may know
│   └── InTrash           it was deleted, and this person may know of it
├── Forbidden             the person may not do it
│   └── RightMissing      not with this zone, or not with this RRset
│       ├── Locked        somebody locked it, with a reason
│       ├── FollowsMembers  it is a catalog of ours, and changes with its members
│       ├── Transferred   it comes from a primary elsewhere, and is changed there
│       ├── KeptBack      a rule keeps it from being published
│       │   ├── ApprovalNeeded  a rule asks for others' approval, or for a ticket
│       │   └── Frozen    nothing is published in this time
│       └── HookRefused   a publish hook says no, or nothing
│           └── HookUnasked  one must be asked first
├── RevisionMoved         the zone is not at the revision that the writer expects
├── NameRefused           a zone cannot have this name
│   ├── NameTaken
│   ├── NameReserved
│   ├── PublicSuffix      nobody may have it
│   ├── ReverseName       it is a network, whose names lie in a reverse zone
│   ├── NameOfOthers      it lies below or above a zone of which the author may not change every record
│   ├── SignedAtParent    the zone above holds a DS for it
│   └── BreaksBelow       it holds a DS for a zone here, which leads to no key of that zone
├── NamesTaken            some of many names are taken
├── NamesRefused          zones cannot have some of many names
├── PublishRefused        the draft is as it was; nothing was published
│   ├── NothingToPublish
│   ├── Conflicts         others published a change of the same RRset meanwhile
│   ├── RuleViolations
│   ├── GuardHolds        a change so large that somebody must confirm it
│   ├── MassDeletion      so many zones at once that somebody must confirm it
│   ├── PublishedInPart   some pieces of a large change are published, the rest was refused
│   ├── QuotaExceeded      a person or a team would have more than they may
│   └── PublishingOnHold  nodes may hold what this database does not know
├── TakenBack             the canary could not answer with the publication, so it was taken back
├── SettingsRefused       a tag, a team or a way of moving its serial that the zone cannot have
├── ExpiryRefused         an RRset cannot be removed at this time
├── LockRefused           what is to be locked cannot be
├── LockUnknown           the zone has no such lock
├── DefaultsFixed         the environment fixes a setting that a page would change
├── DefaultsMoved         somebody changed the same settings meanwhile
├── DnssecRefused         the zone cannot be signed in this way
│   ├── BadKey            what should be a DNSSEC key is none
│   │   └── BadPublicKey  what should be its public part is none, or another key's
│   ├── KeyUnknown        the zone has no such key
│   └── NotSigned         it has no keys, or is to have none
├── PolicyRefused         a DNSSEC policy cannot be so
├── PolicyUnknown         no such DNSSEC policy
├── RunUnknown            no such run of DNSSEC policies
├── DraftUnknown          no such draft with a name, as far as this person may know
├── RequestUnknown        no such request for approval, as far as this person may know
├── RequestRefused        a request for approval cannot be asked, answered or published as it is
├── RuleRefused           a rule of approval, or a freeze, cannot be so
├── RuleUnknown           no such rule, as far as this person may know
├── DraftRefused          a draft cannot be put aside, be taken up or have a name as it is
├── ViewUnknown           no such saved view, as far as this person may know
├── ViewRefused           a view cannot be saved so
├── TemplateUnknown       no such template, as far as this person may know
├── TemplateRefused       a template, or what is to be made of it, cannot be so
├── TemplateMoved         somebody published another version of the template meanwhile
├── TemplateRunUnknown    no such run of templates, as far as this person may know
├── ChangeRunUnknown      no such run that changes many zones, as far as this person may know
├── RolloverUnknown       the zone has no such rollover
├── RunRefused            zones cannot be signed as their policies say just now
├── BadFields             fields of a record's form cannot be so
├── CannotResolve         a conflict cannot be settled in this way
├── CannotUndo
├── CannotClone           a zone is too large to be copied so often
├── NotInTrash
├── StillOnItsWay         a deleted zone cannot leave the trash for good just now
└── NotOnHold             publishing is not on hold, so there is no history to decide about
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from dnspanel.accounts.grants import Right
from dnspanel.accounts.roles import Permission
from dnspanel.texts import gettext, gettext_noop, joined, ngettext
from replication.dns import rdata

if TYPE_CHECKING:
    from dnspanel.accounts.actors import Author
    from dnspanel.zones.hook_questions import Question
    from dnspanel.zones.merge import Conflict
    from dnspanel.zones.models import Lock
    from dnspanel.zones.rules import Violation


class ZoneError(Exception):
    """Something about a zone that a person can read and mend."""


class Unknown(ZoneError):
    """No such zone, as far as this person may know."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(gettext("There is no zone {name}").format(name=name))


class InTrash(Unknown):
    """A zone of this name was deleted and can be restored until it is gone for good."""

    def __init__(self, name: str, *, zone_id: int, deleted_at: datetime, gone_at: datetime) -> None:
        super().__init__(name)
        self.zone_id, self.deleted_at, self.gone_at = zone_id, deleted_at, gone_at
        since, until = (f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC" for at in (deleted_at, gone_at))
        message = gettext("The zone {name} is in the trash since {since}, and can be restored until {until}.")
        self.args = (message.format(name=name, since=since, until=until),)


class Forbidden(ZoneError):
    """The person lacks a permission."""

    def __init__(self, permission: Permission, reason: str = "") -> None:
        self.permission = permission
        super().__init__(reason or gettext("You may not {value}.").format(value=gettext(permission.value)))


_ACTS = {
    Right.READ: gettext_noop("You may not see {what}."),
    Right.ADD: gettext_noop("You may not add {what}."),
    Right.CHANGE: gettext_noop("You may not change {what}."),
    Right.REMOVE: gettext_noop("You may not delete {what}."),
    Right.CREATE_ZONE: gettext_noop("You may not create the zone {what}."),
    Right.DELETE_ZONE: gettext_noop("You may not delete or restore the zone {what}."),
    Right.SETTINGS: gettext_noop("You may not change the settings of the zone {what}."),
    Right.DNSSEC: gettext_noop("You may not sign the zone or change its keys {what}."),
    Right.TEMPLATES: gettext_noop("You may not make or change the template {what}."),
    Right.EXPORT_KEYS: gettext_noop("You may not read the private keys of the zone {what}."),
    Right.GOVERN: gettext_noop("You may not say what needs approval, or publish past it, in {what}."),
}


class RightMissing(Forbidden):
    """A person or token lacks a right over a zone, or over one of its RRsets."""

    def __init__(self, right: Right, zone_name: str, name: str = "", type: int = 0) -> None:
        self.right, self.zone_name, self.name, self.type = right, zone_name, name, type
        what = zone_name.rstrip(".")
        if name:
            what = gettext("{type} {name} in {zone}").format(type=rdata.type_to_text(type), name=name, zone=what)
        super().__init__(Permission.EDIT, gettext(_ACTS[right]).format(what=what))


class Locked(RightMissing):
    """A lock keeps the zone, or one of its RRsets, from everybody but its manager."""

    def __init__(self, zone_name: str, lock: "Lock", name: str = "", type: int = 0) -> None:
        super().__init__(Right.CHANGE, zone_name, name, type)
        self.lock = lock
        what = f"{rdata.type_to_text(type)} {name}" if name else zone_name
        message = (
            gettext("{what} is locked: {reason}. Only {manager} may change it.")
            if lock.manager
            else gettext("{what} is locked: {reason}.")
        )
        self.args = (message.format(what=what.rstrip("."), reason=lock.reason.rstrip("."), manager=lock.manager),)


class Transferred(RightMissing):
    """The zone's primary is elsewhere: nobody changes it here."""

    def __init__(self, zone_name: str, transferred_from: str) -> None:
        super().__init__(Right.CHANGE, zone_name)
        self.args = (transferred_reason(zone_name, transferred_from),)


class FollowsMembers(RightMissing):
    """The zone is a catalog of ours: nobody edits it."""

    def __init__(self, zone_name: str) -> None:
        super().__init__(Right.CHANGE, zone_name)
        self.args = (producer_reason(zone_name),)


def producer_reason(zone_name: str) -> str:
    """Why nobody changes anything of a catalog of ours, for people."""
    return gettext("{name} is a catalog: it says which zones are in it, and changes only with them.").format(
        name=zone_name.rstrip(".")
    )


def unserved_reason(zone_name: str) -> str:
    """Why nobody is given a zone that comes from elsewhere and is not served."""
    return gettext("{name} is not served: it has expired, or nothing has come from its primaries yet.").format(
        name=zone_name
    )


def transferred_reason(zone_name: str, transferred_from: str) -> str:
    """Why nothing of a zone is changed here, for people."""
    return gettext("{name} is transferred from {primaries}: it is changed there, and read here.").format(
        name=zone_name.rstrip("."), primaries=transferred_from
    )


@dataclass(frozen=True, slots=True)
class Attempt:
    """Who tried to publish something, by which way, why and when."""

    author: "Author"
    channel: str
    reason: str
    at: datetime


class KeptBack(RightMissing):
    """A rule keeps this from being published; `attempt` is set once that was refused to somebody."""

    attempt: Attempt | None = None

    def __init__(self, zone_name: str, reason: str) -> None:
        super().__init__(Right.CHANGE, zone_name)
        self.args = (reason,)


class ApprovalNeeded(KeptBack):
    """A rule asks for the approval of others, or for a ticket, before this is published."""


class Frozen(KeptBack):
    """Nothing is published in this zone just now."""


class HookRefused(RightMissing):
    """A publish hook did not let exactly this pass; `zones` are those that it is about, by id."""

    def __init__(self, zones: Mapping[int, str], reason: str) -> None:
        self.zones = zones
        super().__init__(Right.CHANGE, next(iter(zones.values()), ""))
        self.args = (reason,)


class HookUnasked(HookRefused):
    """Publish hooks must be asked these questions first, outside of transactions: `publish_hooks.after_hooks` does."""

    def __init__(self, questions: "Sequence[Question]", author: "Author", now: datetime) -> None:
        self.questions, self.author, self.now = questions, author, now
        zones = {pk: name for question in questions for pk, name in question.zones.items()}
        super().__init__(zones, gettext("A publish hook was not asked about this."))


class RevisionMoved(ZoneError):
    """The zone is not at the revision that the writer expects."""

    def __init__(self, zone_name: str, *, expected: int, found: int) -> None:
        self.zone_name, self.expected, self.found = zone_name, expected, found
        super().__init__(
            gettext("{zone_name} is at revision {found} by now, not {expected}.").format(
                zone_name=zone_name, found=found, expected=expected
            )
        )


class NameRefused(ZoneError):
    """A zone cannot have this name."""

    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        super().__init__(reason)


class NameTaken(NameRefused):
    """A zone of this name exists."""

    def __init__(self, name: str) -> None:
        super().__init__(name, gettext("The zone {name} exists already.").format(name=name))


class PublicSuffix(NameRefused):
    """Nobody may have a zone of this name, because everybody's zones lie below it."""

    def __init__(self, name: str) -> None:
        what = gettext("the root") if name == "." else name
        super().__init__(
            name,
            gettext(
                "Nobody may have the zone {what}: it stands above the zones of everybody. If that is "
                "meant, the settings PANEL_REFUSED_SUFFIXES and PANEL_PUBLIC_SUFFIX_LIST can be changed."
            ).format(what=what),
        )


class ReverseName(NameRefused):
    """What was given is a network or an address; `zones` are those that hold its reverse names."""

    def __init__(self, name: str, network: str, zones: Sequence[str]) -> None:
        self.network, self.zones = network, tuple(zones)
        where: str = ", ".join(self.zones[:4]).removesuffix(".")
        if len(self.zones) > 4:
            where = gettext("{listed} and {count} more").format(listed=where, count=len(self.zones) - 4)
        super().__init__(
            name,
            gettext("{network} is not the name of a zone; its reverse names lie in {where}.").format(
                network=network, where=where
            ),
        )


class NameOfOthers(NameRefused):
    """The name lies `side` ("below" or "above") a zone of which the author may not change every record.

    `other` is that zone, or nothing where the author may not know about it.
    """

    def __init__(self, name: str, side: str, other: str) -> None:
        self.side, self.other = side, other
        if side == "below":
            message = (
                gettext(
                    "You may not have the zone {name}: it lies below {other}, and you may not change every record of "
                    "that zone."
                )
                if other
                else gettext("You may not have the zone {name}: it lies below a zone of another team.")
            )
        else:
            message = (
                gettext(
                    "You may not have the zone {name}: it lies above {other}, and you may not change every record of "
                    "that zone."
                )
                if other
                else gettext("You may not have the zone {name}: it lies above a zone of another team.")
            )
        super().__init__(name, message.format(name=name, other=other))


class SignedAtParent(NameRefused):
    """The zone above says by a DS that this one is signed, and it would not be."""

    def __init__(self, name: str, parent: str) -> None:
        super().__init__(
            name,
            gettext(
                "{parent} holds a DS for {name}: resolvers that validate would answer nothing of it, "
                "because it would not be signed by the key that the DS names. Remove the DS from "
                "{parent} first, and wait for its TTL."
            ).format(parent=parent, name=name),
        )


class BreaksBelow(NameRefused):
    """The zone says by a DS that a zone below it is signed by another key than it is, or signed at all."""

    def __init__(self, name: str, child: str, reason: str) -> None:
        self.child = child
        super().__init__(
            name,
            gettext(
                "{name} holds a DS for {child}, {reason}: resolvers that validate would answer nothing "
                "of it. Take the DS out, or put the right one in."
            ).format(name=name, child=child, reason=reason),
        )


class NamesRefused(ZoneError):
    """Zones cannot have these names, each for the reason in `refusals`; none of the new zones was created."""

    def __init__(self, refusals: Mapping[str, NameRefused]) -> None:
        self.refusals = dict(refusals)
        first, more = next(iter(self.refusals.values())), len(self.refusals) - 1
        message: str = str(first)
        if more:
            message = ngettext(
                "{message} One more name is refused.", "{message} {count} more names are refused.", more
            ).format(message=message, count=more)
        super().__init__(message)

    @property
    def first(self) -> NameRefused:
        return next(iter(self.refusals.values()))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.refusals)


class NamesTaken(ZoneError):
    """Zones of these names exist; none of the new zones was created."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        first, more = self.names[0], len(self.names) - 1
        super().__init__(
            (
                gettext("The zone {first} exists already, and {more} more.")
                if more
                else gettext("The zone {first} exists already.")
            ).format(first=first, more=more)
        )


class NameReserved(NameRefused):
    """The panel needs this name for itself."""

    def __init__(self, name: str) -> None:
        super().__init__(
            name, gettext("The name {name} is reserved: the panel uses it to see how far a node is.").format(name=name)
        )


class TakenBack(ZoneError):
    """The publication was saved, and taken back because the canary could not answer with it.

    `reason` says why, as the canary found it; it is empty for those who must not know who published what.
    """

    def __init__(self, sequence: int, reason: str) -> None:
        self.sequence, self.reason = sequence, reason
        message = gettext("The change was taken back, because the name servers could not answer with it.")
        super().__init__(f"{message} {reason}".rstrip())


class SettingsRefused(ZoneError):
    """The zone cannot have this tag, team or way of moving its serial; `field` says which."""

    def __init__(self, field: str, reason: str) -> None:
        self.field = field
        super().__init__(reason)


class LockRefused(ZoneError):
    """What is to be locked cannot be; `field` is the one at fault."""

    def __init__(self, field: str, reason: str) -> None:
        self.field = field
        super().__init__(reason)


class LockUnknown(ZoneError):
    """The zone has no such lock, or not any more."""

    def __init__(self, zone_name: str) -> None:
        super().__init__(gettext("{zone_name} has no such lock any more.").format(zone_name=zone_name))


class ExpiryRefused(ZoneError):
    """An RRset cannot be removed at this time, or not by itself at all."""


class DnssecRefused(ZoneError):
    """The zone cannot be signed in this way; nothing was changed."""


class NotSigned(DnssecRefused):
    """What is asked for needs a zone that is signed."""

    def __init__(self, zone_name: str) -> None:
        self.zone_name = zone_name
        super().__init__(gettext("{zone_name} is not signed.").format(zone_name=zone_name))


class BadKey(DnssecRefused):
    """What should be a DNSSEC key is none. Quotes nothing of it: it may be one of another kind."""


class BadPublicKey(BadKey):
    """What should be the public part of a DNSSEC key is none, or not that of this key and zone."""


class KeyUnknown(DnssecRefused):
    """The zone has no key of this id."""

    def __init__(self, zone_name: str, key_id: int) -> None:
        super().__init__(gettext("{zone_name} has no DNSSEC key {key_id}.").format(zone_name=zone_name, key_id=key_id))


class PolicyRefused(ZoneError):
    """A DNSSEC policy cannot be so; `fields` has sentences by the name of what they are about."""

    def __init__(self, fields: Mapping[str, Sequence[str]]) -> None:
        self.fields = {name: list(messages) for name, messages in fields.items()}
        super().__init__(joined(" ", (message for messages in self.fields.values() for message in messages)))


class PolicyUnknown(ZoneError):
    """No such policy."""

    def __init__(self) -> None:
        super().__init__(gettext("There is no such DNSSEC policy."))


class DraftUnknown(ZoneError):
    """No such draft, as far as this person may know."""

    def __init__(self) -> None:
        super().__init__(gettext("There is no such draft."))


class ViewUnknown(ZoneError):
    """No such saved view, as far as this person may know."""

    def __init__(self) -> None:
        super().__init__(gettext("There is no such view."))


class ViewRefused(ZoneError):
    """A view cannot be saved so; nothing was changed."""


class DraftRefused(ZoneError):
    """A draft cannot have this name, be put aside or be taken up as it is; nothing was changed."""


class RequestUnknown(ZoneError):
    """No such request, as far as this person may know."""

    def __init__(self) -> None:
        super().__init__(gettext("There is no such request."))


class RequestRefused(ZoneError):
    """A request cannot be asked, answered, withdrawn or published as it is; nothing was changed."""


class RuleRefused(ZoneError):
    """A rule of approval or a freeze cannot be so; `field` is what is wrong about it."""

    def __init__(self, field: str, reason: str) -> None:
        self.field = field
        super().__init__(reason)


class RuleUnknown(ZoneError):
    """No such rule of approval, or freeze, as far as this person may know."""

    def __init__(self) -> None:
        super().__init__(gettext("There is no such rule."))


class TemplateUnknown(ZoneError):
    """No such template, as far as this person may know."""

    def __init__(self) -> None:
        super().__init__(gettext("There is no such template."))


class TemplateRefused(ZoneError):
    """A template, or what is to be made of it, cannot be so; `fields` has sentences by the name of what they are about.

    What is about its text begins with the line and column.
    """

    def __init__(self, fields: Mapping[str, Sequence[str]]) -> None:
        self.fields = {name: list(messages) for name, messages in fields.items()}
        super().__init__(joined(" ", (message for messages in self.fields.values() for message in messages)))


class TemplateMoved(ZoneError):
    """Somebody published another version of the template since it was shown."""

    def __init__(self, *, found: int) -> None:
        self.found = found
        super().__init__(
            gettext("The template is at version {found} by now. Compare with that, then publish yours.").format(
                found=found
            )
        )


class TemplateRunUnknown(ZoneError):
    """No such run of templates, as far as this person may know."""

    def __init__(self) -> None:
        super().__init__(gettext("There is no such run of templates."))


class ChangeRunUnknown(ZoneError):
    """No such run that changes many zones, as far as this person may know."""

    def __init__(self) -> None:
        super().__init__(gettext("There is no such run that changes zones."))


class RunUnknown(ZoneError):
    """No such run, as far as this person may know."""

    def __init__(self) -> None:
        super().__init__(gettext("There is no such run of DNSSEC policies."))


class RolloverUnknown(ZoneError):
    """The zone has no such rollover."""

    def __init__(self) -> None:
        super().__init__(gettext("The zone has no such rollover."))


class RunRefused(ZoneError):
    """A run of DNSSEC policies cannot begin, or not be cancelled."""


class PublishRefused(ZoneError):
    """Nothing was published, and nothing of the draft is lost."""


class NothingToPublish(PublishRefused):
    """The draft holds no operation, or only such as others have published too."""

    def __init__(self) -> None:
        super().__init__(gettext("There is nothing to publish."))


class Conflicts(PublishRefused):
    """Others published changes of RRsets that this draft changes too."""

    def __init__(self, conflicts: "Sequence[Conflict]") -> None:
        self.conflicts = tuple(conflicts)
        names: str = ", ".join(f"{c.change.name} {rdata.type_to_text(c.change.type)}" for c in self.conflicts[:5])
        if len(self.conflicts) > 5:
            names = gettext("{listed} and {count} more").format(listed=names, count=len(self.conflicts) - 5)
        super().__init__(gettext("Changed by others meanwhile: {names}.").format(names=names))


class RuleViolations(PublishRefused):
    """The resulting zone would break rules: errors, or warnings that nobody accepted."""

    def __init__(self, violations: "Sequence[Violation]") -> None:
        self.violations = tuple(violations)
        super().__init__(joined(" ", (violation.message for violation in self.violations)))


@dataclass(frozen=True, slots=True)
class GuardedZone:
    """A zone that loses so much that a person has to confirm it: why, and how many of its RRsets go."""

    name: str
    reasons: tuple[str, ...]
    removed: int
    rrsets: int


class GuardHolds(PublishRefused):
    """The change is so large that it waits until a person confirms it; `zones` are all that lose so much."""

    def __init__(self, zones: Sequence[GuardedZone]) -> None:
        self.zones = tuple(zones)
        first = self.zones[0]
        super().__init__(
            gettext("{zone_name}: {list} Confirm it by typing the zone's name.").format(
                zone_name=first.name, list=joined(" ", first.reasons)
            )
        )


class MassDeletion(PublishRefused):
    """So many zones would be deleted in a short time that it waits until a person confirms the number."""

    def __init__(
        self,
        *,
        count: int,
        lately: int,
        existing: int,
        most: int,
        window: timedelta,
        zones: Sequence[GuardedZone] = (),
        rrsets: int = 0,
    ) -> None:
        self.count, self.lately, self.existing, self.most = count, lately, existing, most
        self.zones, self.rrsets = tuple(zones), rrsets  # the first of them; RRsets of all
        minutes = int(window.total_seconds()) // 60
        message = (
            gettext(
                "This deletes {count:,} of {existing:,} zones, after {lately:,} in the last {minutes} minutes: more "
                "than {most:,} within {minutes} minutes wait until somebody confirms it. Nothing was deleted."
            )
            if lately
            else gettext(
                "This deletes {count:,} of {existing:,} zones: more than {most:,} within {minutes} minutes wait until "
                "somebody confirms it. Nothing was deleted."
            )
        )
        super().__init__(message.format(count=count, existing=existing, lately=lately, most=most, minutes=minutes))

    @property
    def total(self) -> int:
        """How many zones would be gone: the number that a person types to confirm."""
        return self.count + self.lately


class PublishedInPart(PublishRefused):
    """A large change was published in pieces, and others changed the zone so that the rest does not fit any more.

    Sent again, it goes on from there: what is published already is no change any more.
    """

    def __init__(self, *, pieces: int, of: int, last: int) -> None:
        self.last = last
        super().__init__(
            gettext(
                "Others changed the same records meanwhile: {pieces:,} of {of:,} parts are published, up "
                "to publication {last}. Send the request again for the rest."
            ).format(pieces=pieces, of=of, last=last)
        )


class QuotaExceeded(PublishRefused):
    """A person or a team would have more zones, RRsets in a zone or operations in a draft than they may."""


class PublishingOnHold(PublishRefused):
    """Nothing at all is published until a person has decided between the nodes' content and the panel's."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(
            gettext("Publishing is held: {reason} Drafts are kept; nothing was published.").format(reason=reason)
        )


class BadFields(ZoneError):
    """Fields of one value, each with its fault; that of the value as a whole has no name."""

    def __init__(self, faults: Mapping[str, str]) -> None:
        self.faults = dict(faults)
        super().__init__(joined(" ", self.faults.values()))


class CannotResolve(ZoneError):
    """A conflict cannot be settled in this way."""


class CannotClone(ZoneError):
    """A zone cannot be the source of so many others: the message says how much can be."""


class CannotUndo(ZoneError):
    """The revision has no inverse that fits into a draft; `instead` names the act that does it."""

    def __init__(self, reason: str, *, instead: str = "") -> None:
        self.instead = instead  # "delete", "restore" or nothing
        super().__init__(reason)


class DefaultsFixed(ZoneError):
    """The environment fixes a setting, so a page cannot change it."""

    def __init__(self, variable: str) -> None:
        super().__init__(
            gettext("{variable} is set in the panel's environment, so it is not changed here.").format(
                variable=variable
            )
        )


class DefaultsMoved(ZoneError):
    """Somebody changed the same settings since they were shown."""

    def __init__(self, username: str) -> None:
        super().__init__(
            gettext("{value} changed them meanwhile. Look at them again, then change them.").format(
                value=username or gettext("Somebody")
            )
        )


class NotInTrash(ZoneError):
    """The zone is not in the trash, or no longer."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(gettext("{name} is not in the trash.").format(name=name))


class StillOnItsWay(ZoneError):
    """A deleted zone cannot leave the trash for good before its deletion is on its way to every node."""

    def __init__(self, name: str) -> None:
        super().__init__(
            gettext(
                "The deletion of {name} is still on its way into the log of the nodes. Try again in some seconds."
            ).format(name=name)
        )


class NotOnHold(ZoneError):
    """Publishing is not held, so there is no history to decide about."""

    def __init__(self) -> None:
        super().__init__(gettext("Publishing is not held any more; somebody else may have decided first."))
