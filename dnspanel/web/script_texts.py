"""Translations for scripts. The page contains them, and `static/js/texts.js` looks them up by the English text."""

from django.utils import translation

from dnspanel.texts import gettext, gettext_noop

# All texts passed to `translated` in static/js. A test compares the two.
SCRIPT_TEXTS = (
    gettext_noop("All are selected"),
    gettext_noop("Cache hits"),
    gettext_noop("Choose at least one file."),
    gettext_noop("Code of your second factor"),
    gettext_noop("Copied."),
    gettext_noop("Last update {time}. Trying again; nothing you typed is lost."),
    gettext_noop("Latency"),
    gettext_noop("No numbers yet"),
    gettext_noop("No passkey was used, or it took too long. Try again."),
    gettext_noop("Not added:"),
    gettext_noop("Not connected. Try again."),
    gettext_noop("Not connected; trying again."),
    gettext_noop("Nothing was changed."),
    gettext_noop("Passkeys work at the panel’s own address alone."),
    gettext_noop("Password"),
    gettext_noop("Queries"),
    gettext_noop("Stopped. What was sent is kept: go on whenever you like."),
    gettext_noop("That took too long. Type your password again."),
    gettext_noop("The browser could not use a passkey."),
    gettext_noop("The browser did not allow copying; the text is selected."),
    gettext_noop("The server answered {status}."),
    gettext_noop("The server answered {status}. Nothing was changed; try again."),
    gettext_noop("The server answered {status}. Try again."),
    gettext_noop("This passkey is added already."),
    gettext_noop("You may not do that."),
    gettext_noop("Your session has ended. Sign in in another tab, then go on."),
    gettext_noop("no number"),
    gettext_noop("other"),
    gettext_noop("{count} files"),
    gettext_noop("{count} selected"),
    gettext_noop("{done} of {total}, {speed}/s"),
    gettext_noop("{done} of {total}, {speed}/s, {left} s left"),
    gettext_noop("{name} is not the file that was sent before: that one was longer."),
    gettext_noop("{now} is signed in by now, in another tab. Sign in as {user}, or reload the page."),
    gettext_noop("{size} to send"),
)


def script_texts() -> dict[str, str]:
    """Return the translation of each English text into the page's language, or an empty dict for English."""
    if translation.get_language() == "en":
        return {}
    return {text: gettext(text) for text in SCRIPT_TEXTS}
