"""Read and set the language of a user's pages and mail. Verbs."""

from django.conf import settings

from dnspanel.accounts.models import User
from dnspanel.languages import LANGUAGE_CODES, UnknownLanguage


def language_of(person: User) -> str:
    """Return the user's language code, or "" if none was chosen or the language isn't available. Needs no query."""
    return person.language if person.language in LANGUAGE_CODES else ""


def mail_language(person: User) -> str:
    """Return the language code for mail to this user: the user's language, or else the panel's."""
    return language_of(person) or settings.DEFAULT_LANGUAGE


def set_language(*, person: User, code: str) -> None:
    """Set the language of the user's pages ("" for the browser's). Raise UnknownLanguage for an unknown code."""
    if code and code not in LANGUAGE_CODES:
        raise UnknownLanguage
    User.objects.filter(pk=person.pk).update(language=code)
    person.language = code
