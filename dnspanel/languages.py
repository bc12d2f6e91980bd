"""The languages of the web pages. Pure.

English is the source language. Each other language has a catalog in `locale/`. A test checks that each catalog is
complete.
"""

# The codes of the catalogs (BCP 47). Each language is named in itself, so that its speakers can read it.
LANGUAGES = (("en", "English"), ("de", "Deutsch"), ("fr", "Français"), ("es", "Español"), ("ja", "日本語"))
LANGUAGE_CODES = frozenset(code for code, _ in LANGUAGES)


class UnknownLanguage(Exception):
    """The panel isn't available in this language."""
