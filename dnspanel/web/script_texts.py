"""Translations for scripts, as a part of the page. `static/js/texts.js` looks them up by the English text."""

from django.utils import translation

from dnspanel.texts import gettext, gettext_noop

# All texts passed to `translated` in static/js. A test compares the two.
SCRIPT_TEXTS = (
    gettext_noop("All selected"),
    gettext_noop("Cache hits"),
    gettext_noop("Choose at least one file."),
    gettext_noop("Two-factor code"),
    gettext_noop("Copied."),
    gettext_noop("Last update: {time}. Reconnecting. Your input won’t be lost."),
    gettext_noop("Latency"),
    gettext_noop("No numbers yet"),
    gettext_noop("No passkey was used in time. Try again."),
    gettext_noop("Not added:"),
    gettext_noop("Connection failed. Try again."),
    gettext_noop("Connection lost. Retrying."),
    gettext_noop("Nothing was changed."),
    gettext_noop("Passkeys work only at the panel’s own address."),
    gettext_noop("Password"),
    gettext_noop("Queries"),
    gettext_noop("Upload paused. You can resume it at any time."),
    gettext_noop("The sign-in took too long. Enter your password again."),
    gettext_noop("This browser doesn’t support passkeys."),
    gettext_noop("The browser didn’t allow copying. Copy the selected text manually."),
    gettext_noop("Request ID"),
    gettext_noop("Request failed (HTTP {status})."),
    gettext_noop("Request failed (HTTP {status}). Nothing was changed. Try again."),
    gettext_noop("Request failed (HTTP {status}). Try again."),
    gettext_noop("This passkey is already registered."),
    gettext_noop("You don’t have permission."),
    gettext_noop("Your session has expired. Use another tab to sign in, then continue here."),
    gettext_noop("no data"),
    gettext_noop("other"),
    gettext_noop("{count} files"),
    gettext_noop("{count} selected"),
    gettext_noop("{done} of {total}, {speed}/s"),
    gettext_noop("{done} of {total}, {speed}/s, {left} s left"),
    gettext_noop("{name} is smaller than the file uploaded earlier. Choose the original file."),
    gettext_noop("{now} signed in using another tab. Sign in as {user}, or reload the page."),
    gettext_noop("{size} to upload"),
)


def script_texts() -> dict[str, str]:
    """Return the translations into the page's language, keyed by the English text. Empty for English."""
    if translation.get_language() == "en":
        return {}
    return {text: gettext(text) for text in SCRIPT_TEXTS}
