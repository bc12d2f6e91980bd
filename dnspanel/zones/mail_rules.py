"""SPF and DMARC: what a TXT RRset says about mail, and where receivers will not follow it."""

from collections.abc import Iterator

from replication.dns import rdata
from replication.dns.rrset import RRset

MAX_SPF_LOOKUPS = 10  # RFC 7208 4.6.4
_LOOKS_UP = frozenset(("include", "a", "mx", "ptr", "exists"))
Finding = tuple[str, str, str]  # severity, code, message


def check_txt(rrset: RRset) -> Iterator[Finding]:
    """What receivers of mail will refuse in this TXT RRset."""
    texts = [text_of(rrset.type, record) for record in rrset.served]
    spf = [text for text in texts if text.lower() == "v=spf1" or text.lower().startswith("v=spf1 ")]
    if len(spf) > 1:
        yield "warning", "spf-duplicate", f"{rrset.name} has {len(spf)} SPF records; receivers then use none of them"
    for text in spf:
        lookups = spf_lookups(text)
        if lookups > MAX_SPF_LOOKUPS:
            message = f"the SPF record of {rrset.name} needs {lookups} DNS look-ups; above {MAX_SPF_LOOKUPS} it fails"
            yield "warning", "spf-lookups", message
    if rrset.name.startswith("_dmarc."):
        yield from _dmarc(rrset.name, texts)


def text_of(type: int, record: str) -> str:
    """The character strings of one record joined, as receivers read them."""
    wire = rdata.to_wire(type, record)
    parts, at = [], 0
    while at < len(wire):
        parts.append(wire[at + 1 : at + 1 + wire[at]])
        at += 1 + wire[at]
    return b"".join(parts).decode("latin-1")


def spf_lookups(text: str) -> int:
    """DNS look-ups that this SPF record itself asks for; what an include asks for comes on top."""
    count = 0
    for term in text.lower().split()[1:]:
        mechanism = term.lstrip("+-~?").replace("/", ":").split(":")[0]
        count += mechanism in _LOOKS_UP or term.startswith("redirect=")
    return count


def _dmarc(name: str, texts: list[str]) -> Iterator[Finding]:
    policies = [text for text in texts if text.replace(" ", "").lower().startswith("v=dmarc1")]
    if len(policies) > 1:
        yield "warning", "dmarc-duplicate", f"{name} has {len(policies)} DMARC records; receivers then use none of them"
    for text in policies:
        tags = {part.split("=")[0].strip().lower(): part.partition("=")[2].strip() for part in text.split(";")}
        if tags.get("p", "").lower() not in {"none", "quarantine", "reject"}:
            yield "warning", "dmarc-policy", f"the DMARC record {name} needs p=none, p=quarantine or p=reject"
        if not tags.get("rua"):
            yield "note", "dmarc-rua", f"the DMARC record {name} asks nobody to report: it has no rua="
