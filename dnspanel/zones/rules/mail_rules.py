"""Check SPF, DMARC and DKIM in TXT RRsets for errors that make mail receivers ignore or misread them."""

import base64
import binascii
from collections.abc import Iterator

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import load_der_public_key

from dnspanel.small_cache import small_cache
from dnspanel.texts import gettext
from replication.dns import rdata
from replication.dns.rrset import RRset

MAX_SPF_LOOKUPS = 10  # RFC 7208 4.6.4
_LOOKS_UP = frozenset(("include", "a", "mx", "ptr", "exists"))
LEAST_DKIM_BITS = 1024  # RFC 8301 3.2, which recommends 2048
GOOD_DKIM_BITS = 2048
_ED25519_BYTES = 32  # RFC 8463 4
Finding = tuple[str, str, str]  # severity, code, message


def check_txt(rrset: RRset) -> Iterator[Finding]:
    """Yield findings about errors in the RRset's SPF, DMARC and DKIM records."""
    texts = [text_of(rrset.type, record) for record in rrset.served]
    spf = [text for text in texts if text.lower() == "v=spf1" or text.lower().startswith("v=spf1 ")]
    if len(spf) > 1:
        yield (
            "warning",
            "spf-duplicate",
            gettext("{name} has {spf} SPF records, so receivers ignore all SPF records").format(
                name=rrset.name, spf=len(spf)
            ),
        )
    for text in spf:
        lookups = spf_lookups(text)
        if lookups > MAX_SPF_LOOKUPS:
            message = gettext(
                "the SPF record for {name} needs {lookups} DNS lookups, but only {max_spf_lookups} are allowed"
            ).format(name=rrset.name, lookups=lookups, max_spf_lookups=MAX_SPF_LOOKUPS)
            yield "warning", "spf-lookups", message
    if rrset.name.startswith("_dmarc."):
        yield from _dmarc(rrset.name, texts)
    if is_of_dkim_key(rrset.name):
        yield from _dkim(rrset.name, texts)


def is_of_dkim_key(name: str) -> bool:
    """Return True if receivers look up DKIM keys at this name.

    Return False for names of author signing practices (RFC 5617 3.1) and of reports (RFC 6651 3.2), which look similar.
    """
    return "._domainkey." in name and not name.startswith(("_adsp.", "_report."))


def text_of(type: int, record: str) -> str:
    """Return the text of a TXT record: its character strings, joined as receivers do."""
    wire = rdata.to_wire(type, record)
    parts, at = [], 0
    while at < len(wire):
        parts.append(wire[at + 1 : at + 1 + wire[at]])
        at += 1 + wire[at]
    return b"".join(parts).decode("latin-1")


def spf_lookups(text: str) -> int:
    """Count the DNS lookups that an SPF record itself needs, without those of included records."""
    count = 0
    for term in text.lower().split()[1:]:
        mechanism = term.lstrip("+-~?").replace("/", ":").split(":")[0]
        count += mechanism in _LOOKS_UP or term.startswith("redirect=")
    return count


def _dkim(name: str, texts: list[str]) -> Iterator[Finding]:
    if len(texts) > 1:
        yield (
            "warning",
            "dkim-duplicate",
            gettext("{name} has {texts} TXT records, so the DKIM key is ambiguous (RFC 6376 3.6.2.2)").format(
                name=name, texts=len(texts)
            ),
        )
    for text in texts:
        if found := _fault_of_dkim(text):
            severity, code, message = found
            yield severity, code, gettext("DKIM record {name}: {message}").format(name=name, message=message)


@small_cache(entries=1024, longest=1024)
def _fault_of_dkim(text: str) -> Finding | None:
    """Return a finding about the text of a DKIM key record (RFC 6376 3.6.1), or None if the record is fine."""
    tags = {part.split("=")[0].strip(): "".join(part.partition("=")[2].split()) for part in text.split(";")}
    if tags.get("v", "DKIM1") != "DKIM1" or "p" not in tags:
        return ("warning", "dkim-malformed", gettext("the record must start with v=DKIM1 and contain the key after p="))
    if not tags["p"]:
        return "note", "dkim-revoked", gettext("the key is empty, so mail signed with this selector is no longer valid")
    try:
        key = base64.b64decode(tags["p"], validate=True)
        if tags.get("k", "rsa") == "ed25519":
            return (
                None
                if len(key) == _ED25519_BYTES
                else ("warning", "dkim-key", gettext("the Ed25519 key has the wrong size"))
            )
        public = load_der_public_key(key)
    except (binascii.Error, ValueError, UnsupportedAlgorithm):
        return "warning", "dkim-key", gettext("the key cannot be read and might be incomplete")
    if not isinstance(public, RSAPublicKey):
        return "warning", "dkim-key", gettext("the key doesn’t match the algorithm in the record")
    if public.key_size < LEAST_DKIM_BITS:
        return (
            "warning",
            "dkim-weak",
            gettext("the key has {key_size} bits, which receivers reject (RFC 8301)").format(key_size=public.key_size),
        )
    if public.key_size < GOOD_DKIM_BITS:
        return (
            "note",
            "dkim-short",
            gettext("the key has {key_size} bits, but RFC 8301 recommends {good_dkim_bits} bits").format(
                key_size=public.key_size, good_dkim_bits=GOOD_DKIM_BITS
            ),
        )
    return None


def _dmarc(name: str, texts: list[str]) -> Iterator[Finding]:
    policies = [text for text in texts if text.replace(" ", "").lower().startswith("v=dmarc1")]
    if len(policies) > 1:
        yield (
            "warning",
            "dmarc-duplicate",
            gettext("{name} has {policies} DMARC records, so receivers ignore all DMARC records").format(
                name=name, policies=len(policies)
            ),
        )
    for text in policies:
        tags = {part.split("=")[0].strip().lower(): part.partition("=")[2].strip() for part in text.split(";")}
        if tags.get("p", "").lower() not in {"none", "quarantine", "reject"}:
            yield (
                "warning",
                "dmarc-policy",
                gettext("the DMARC record {name} must have p=none, p=quarantine or p=reject").format(name=name),
            )
        if not tags.get("rua"):
            yield (
                "note",
                "dmarc-rua",
                gettext("the DMARC record {name} doesn’t request reports, because rua= is missing").format(name=name),
            )
