"""Detect zone-file syntax that is meaningless in the content of one record: comments, parentheses, line ends."""

import re

# The first two alternatives skip quoted strings and escaped characters.
_MAYBE = re.compile(r"[;()\r\n]")
_SYNTAX = re.compile(r'"(?:[^"\\]|\\.)*"|\\.|([;()\r\n])', re.DOTALL)

REFUSAL = "; ( ) and line ends mean something in a zone file: put text into double quotes, or write \\; \\( and \\)"


def has_zone_file_syntax(content: str) -> bool:
    """Return True if a zone-file parser would drop part of the content or join separate parts."""
    return _MAYBE.search(content) is not None and any(found[1] for found in _SYNTAX.finditer(content))
