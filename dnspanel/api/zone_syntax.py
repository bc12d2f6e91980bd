"""What means something in a zone file and nothing in one record's content: comments, brackets, ends of lines."""

import re

# Strings in quotes and escaped characters are passed over.
_MAYBE = re.compile(r"[;()\r\n]")
_SYNTAX = re.compile(r'"(?:[^"\\]|\\.)*"|\\.|([;()\r\n])', re.DOTALL)

REFUSAL = "; ( ) and line ends mean something in a zone file: put text into double quotes, or write \\; \\( and \\)"


def has_zone_file_syntax(content: str) -> bool:
    """Return True if reading this content as a line of a zone file would lose a part of it, or join what is apart."""
    return _MAYBE.search(content) is not None and any(found[1] for found in _SYNTAX.finditer(content))
