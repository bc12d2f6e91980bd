"""The stages of each kind of rollover: how keys are used, and which conditions end a stage. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum


class Kind(StrEnum):
    """The kinds of rollovers. They differ in which keys they replace, and how."""

    ZSK = "zsk"  # pre-publication
    KSK = "ksk"  # double KSK: both sign the DNSKEY RRset, then the DS is exchanged
    KSK_DOUBLE_DS = "ksk-double-ds"  # the new DS is added, then the keys are exchanged
    CSK = "csk"  # both keys sign everything, then the DS is exchanged
    ALGORITHM = "algorithm"  # all keys are replaced by keys of another algorithm
    INSECURE = "insecure"  # first the DS is removed, then the keys
    SECURE = "secure"  # the zone has keys, and the DS is added


class Step(StrEnum):
    """The steps of a rollover."""

    PUBLISH = "publish"
    SIGN = "sign"
    DS = "ds"
    EXCHANGE = "exchange"
    UNPUBLISH = "unpublish"
    REMOVE = "remove"
    CLEAN = "clean"
    # Steps of a cancellation.
    WITHDRAW = "withdraw"
    BACK = "back"
    UNDONE = "undone"


class Use(StrEnum):
    """The use of a key during a stage."""

    FULL = "full"  # signs, and is in the DNSKEY RRset
    SIGNS = "signs"  # signs, but is not in the DNSKEY RRset
    PUBLISHED = "published"  # in the DNSKEY RRset, but does not sign
    HIDDEN = "hidden"  # neither
    GONE = "gone"  # the zone does not have the key


class Caches(StrEnum):
    """The old records that must expire from caches before a stage ends."""

    NOTHING = ""
    KEYS = "keys"  # the DNSKEY RRset
    RECORDS = "records"  # all other records
    ALL = "all"


class Goal(StrEnum):
    """A condition for the DS RRset on all of the parent's servers. A zone without any DS is insecure, never bogus."""

    HAS_OLD = "has-old"  # the DS RRset is empty, or matches an old key
    HAS_NEW = "has-new"
    NO_OLD = "no-old"
    NO_NEW = "no-new"
    EMPTY = "empty"
    NOT_EMPTY = "not-empty"
    # Not about the DS: every name server of the zone, including other signers' servers, answers with the new DNSKEYs.
    SIGNERS = "signers-have-new"


@dataclass(frozen=True, slots=True)
class Stage:
    """A rollover step: how keys are used in it, and which conditions end it."""

    step: Step
    old: Use
    new: Use
    caches: Caches = Caches.NOTHING
    parent: frozenset[Goal] = frozenset()
    ds_expires: bool = False  # True if other DS RRsets must have expired from caches
    signers: bool = False  # True if other signers must have the new keys


def _goals(*goals: Goal) -> frozenset[Goal]:
    return frozenset(goals)


CLEAN = Stage(Step.CLEAN, Use.GONE, Use.FULL, parent=_goals(Goal.NO_OLD))
_REMOVE = Stage(Step.REMOVE, Use.GONE, Use.FULL)
_EXCHANGE_DS = Stage(Step.DS, Use.FULL, Use.FULL, parent=_goals(Goal.HAS_NEW), ds_expires=True)

STAGES: Mapping[Kind, tuple[Stage, ...]] = {
    Kind.ZSK: (
        Stage(Step.PUBLISH, Use.FULL, Use.PUBLISHED, Caches.KEYS, signers=True),
        Stage(Step.SIGN, Use.PUBLISHED, Use.FULL, Caches.RECORDS),
        _REMOVE,
    ),
    Kind.KSK: (Stage(Step.PUBLISH, Use.FULL, Use.FULL, Caches.KEYS), _EXCHANGE_DS, _REMOVE, CLEAN),
    Kind.KSK_DOUBLE_DS: (
        Stage(Step.DS, Use.FULL, Use.HIDDEN, parent=_goals(Goal.HAS_OLD, Goal.HAS_NEW), ds_expires=True),
        Stage(Step.EXCHANGE, Use.HIDDEN, Use.FULL, Caches.KEYS),
        CLEAN,
    ),
    Kind.CSK: (
        Stage(Step.PUBLISH, Use.FULL, Use.FULL, Caches.ALL),
        replace(_EXCHANGE_DS, signers=True),
        _REMOVE,
        CLEAN,
    ),
    Kind.ALGORITHM: (
        # Signatures come before their DNSKEYs (RFC 6840 section 5.11), and are removed after them.
        Stage(Step.SIGN, Use.FULL, Use.SIGNS, Caches.RECORDS),
        Stage(Step.PUBLISH, Use.FULL, Use.FULL, Caches.KEYS),
        Stage(Step.DS, Use.FULL, Use.FULL, parent=_goals(Goal.HAS_NEW, Goal.NO_OLD), ds_expires=True),
        Stage(Step.UNPUBLISH, Use.SIGNS, Use.FULL, Caches.KEYS),
        _REMOVE,
    ),
    Kind.INSECURE: (
        Stage(Step.DS, Use.FULL, Use.GONE, parent=_goals(Goal.EMPTY), ds_expires=True),
        Stage(Step.REMOVE, Use.GONE, Use.GONE),
    ),
    # The new keys are the zone's keys. Caches may have answers without signatures.
    Kind.SECURE: (
        Stage(Step.PUBLISH, Use.GONE, Use.FULL, Caches.ALL),
        Stage(Step.DS, Use.GONE, Use.FULL, parent=_goals(Goal.HAS_NEW, Goal.NOT_EMPTY)),
    ),
}

# The old key is removed without a wait: `breakage` describes the effect.
_REPLACE_DS = Stage(Step.DS, Use.GONE, Use.FULL, parent=_goals(Goal.HAS_NEW, Goal.NO_OLD))
EMERGENCY: Mapping[Kind, tuple[Stage, ...]] = {
    Kind.ZSK: (_REMOVE,),
    Kind.KSK: (_REMOVE, _REPLACE_DS),
    Kind.CSK: (_REMOVE, _REPLACE_DS),
}

WITHDRAW = Stage(
    Step.WITHDRAW, Use.FULL, Use.FULL, parent=_goals(Goal.HAS_OLD, Goal.NO_NEW), ds_expires=True
)  # fmt: skip
UNDONE = Stage(Step.UNDONE, Use.FULL, Use.GONE)
# The way back, for kinds that can still be cancelled.
BACK: Mapping[Kind, tuple[Stage, ...]] = {
    Kind.ZSK: (Stage(Step.BACK, Use.FULL, Use.PUBLISHED, Caches.RECORDS), UNDONE),
    Kind.KSK: (WITHDRAW, UNDONE),
    Kind.KSK_DOUBLE_DS: (UNDONE,),
    Kind.CSK: (WITHDRAW, UNDONE),
    Kind.ALGORITHM: (WITHDRAW, Stage(Step.BACK, Use.FULL, Use.SIGNS, Caches.KEYS), UNDONE),
    Kind.INSECURE: (UNDONE,),
    Kind.SECURE: (replace(UNDONE, old=Use.GONE, new=Use.FULL),),
}
# The step that a cancellation begins with, for each step.
_CANCELLED: Mapping[tuple[Kind, Step], Step] = {
    (Kind.ZSK, Step.PUBLISH): Step.UNDONE,
    (Kind.ZSK, Step.SIGN): Step.BACK,
    (Kind.KSK, Step.PUBLISH): Step.UNDONE,
    (Kind.KSK, Step.DS): Step.WITHDRAW,
    (Kind.KSK_DOUBLE_DS, Step.DS): Step.UNDONE,
    (Kind.CSK, Step.PUBLISH): Step.UNDONE,
    (Kind.CSK, Step.DS): Step.WITHDRAW,
    (Kind.ALGORITHM, Step.SIGN): Step.UNDONE,
    (Kind.ALGORITHM, Step.PUBLISH): Step.BACK,
    (Kind.ALGORITHM, Step.DS): Step.WITHDRAW,
    (Kind.INSECURE, Step.DS): Step.UNDONE,
    (Kind.SECURE, Step.PUBLISH): Step.UNDONE,
    (Kind.SECURE, Step.DS): Step.UNDONE,
}
# During these rollovers, CDS records would name the wrong keys, because PowerDNS makes them for every published key. A
# parent would then keep the DS of the old algorithm, or remove the DS of a key that is not published yet.
WITHOUT_CDS = frozenset((Kind.ALGORITHM, Kind.KSK_DOUBLE_DS))
# The steps in which the published keys are again the keys that the parent's DS must name.
CDS_AGAIN = frozenset((Step.REMOVE, Step.CLEAN, Step.UNDONE))
# These steps need DS RRsets in caches that match an old key, because a cancellation deletes the new key at once.
NEEDS_OLD_DS = frozenset(((Kind.KSK, Step.PUBLISH), (Kind.CSK, Step.PUBLISH), (Kind.KSK_DOUBLE_DS, Step.DS)))
