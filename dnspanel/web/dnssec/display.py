"""Prepare a zone's DNSSEC state for display: its keys and their buttons, and its parent zone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID, uuid4

from dnspanel.texts import gettext, gettext_lazy
from dnspanel.zones.dnssec.other_keys import OtherKey
from dnspanel.zones.dnssec.signing_state import DELETE, KeyView, SigningState
from dnspanel.zones.dnssec.signing_texts import describe_denial, describe_polling, signing_algorithms
from dnspanel.zones.models import Zone
from dnspanel.zones.signing.safety import ParentHere

# The names that registrars use.
_FIELDS: Mapping[str, Sequence[str]] = {
    "DS": (gettext_lazy("key tag"), gettext_lazy("algorithm"), gettext_lazy("digest type"), gettext_lazy("digest")),
    "DNSKEY": (gettext_lazy("flags"), gettext_lazy("protocol"), gettext_lazy("algorithm"), gettext_lazy("public key")),
}
_DIGEST_NAMES = {"2": "SHA-256", "4": "SHA-384"}


@dataclass(frozen=True, slots=True)
class KeyAct:
    """A button that changes a key, with the form field and value that it sends."""

    button: str
    field: str
    value: str


@dataclass(frozen=True, slots=True)
class Part:
    """One field of a record's rdata, for registrar forms with a separate input for each field."""

    id: str
    label: str
    text: str


@dataclass(frozen=True, slots=True)
class Line:
    """A DS or DNSKEY record to copy, with its label."""

    id: str
    label: str
    text: str

    @property
    def parts(self) -> list[Part]:
        """The separate fields of a DS or DNSKEY record."""
        _, _, type, rdata = self.text.split(" ", 3)
        labels = _FIELDS[type]
        texts = rdata.split(" ", len(labels) - 1)
        return [
            Part(f"{self.id}-{n}", label, text) for n, (label, text) in enumerate(zip(labels, texts, strict=True), 1)
        ]


@dataclass(frozen=True, slots=True)
class DisplayKey:
    """A key in the table, with the records that the parent needs."""

    zone_name: str
    key: KeyView

    @property
    def role(self) -> str:
        return self.key.role.upper()

    @property
    def acts(self) -> list[KeyAct]:
        """The buttons that change the key."""
        return [
            KeyAct(gettext("Deactivate"), "active", "false")
            if self.key.active
            else KeyAct(gettext("Activate"), "active", "true"),
            KeyAct(gettext("Hide"), "published", "false")
            if self.key.published
            else KeyAct(gettext("Publish"), "published", "true"),
        ]

    @property
    def form_id(self) -> UUID:
        """A single-use id for the form with the key's buttons."""
        return uuid4()

    @property
    def lines(self) -> list[Line]:
        """The key's DS records and its DNSKEY record, in zone file syntax."""
        lines = [
            Line(
                f"ds-{self.key.id}-{text.split()[2]}",
                gettext("DS ({digest_names})").format(digest_names=_DIGEST_NAMES[text.split()[2]]),
                f"{self.zone_name} IN DS {text}",
            )
            for text in self.key.ds
        ]
        return [*lines, Line(f"dnskey-{self.key.id}", "DNSKEY", f"{self.zone_name} IN DNSKEY {self.key.dnskey}")]


@dataclass(frozen=True, slots=True)
class DisplayOtherKey:
    """Another signer's key for the zone, with its records for the parent and for other signers."""

    zone_name: str
    key: OtherKey

    @property
    def lines(self) -> list[Line]:
        """The key's DS records and its DNSKEY record, in zone file syntax."""
        tag = self.key.tag
        lines = [
            Line(
                f"other-ds-{tag}-{digest}",
                gettext("DS ({digest})").format(digest=_DIGEST_NAMES[digest]),
                f"{self.zone_name} IN DS {text}",
            )
            for text in self.key.ds(self.zone_name)
            for digest in [text.split()[2]]
        ]
        return [*lines, Line(f"other-dnskey-{tag}", "DNSKEY", f"{self.zone_name} IN DNSKEY {self.key.dnskey}")]


@dataclass(frozen=True, slots=True)
class DisplayParent:
    """The state of the DS at the parent. `name` is empty if the reader can't see the parent zone in this panel."""

    word: str  # "unknown", "missing" or "present"
    name: str


@dataclass(frozen=True, slots=True)
class DisplaySigning:
    """A zone's signing state, keys and parent, for its DNSSEC page."""

    state: SigningState
    keys: list[DisplayKey]
    parent: DisplayParent

    @property
    def algorithms(self) -> str:
        return signing_algorithms(self.state)

    @property
    def denial(self) -> str:
        now, due = describe_denial(self.state.nsec3), self.state.due_nsec3
        return gettext("{now}, changing to {due}").format(now=now, due=describe_denial(due)) if due else now

    @property
    def polling(self) -> str:
        """One or two sentences on how the zone's CDS and CDNSKEY records affect a parent that checks them."""
        return describe_polling(self.state)

    @property
    def asks_to_delete(self) -> bool:
        return self.state.cds == DELETE

    @property
    def for_parent(self) -> list[DisplayKey]:
        """The published keys that can have a DS record at the parent."""
        return [key for key in self.keys if key.key.ds and key.key.published]


def display_parent(parent: ParentHere | None, *, knows_here: bool) -> DisplayParent:
    """Return the state of the DS at a parent zone in this panel. For a parent elsewhere, the state is "unknown"."""
    if parent is None:
        return DisplayParent("unknown", "")
    return DisplayParent("present" if parent.ds else "missing", parent.name if knows_here else "")


def key_lost(zone: Zone, key: KeyView, keys: Sequence[KeyView], *, act: str) -> tuple[str, ...]:
    """Describe, in sentences, the effects of taking this key out of use. `act` is "deactivate", "hide" or "delete"."""
    if act == "hide":
        effects = [
            gettext("Resolvers will no longer find key {tag} in the DNSKEY records for {name}.").format(
                tag=key.tag, name=zone.name
            )
        ]
    elif not key.active:
        effects = [gettext("{name} will no longer have key {tag}.").format(name=zone.name, tag=key.tag)]
    elif any(other.active and other.id != key.id for other in keys):
        effects = [
            gettext("Nodes will stop signing {name} with key {tag}, but other keys will still sign it.").format(
                name=zone.name, tag=key.tag
            )
        ]
    else:
        effects = [gettext("No other key signs {name}, so answers will no longer be signed.").format(name=zone.name)]
    if key.ds:
        effects.append(
            gettext(
                "If the DS at the parent only matches this key, validating resolvers will no longer be able to "
                "resolve the zone ({rrset_count:,} RRsets)."
            ).format(rrset_count=zone.rrset_count)
        )
    if act == "delete":
        effects.append(
            gettext(
                "The private key will be permanently deleted after one day. After that, it can only be restored "
                "from an exported copy."
            )
        )
    return tuple(effects)
