"""The tables for zones: RRsets, drafts, the log, DNSSEC, rules and runs.

Models store and constrain data. Only modules with the tag *Verbs* write it, such as `bulk`, `edit`, `draft`,
`named_drafts` and `revision`. A row's references always exist, and dependent rows are deleted with the row. If
`db_constraint` is off, triggers check the references once per statement (migration 0003), because a foreign key costs a
query for each row.
"""

from dnspanel.zones.models.audit import AuditChain, AuditLink
from dnspanel.zones.models.dnssec import (
    AcceptedBreak,
    DnssecPolicy,
    PolicyAttachment,
    Rollover,
    Signing,
    SigningChange,
    ZoneKey,
)
from dnspanel.zones.models.drafts import Draft, DraftShare, Operation
from dnspanel.zones.models.governance import ApprovalRule, Freeze, HookReply, PublishHook, WhenSilent, ZoneRule
from dnspanel.zones.models.lists import SavedView, ViewPage, ZoneMarks
from dnspanel.zones.models.log import NOT_SERVED, Change, Channel, Epoch, LogHead, Publication, Revision, RevisionKind
from dnspanel.zones.models.queried import CountingNode, QueriedRRset
from dnspanel.zones.models.requests import PublishRequest, RequestNote, RequestState, Verdict
from dnspanel.zones.models.rights import Lock, TsigAct, TsigPermission
from dnspanel.zones.models.rrset import Expiry, RRset
from dnspanel.zones.models.runs import (
    UNFINISHED_STATES,
    ChangeRun,
    ChangeRunZone,
    PolicyRun,
    PolicyRunZone,
    RunState,
    TemplateRun,
    TemplateRunZone,
    ZoneAct,
    ZoneRun,
)
from dnspanel.zones.models.search import Complaint, ComplaintProgress, NamePlace, SearchProgress, SearchText
from dnspanel.zones.models.templates import KeptAddresses, TemplateKind, TemplateLink, TemplateVersion, ZoneTemplate
from dnspanel.zones.models.zone import PRODUCERS, TRASH_DAYS, LastSerial, NaturalName, Zone, ZoneDefaults, gone_at
