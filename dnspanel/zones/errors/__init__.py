"""Errors about zones, as one tree. Every message can be shown to the person who caused it.

ZoneError
├── Unknown               no zone with this name that this person can see
│   └── InTrash           the zone was deleted, and this person can see that
├── RevisionUnknown       the zone has no such revision, or it was removed because of its age
├── Forbidden             the person lacks a permission
│   └── RightMissing      the person lacks a right over this zone or RRset
│       ├── Locked        the zone or RRset is locked, with a reason
│       ├── FollowsMembers  the zone is a produced catalog, and changes only with its members
│       ├── Transferred   the zone is transferred from a primary elsewhere, and must be changed there
│       ├── KeptBack      a rule blocks the publication
│       │   ├── ApprovalNeeded  a rule requires approval by others, or a ticket
│       │   └── Frozen    a freeze blocks publications at this time
│       └── HookRefused   a publish hook refused, or did not answer
│           └── HookUnasked  a publish hook must be called first
├── RevisionMoved         the zone is not at the revision that the writer expects
├── NameRefused           a zone cannot have this name
│   ├── NameTaken
│   ├── NameReserved
│   ├── PublicSuffix      a name that no one is allowed to have as a zone
│   ├── ReverseName       a network or an address, whose names are in a reverse zone
│   ├── NameOfOthers      below or above a zone where the author is not allowed to change every record
│   ├── SignedAtParent    the parent zone has a DS for this name
│   └── BreaksBelow       the zone has a DS for a zone below it, but the DS matches none of that zone's keys
├── NamesTaken            some of many names are taken
├── NamesRefused          zones cannot have some of many names
├── PublishRefused        nothing was published, and the draft stays
│   ├── NothingToPublish
│   ├── Conflicts         others have published a change to an RRset of the draft
│   ├── RuleViolations
│   ├── GuardHolds        a change so large that a person must confirm it
│   ├── MassDeletion      a deletion of many zones that a person must confirm
│   ├── PublishedInPart   some pieces of a large change were published, the rest was refused
│   ├── QuotaExceeded      a person or a team would exceed a quota
│   └── PublishingOnHold  nodes can have publications that this database lacks
├── TakenBack             the canary could not answer with the publication, so the panel reverted it
├── SettingsRefused       the zone cannot have this tag, team or serial setting
├── ExpiryRefused         an RRset cannot be removed at this time
├── LockRefused           a lock has invalid fields, or exists already
├── LockUnknown           the zone has no such lock
├── DefaultsFixed         the environment fixes a setting that a page would change
├── DefaultsMoved         another person has just changed the same settings
├── DnssecRefused         a requested change to the zone's signing is not possible
│   ├── BadKey            an invalid DNSSEC key
│   │   └── BadPublicKey  an invalid public part, or the public part of another key
│   ├── KeyUnknown        the zone has no such key
│   └── NotSigned         the zone is not signed
├── PolicyRefused         a DNSSEC policy has invalid terms
├── PolicyUnknown         no such DNSSEC policy
├── RunUnknown            no such DNSSEC policy run
├── DraftUnknown          no named draft with this id that this person can see
├── RequestUnknown        no request for approval with this id that this person can see
├── RequestRefused        a request for approval cannot be made, answered or published in its state
├── RuleRefused           an approval rule, a freeze or a hook has invalid fields
├── RuleUnknown           no rule with this id that this person can see
├── DraftRefused          a draft cannot be saved, resumed or renamed in its state
├── ViewUnknown           no saved view with this id that this person can see
├── ViewRefused           a view is empty, or has an invalid name or team
├── TemplateUnknown       no template with this id that this person can see
├── TemplateRefused       a template, or its result, is not acceptable
├── TemplateMoved         a newer version of the template was published
├── TemplateRunUnknown    no template run with this id that this person can see
├── ChangeRunUnknown      no run with this id over many zones that this person can see
├── RolloverUnknown       the zone has no such rollover
├── RunRefused            a DNSSEC policy run cannot begin or be canceled now
├── BadFields             invalid fields in the form of a record
├── CannotResolve         a conflict cannot be resolved with the chosen option
├── CannotUndo
├── CannotClone           a zone is too large for this number of clones
├── NotInTrash
├── StillOnItsWay         a deleted zone cannot be deleted permanently yet
└── NotOnHold             publishing is not on hold, so there is nothing to decide
"""

from dnspanel.zones.errors.governance import *
from dnspanel.zones.errors.names import *
from dnspanel.zones.errors.publishing import *
from dnspanel.zones.errors.rights import *
from dnspanel.zones.errors.signing import *
from dnspanel.zones.errors.zone import *
