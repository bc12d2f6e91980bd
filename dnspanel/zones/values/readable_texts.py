r"""Convert record values for display, with UTF-8 text unescaped: `für` instead of `f\195\188r`. Pure.

Edit boxes, zone files and the APIs have the canonical text of a value, with all escapes.
"""

import re

_STRING = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\\?\Z)', re.DOTALL)
# Another escape, such as an escaped backslash; or the first byte of a non-ASCII character, and the bytes after it.
_ESCAPES = re.compile(r"\\\D|\\(?:19[2-9]|2\d\d)(?:\\(?:12[89]|1[3-8]\d|19[01]))+")


def readable_text(text: str) -> str:
    """Unescape the printable non-ASCII characters in the quoted strings of canonical rdata.

    Control characters, including those that change the direction of text, and invalid UTF-8 stay escaped.
    """
    if "\\1" not in text and "\\2" not in text:
        return text
    return _STRING.sub(lambda string: _ESCAPES.sub(_unescape, string[0]), text)


def _unescape(escapes: re.Match[str]) -> str:
    digits = escapes[0][1:].split("\\")
    if not digits[0].isdigit():
        return escapes[0]
    found = bytes(map(int, digits)).decode(errors="replace")
    return found if found.isprintable() and "\ufffd" not in found else escapes[0]
