"""Valid and faulty zone files of zonefiles.txt by title."""

import re
from pathlib import Path

ZONE = "example.test."
HEAD = """$ORIGIN example.test.
$TTL 3600
@ SOA ns1.other.test. hostmaster.other.test. 1 10800 3600 604800 3600
@ NS ns1.other.test.
"""
BYTES = {
    "tab": b"\t",
    "cr": b"\r",
    "ff": b"\f",
    "nul": b"\0",
    "bom": b"\xef\xbb\xbf",
    "latin1": b"\xfc",
    "utf8": b"\xc3\xbc",
}


def corpus() -> dict[str, bytes]:
    """Return all cases of zonefiles.txt by title."""
    found: dict[str, bytes] = {}
    text = Path(__file__).with_name("zonefiles.txt").read_text()
    for case in re.split(r"^=== ", text, flags=re.MULTILINE)[1:]:
        title, _, body = case.partition("\n")
        short_title = title.removeprefix("whole: ")
        raw = (body if short_title != title else HEAD + body).encode()
        assert short_title not in found, f"two cases are called “{short_title}”"
        for word, replacement in BYTES.items():
            raw = raw.replace(f"«{word}»".encode(), replacement)
        found[short_title] = raw
    return found
