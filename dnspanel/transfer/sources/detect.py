"""Detect zone files and other kinds of files by path and content.

Clear content takes precedence over the path: `example.md` can be a zone of Moldova.
"""

import re
from enum import Enum

from dnspanel.transfer.archives.decompress import compression_of
from dnspanel.transfer.archives.zip_reader import is_zip

_LITTER = re.compile(
    r"(?:^|/)(?:\._[^/]*|__MACOSX/.*|\.(?:git|svn|hg|bzr|AppleDouble)/.*|\.DS_Store|Thumbs\.db|desktop\.ini|"
    r"\.[^/]+\.sw[a-p]|#[^/]*#|lost\+found/.*)$"
)
_BACKUP = re.compile(
    r"(?:~|\.(?:bak|bck|backup|orig|old|save|rpmsave|rpmnew|rej|tmp|(?:dpkg|ucf)-\w+))$", re.IGNORECASE
)
_PROSE = re.compile(r"(?:^|/)(?:readme|licen[cs]e|copying|changelog|changes|authors|install|news)(?:\.\w+)?$", re.I)
_DNSSEC_KEY = re.compile(r"(?:^|/)(?:K[^/]+\+\d{3}\+\d{5}\.(?:key|private|state)|(?:ds|key)set-[^/]+)$")
_ZONE_NAME = re.compile(r"(?:\.(?:zone|db|dns|hosts|rev|signed)|(?:^|/)(?:db|zone|pri|named)\.[^/]+)$", re.IGNORECASE)
# A line that begins like a record, or a directive that only occurs in zone files.
_RECORD = re.compile(
    rb"""^(?:\$(?:ORIGIN|TTL|INCLUDE|GENERATE)[ \t]
          |[^\s;"]*[ \t]+(?:\d[\dA-Z]*[ \t]+)?(?:(?:IN|CH|HS)[ \t]+)?(?:\d[\dA-Z]*[ \t]+)?
           (?:A[ \t]+\d+\.
             |AAAA[ \t]+[\dA-F]*:
             |(?:ALIAS|CAA|CNAME|DNAME|HTTPS|MX|NAPTR|NS|PTR|SPF|SRV|SSHFP|SVCB|TLSA|TXT)[ \t]+\S))""",
    re.MULTILINE | re.VERBOSE | re.IGNORECASE,
)
# Files with these endings are zones, except for files that computers create for themselves.
_COMMON_ENDINGS = (".zone", ".db", ".dns", ".arpa")
_SOA = re.compile(rb"(?i)soa")
_JOURNAL = b";BIND LOG V9"
# A BIND file in a binary format: format 2 or 3 (raw, map), version 0 or 1.
_RAW_ZONE = re.compile(rb"\0\0\0[\2\3]\0\0\0[\0\1]")
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


class FileKind(Enum):
    """The kind of a file, guessed from its path and content."""

    ZONE = "zone"
    NOTHING = "nothing of interest"
    EMPTY = "empty"
    BACKUP = "a backup copy"
    KEY = "a DNSSEC key"
    ARCHIVE = "an archive"
    RAW = "a zone in BIND's binary form"
    UTF16 = "text in UTF-16"
    BINARY = "binary"
    NO_RECORDS = "text without records"


def file_kind(path: str, text: bytes) -> FileKind:
    """Guess a file's kind from its path and content. Zone files with common endings are detected first."""
    if path.endswith(_COMMON_ENDINGS) and not _is_hidden(path) and b"\0" not in text and has_soa(text):
        return FileKind.ZONE
    if _LITTER.search(path):
        return FileKind.NOTHING
    if b"\0" in text or text.startswith(_UTF16):
        return _binary_kind(text)
    if has_soa(text):
        return FileKind.NOTHING if _PROSE.search(path) else FileKind.BACKUP if _BACKUP.search(path) else FileKind.ZONE
    if not text.strip():
        return FileKind.EMPTY
    if _DNSSEC_KEY.search(path):
        return FileKind.KEY
    if compression_of(text) or is_zip(text):
        return FileKind.ARCHIVE
    if text.startswith(_JOURNAL) or _PROSE.search(path):
        return FileKind.NOTHING
    if _RECORD.search(text):
        return FileKind.BACKUP if _BACKUP.search(path) else FileKind.ZONE
    return FileKind.NO_RECORDS


def _is_hidden(path: str) -> bool:
    return path.startswith((".", "__MACOSX/")) or "/." in path or "/__MACOSX/" in path or "lost+found/" in path


def is_named_like_a_zone(path: str) -> bool:
    return _ZONE_NAME.search(path) is not None


def has_soa(text: bytes) -> bool:
    """Return True if the record type SOA occurs in the text outside comments."""
    return _has_word(text, b"SOA") or (_SOA.search(text) is not None and _has_word(text.upper(), b"SOA"))


def _has_word(text: bytes, word: bytes) -> bool:
    at = text.find(word)
    while at >= 0:
        before = text[text.rfind(b"\n", 0, at) + 1 : at]
        if b";" not in before and before[-1:] in b" \t" and text[at + len(word) : at + len(word) + 1] in b" \t(\r\n;":
            return True
        at = text.find(word, at + 1)
    return False


def _binary_kind(text: bytes) -> FileKind:
    if text.startswith(_JOURNAL):
        return FileKind.NOTHING
    if compression_of(text) or is_zip(text):
        return FileKind.ARCHIVE
    if text.startswith(_UTF16):
        return FileKind.UTF16
    return FileKind.RAW if _RAW_ZONE.match(text) else FileKind.BINARY
