"""The language of a person's pages. Verbs."""

from django.conf import settings

from dnspanel.accounts.models import User
from dnspanel.languages import LANGUAGE_CODES, UnknownLanguage


def language_of(person: User) -> str:
    """Return the code of the language that the person chose, or "" if it isn't available. Without a query."""
    return person.language if person.language in LANGUAGE_CODES else ""


def mail_language(person: User) -> str:
    """Return the code of the language for mail to this person: the chosen one, or else the panel's."""
    return language_of(person) or settings.DEFAULT_LANGUAGE


def set_language(*, person: User, code: str) -> None:
    """Set the language of the person's pages. "" means the browser's language. Raise UnknownLanguage."""
    if code and code not in LANGUAGE_CODES:
        raise UnknownLanguage
    User.objects.filter(pk=person.pk).update(language=code)
    person.language = code
