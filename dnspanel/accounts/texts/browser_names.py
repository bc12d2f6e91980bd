"""Convert a User-Agent header to a readable browser name. Pure."""

from dnspanel.texts import gettext

# The first match in this order counts, because browsers also include other browsers' names for compatibility.
_BROWSERS = (
    *(("Edg", "Edge"), ("OPR/", "Opera"), ("SamsungBrowser", "Samsung Internet"), ("Vivaldi", "Vivaldi")),
    *(("FxiOS", "Firefox"), ("Firefox/", "Firefox"), ("CriOS", "Chrome"), ("Chrome/", "Chrome")),
    *(("Safari/", "Safari"), ("curl/", "curl"), ("python-requests", "Python")),
)
_SYSTEMS = (
    *(("iPhone", "iPhone"), ("iPad", "iPad"), ("Android", "Android"), ("CrOS", "ChromeOS")),
    *(("Windows", "Windows"), ("Mac OS X", "macOS"), ("Macintosh", "macOS"), ("Linux", "Linux")),
)
_LONGEST = 60


def browser_name(user_agent: str) -> str:
    """Return a name such as `Firefox on Linux` or `curl`, or the header's beginning if the browser is unknown."""
    browser = next((name for mark, name in _BROWSERS if mark in user_agent), "")
    system = next((name for mark, name in _SYSTEMS if mark in user_agent), "")
    if browser and system:
        return gettext("{browser} on {system}").format(browser=browser, system=system)
    return browser or user_agent[:_LONGEST].strip() or gettext("unknown browser")
