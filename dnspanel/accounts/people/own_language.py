"""The language of a person's pages. Verbs."""

from django.conf import settings

from dnspanel.accounts.models import User
from dnspanel.languages import LANGUAGE_CODES, UnknownLanguage


def language_of(person: User) -> str:
    """The code of the language that the person chose; empty, if none that there is. Without a query."""
    return person.language if person.language in LANGUAGE_CODES else ""


def mail_language(person: User) -> str:
    """The code of the language of what is sent to this person: the one that they chose, else the panel's."""
    return language_of(person) or settings.DEFAULT_LANGUAGE


def set_language(*, person: User, code: str) -> None:
    """Pages speak that language to this person from now on; their browser's, if it is empty. Raises UnknownLanguage."""
    if code and code not in LANGUAGE_CODES:
        raise UnknownLanguage
    User.objects.filter(pk=person.pk).update(language=code)
    person.language = code
