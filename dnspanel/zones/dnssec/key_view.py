"""A zone's DNSSEC key, as pages and APIs show it. Pure."""

from dataclasses import dataclass, field
from datetime import datetime

from dnspanel.zones.dnssec import key_material
from dnspanel.zones.dnssec.signing_state import KeyRole


@dataclass(frozen=True, slots=True)
class KeyView:
    """A zone's key for display, without its private part."""

    zone_name: str
    id: int
    role: KeyRole
    algorithm: int
    bits: int
    flags: int
    tag: int
    active: bool
    published: bool
    dnskey: str
    ds: tuple[str, ...]  # of a key that the parent's DS can name; SHA-256 first
    created_at: datetime
    created_by: str  # username, or ""
    public: bytes = field(repr=False)

    def ds_of(self, digest_type: int) -> str:
        """Return this key's DS with the given digest type, one of EVERY_DIGEST."""
        return key_material.ds_text(self.zone_name, self.flags, self.algorithm, self.public, digest_type)

    @property
    def mnemonic(self) -> str:
        return key_material.ALGORITHMS[self.algorithm]
