"""Errors about zones, as one tree. Every message can be shown to the person who caused it.

ZoneError
├── Unknown               no such zone, as far as this person may know
│   └── InTrash           it was deleted, and this person may know of it
├── Forbidden             the person may not do it
│   └── RightMissing      not with this zone, or not with this RRset
│       ├── Locked        it is locked, with a reason
│       ├── FollowsMembers  it is a producer catalog, and changes with its members
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
│   ├── PublicSuffix      no one may have it
│   ├── ReverseName       it is a network, whose names are in a reverse zone
│   ├── NameOfOthers      it is below or above a zone of which the author may not change every record
│   ├── SignedAtParent    the zone above holds a DS for it
│   └── BreaksBelow       it holds a DS for a zone here, which leads to no key of that zone
├── NamesTaken            some of many names are taken
├── NamesRefused          zones cannot have some of many names
├── PublishRefused        nothing was published, and the draft stays
│   ├── NothingToPublish
│   ├── Conflicts         others published a change of the same RRset since
│   ├── RuleViolations
│   ├── GuardHolds        a change so large that a person must confirm it
│   ├── MassDeletion      so large a number of zones that a person must confirm it
│   ├── PublishedInPart   some pieces of a large change are published, the rest was refused
│   ├── QuotaExceeded      a person or a team would have more than they may
│   └── PublishingOnHold  nodes may hold what this database does not know
├── TakenBack             the canary could not answer with the publication, so it was taken back
├── SettingsRefused       a tag, a team or a way of moving its serial that the zone cannot have
├── ExpiryRefused         an RRset cannot be removed at this time
├── LockRefused           what is to be locked cannot be
├── LockUnknown           the zone has no such lock
├── DefaultsFixed         the environment fixes a setting that a page would change
├── DefaultsMoved         a person changed the same settings since
├── DnssecRefused         the zone cannot be signed in this way
│   ├── BadKey            an invalid DNSSEC key
│   │   └── BadPublicKey  an invalid public part, or another key's
│   ├── KeyUnknown        the zone has no such key
│   └── NotSigned         it has no keys, or should have none
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
├── TemplateRefused       a template, or its result, is not acceptable
├── TemplateMoved         another version of the template was published since
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

from dnspanel.zones.errors.drafts import DraftRefused, DraftUnknown
from dnspanel.zones.errors.governance import (
    ApprovalNeeded,
    Attempt,
    Frozen,
    HookRefused,
    HookUnasked,
    KeptBack,
    RequestRefused,
    RequestUnknown,
    RuleRefused,
    RuleUnknown,
)
from dnspanel.zones.errors.lists import ViewRefused, ViewUnknown
from dnspanel.zones.errors.names import (
    BreaksBelow,
    NameOfOthers,
    NameRefused,
    NameReserved,
    NamesRefused,
    NamesTaken,
    NameTaken,
    PublicSuffix,
    ReverseName,
    SignedAtParent,
)
from dnspanel.zones.errors.publishing import (
    CannotClone,
    CannotResolve,
    CannotUndo,
    Conflicts,
    ExpiryRefused,
    GuardedZone,
    GuardHolds,
    MassDeletion,
    NothingToPublish,
    NotOnHold,
    PublishedInPart,
    PublishingOnHold,
    PublishRefused,
    QuotaExceeded,
    RuleViolations,
    TakenBack,
)
from dnspanel.zones.errors.rights import (
    FollowsMembers,
    Forbidden,
    Locked,
    LockRefused,
    LockUnknown,
    RightMissing,
    Transferred,
    producer_reason,
    transferred_reason,
    unserved_reason,
)
from dnspanel.zones.errors.runs import ChangeRunUnknown, RunRefused, RunUnknown
from dnspanel.zones.errors.signing import (
    BadKey,
    BadPublicKey,
    DnssecRefused,
    KeyUnknown,
    NotSigned,
    PolicyRefused,
    PolicyUnknown,
    RolloverUnknown,
)
from dnspanel.zones.errors.templates import TemplateMoved, TemplateRefused, TemplateRunUnknown, TemplateUnknown
from dnspanel.zones.errors.typed import BadFields
from dnspanel.zones.errors.zone import (
    DefaultsFixed,
    DefaultsMoved,
    InTrash,
    NotInTrash,
    RevisionMoved,
    SettingsRefused,
    StillOnItsWay,
    Unknown,
    ZoneError,
)

__all__ = [
    "ApprovalNeeded",
    "Attempt",
    "BadFields",
    "BadKey",
    "BadPublicKey",
    "BreaksBelow",
    "CannotClone",
    "CannotResolve",
    "CannotUndo",
    "ChangeRunUnknown",
    "Conflicts",
    "DefaultsFixed",
    "DefaultsMoved",
    "DnssecRefused",
    "DraftRefused",
    "DraftUnknown",
    "ExpiryRefused",
    "FollowsMembers",
    "Forbidden",
    "Frozen",
    "GuardHolds",
    "GuardedZone",
    "HookRefused",
    "HookUnasked",
    "InTrash",
    "KeptBack",
    "KeyUnknown",
    "LockRefused",
    "LockUnknown",
    "Locked",
    "MassDeletion",
    "NameOfOthers",
    "NameRefused",
    "NameReserved",
    "NameTaken",
    "NamesRefused",
    "NamesTaken",
    "NotInTrash",
    "NotOnHold",
    "NotSigned",
    "NothingToPublish",
    "PolicyRefused",
    "PolicyUnknown",
    "PublicSuffix",
    "PublishRefused",
    "PublishedInPart",
    "PublishingOnHold",
    "QuotaExceeded",
    "RequestRefused",
    "RequestUnknown",
    "ReverseName",
    "RevisionMoved",
    "RightMissing",
    "RolloverUnknown",
    "RuleRefused",
    "RuleUnknown",
    "RuleViolations",
    "RunRefused",
    "RunUnknown",
    "SettingsRefused",
    "SignedAtParent",
    "StillOnItsWay",
    "TakenBack",
    "TemplateMoved",
    "TemplateRefused",
    "TemplateRunUnknown",
    "TemplateUnknown",
    "Transferred",
    "Unknown",
    "ViewRefused",
    "ViewUnknown",
    "ZoneError",
    "producer_reason",
    "transferred_reason",
    "unserved_reason",
]
