"""The languages of pages. Pure.

English is the language of the source. Each other one has a catalog in `locale/`, which a test holds complete.
"""

# By the code of the catalog, as BCP 47 writes it. Each has its own name for itself, which its speakers can read.
LANGUAGES = (("en", "English"), ("de", "Deutsch"), ("fr", "Français"), ("es", "Español"), ("ja", "日本語"))
LANGUAGE_CODES = frozenset(code for code, _ in LANGUAGES)


class UnknownLanguage(Exception):
    """Pages are not written in this language."""
