"""All limits of an import, with the name of each limit in errors."""

from types import MappingProxyType

from dnspanel.texts import gettext, gettext_noop

# Compressed files as they are uploaded; they go to disk in chunks.
MOST_UPLOAD_BYTES = 20 << 30
CHUNK_BYTES = 8 << 20
# An archive may hold this much when unpacked, and not more than this times its own size.
MOST_UNPACKED_BYTES = 100 << 30
MOST_RATIO = 200
# Below this an archive may have any ratio: a small file of zeros is no bomb.
RATIO_FREE_BYTES = 64 << 20
MOST_ENTRIES = 2_000_000
MOST_PATH_BYTES = 1024
# One zone file, includes and all.
MOST_DOCUMENT_BYTES = 256 << 20
# One line of it, or several that a parenthesis joins; the longest record is a quarter of that, with every byte escaped.
MOST_LINE_BYTES = 1 << 20
MOST_INCLUDE_DEPTH = 10
MOST_GENERATED = 1_000_000  # records that the $GENERATE lines of one zone may make
MOST_PASTE_BYTES = 10 << 20
MOST_FAULTS = 100_000  # kept and listed per import
MOST_FAULTS_OF_ZONE = 200  # after that many errors the rest of a file is not looked at

# Sources that are read and comparisons that are made for one person at the same time: each holds a worker.
MOST_READ_AT_ONCE = 2
# A server that gives nothing usable for so long, or is not through after so long, is left; reading can go on later.
MOST_ITEM_SECONDS = 600.0
MOST_READ_SECONDS = 6 * 3600.0


def generated_title(most: int) -> str:
    """Return the text that describes the limit on records from one `$GENERATE`."""
    return gettext(_GENERATED).format(most=most)


_GENERATED = gettext_noop("$GENERATE makes at most {most:,} records of a zone")
_TITLES = MappingProxyType(
    {
        "upload": (gettext_noop("an upload has at most {most} GiB"), MOST_UPLOAD_BYTES >> 30),
        "unpacked": (gettext_noop("an archive holds at most {most} GiB unpacked"), MOST_UNPACKED_BYTES >> 30),
        "ratio": (gettext_noop("an archive unpacks to at most {most} times its size"), MOST_RATIO),
        "entries": (gettext_noop("an archive has at most {most:,} entries"), MOST_ENTRIES),
        "depth": (gettext_noop("archives inside archives are not opened"), 0),
        "path": (gettext_noop("a path has at most {most} bytes and stays inside the archive"), MOST_PATH_BYTES),
        "document": (gettext_noop("a zone file has at most {most} MiB"), MOST_DOCUMENT_BYTES >> 20),
        "line": (
            gettext_noop("a line, and what parentheses make one, has at most {most} MiB"),
            MOST_LINE_BYTES >> 20,
        ),
        "generate": (_GENERATED, MOST_GENERATED),
        "include": (gettext_noop("$INCLUDE goes at most {most} files deep"), MOST_INCLUDE_DEPTH),
    }
)


def title(limit: str) -> str:
    """Return the text that describes the limit, in the current language."""
    message, most = _TITLES[limit]
    return gettext(message).format(most=most)
