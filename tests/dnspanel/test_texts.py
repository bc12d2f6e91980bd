"""Texts speak the language that is wanted when they are made, or when they are shown."""

from django.utils import translation

from dnspanel.texts import gettext, gettext_lazy, gettext_noop, ngettext


def test_a_text_speaks_the_language_of_the_moment() -> None:
    later = gettext_lazy("Zones")
    with translation.override("fr"):
        assert (gettext("Close"), str(later)) == ("Fermer", "Zones")
        assert ngettext("{number} day", "{number} days", 0).format(number=0) == "0 jour"
    with translation.override("ja"):
        assert (gettext("Close"), str(later)) == ("閉じる", "ゾーン")
        assert ngettext("{number} day", "{number} days", 1).format(number=1) == "1 日"
    assert (gettext("Close"), str(later)) == ("Close", "Zones")


def test_what_is_only_collected_stays_english() -> None:
    with translation.override("de"):
        assert gettext_noop("Close") == "Close"
