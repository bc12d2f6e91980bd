"""Limits on imports, and the messages that describe them."""

from types import MappingProxyType

from dnspanel.texts import gettext, gettext_noop

# The size of the files as uploaded. They are written to disk in chunks.
MOST_UPLOAD_BYTES = 20 << 30
CHUNK_BYTES = 8 << 20
# The unpacked size of an archive is limited to this, and to this many times the packed size.
MOST_UNPACKED_BYTES = 100 << 30
MOST_RATIO = 200
# Below this size, any ratio is allowed: a small file of zeros is harmless.
RATIO_FREE_BYTES = 64 << 20
MOST_ENTRIES = 2_000_000
MOST_PATH_BYTES = 1024
# One zone file with its included files.
MOST_DOCUMENT_BYTES = 256 << 20
# One line, or several lines inside parentheses. The longest record, with every byte escaped, has a quarter of this.
MOST_LINE_BYTES = 1 << 20
MOST_INCLUDE_DEPTH = 10
MOST_GENERATED = 1_000_000  # records per zone that `$GENERATE` lines make
MOST_PASTE_BYTES = 10 << 20
MOST_FAULTS = 100_000  # stored and listed per import
MOST_FAULTS_OF_ZONE = 200  # after this many errors, the rest of a file is not read

# Sources and comparisons that are read for one person at the same time. Each of them keeps a worker busy.
MOST_READ_AT_ONCE = 2
# A server is cut off if it sends no usable data for the first time, or is not done after the second.
MOST_ITEM_SECONDS = 600.0
MOST_READ_SECONDS = 6 * 3600.0


def generated_title(most: int) -> str:
    """Return the message that describes the limit on records that `$GENERATE` creates in a zone."""
    return gettext(_GENERATED).format(most=most)


_GENERATED = gettext_noop("$GENERATE can create at most {most:,} records per zone")
_TITLES = MappingProxyType(
    {
        "upload": (gettext_noop("at most {most} GiB per upload"), MOST_UPLOAD_BYTES >> 30),
        "unpacked": (gettext_noop("at most {most} GiB unpacked per archive"), MOST_UNPACKED_BYTES >> 30),
        "ratio": (gettext_noop("an archive can unpack to at most {most} times its size"), MOST_RATIO),
        "entries": (gettext_noop("at most {most:,} entries per archive"), MOST_ENTRIES),
        "depth": (gettext_noop("nested archives are not opened"), 0),
        "path": (gettext_noop("paths must stay inside the archive and not exceed {most} bytes"), MOST_PATH_BYTES),
        "document": (gettext_noop("at most {most} MiB per zone file"), MOST_DOCUMENT_BYTES >> 20),
        "line": (
            gettext_noop("at most {most} MiB per line, including lines joined by parentheses"),
            MOST_LINE_BYTES >> 20,
        ),
        "generate": (_GENERATED, MOST_GENERATED),
        "include": (gettext_noop("at most {most} levels of nested $INCLUDE files"), MOST_INCLUDE_DEPTH),
    }
)


def title(limit: str) -> str:
    """Return the message that describes the limit, in the current language."""
    message, most = _TITLES[limit]
    return gettext(message).format(most=most)
