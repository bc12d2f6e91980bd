"""Check that the proxy in front of the web processes answers. The proxy can't write heartbeats itself."""

import http.client
import ssl
from urllib.parse import urlsplit

from dnspanel import watchdog
from dnspanel.fleet.processes.alive import Alive
from dnspanel.fleet.processes.process_roles import PROXY

ANSWER_SECONDS = 3.0
_PATH = "/livez"


class ProxyProbe:
    """A check of the proxy at `url`. It writes the proxy's heartbeats as long as the proxy answers."""

    def __init__(self, url: str) -> None:
        self._url = urlsplit(url)
        self.life = Alive(PROXY, answers=self.answers, host=self._url.netloc, pid=0)

    def answers(self) -> bool:
        """Return True if the proxy answers with any status, even an error page.

        For a proxy on this machine, also check its watchdog, because the proxy's child processes still answer after its
        main process was stopped.
        """
        if watchdog.signs_of(PROXY) and not watchdog.is_alive(PROXY):
            return False
        connection = self._connection()
        try:
            connection.request("HEAD", _PATH)
            connection.getresponse().read()
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()
        return True

    def _connection(self) -> http.client.HTTPConnection:
        if self._url.scheme != "https":
            return http.client.HTTPConnection(self._url.netloc, timeout=ANSWER_SECONDS)
        # Nothing secret is sent, and a proxy with an expired certificate still answers.
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return http.client.HTTPSConnection(self._url.netloc, timeout=ANSWER_SECONDS, context=context)
