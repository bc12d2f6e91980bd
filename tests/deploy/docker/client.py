"""The actions of people and programs on the panel in containers: sign-in by link, edits by API v2, and DNS queries.

All functions run in the engine's network, through `Engine.inside`.
"""

import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import dns.exception
import dns.message
import dns.query
import requests

from tests.deploy.docker.engine import Engine
from tests.stack import until

URL = "http://127.0.0.1:8000"
NODE_PORTS = {"ns1": 5301, "ns2": 5302, "ns3": 5303}
PERSON = {"username": "alice", "email": "alice@people.test", "password": "correct horse battery staple"}
RIGHTS = ["read", "add", "change", "create-zone"]
PAGE_SECONDS = 60
HOLD_SECONDS = 120
EDIT_SECONDS = 10.0
SECONDS_BETWEEN_EDITS = 0.2
# Each name is written twice, which tests both new and changed records.
EDITS_OF_A_NAME = 2

Fields = Mapping[str, str | list[str]]


def first_token(link: str, permissions: Sequence[str] = ()) -> str:
    """Open the first administrator's link, create the account, and create a token on the pages. Return the token."""
    with requests.Session() as browser:
        _send_form(browser, link, PERSON)
        terms: Fields = {"purpose": "edits", "rights": RIGHTS, "where": "all", "kind": "api", "expires": "7"}
        terms = {**terms, "permissions": list(permissions)}
        page = _send_form(browser, f"{URL}/tokens/new/custom/", terms)
    found = re.search(r'id="token-secret"[^>]*>([^<\s]+)', page)
    assert found, page
    return found[1]


def use_panels_content() -> None:
    """Sign in as the first administrator. When the panel has compared its content with the nodes', choose its own."""
    with requests.Session() as browser:
        _send_form(browser, f"{URL}/sign-in/", {"login": PERSON["username"], "password": PERSON["password"]})
        until(
            lambda: "/hold/decide/" in browser.get(f"{URL}/hold/", timeout=PAGE_SECONDS).text,
            seconds=HOLD_SECONDS,
            what="the hold",
        )
        page = browser.get(f"{URL}/hold/", timeout=PAGE_SECONDS)
        fields: Fields = {"choice": "keep", "typed": "keep the panel's", "csrfmiddlewaretoken": _form_token(page.text)}
        answer = browser.post(f"{URL}/hold/decide/", data=fields, headers={"Referer": page.url}, timeout=PAGE_SECONDS)
        answer.raise_for_status()


def _form_token(page: str) -> str:
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
    assert token, page
    return token[1]


def _send_form(browser: requests.Session, url: str, fields: Fields) -> str:
    """Open a page, fill in and send its form, and return the resulting page."""
    page = browser.get(url, timeout=PAGE_SECONDS)
    page.raise_for_status()
    fields = {**fields, "csrfmiddlewaretoken": _form_token(page.text)}
    answer = browser.post(page.url, data=fields, headers={"Referer": page.url}, timeout=PAGE_SECONDS)
    answer.raise_for_status()
    return answer.text


def create_zone(token: str, zone: str) -> None:
    """Create a zone through API v2, and wait until all nodes serve it."""
    content = {"name": zone, "nameservers": ["ns1.example.net.", "ns2.example.net."]}
    answer = requests.post(f"{URL}/api/v2/zones?wait=60", json=content, headers=_headers(token), timeout=90)
    assert answer.ok, answer.text
    assert answer.json()["publication"]["everywhere"], answer.text


def edit(token: str, zone: str, name: str, text: str, *, wait: int | None = None) -> requests.Response:
    """Write a TXT record through API v2. With `wait`, wait up to that many seconds for all nodes."""
    return requests.put(
        f"{URL}/api/v2/zones/{zone}/rrsets/{name}/TXT",
        params={} if wait is None else {"wait": str(wait), "wait_for": "all"},
        json={"ttl": 60, "rdata": [f'"{text}"']},
        headers=_headers(token),
        timeout=(2, EDIT_SECONDS + (wait or 0)),
    )


def ask(node: str, name: str, rdtype: str = "TXT") -> tuple[str, ...] | None:
    """Return a node's answer as texts, or None if the node does not answer."""
    question = dns.message.make_query(name, rdtype)
    try:
        reply = dns.query.udp(question, "127.0.0.1", port=NODE_PORTS[node], timeout=2)
    except (dns.exception.Timeout, OSError):
        return None
    return tuple(str(rdata).strip('"') for rrset in reply.answer for rdata in rrset)


@dataclass
class Edits:
    """Continuous edits, and the record of acknowledged ones.

    An edit without acknowledgment may happen or not, even later, because a request that timed out may wait in the
    panel.
    """

    engine: Engine
    token: str
    zone: str
    acknowledged: int = 0
    failed: int = 0
    # The possible current values of each name. The first is the last acknowledged one, or None.
    possible: dict[str, list[str | None]] = field(default_factory=dict)

    @contextmanager
    def arriving(self) -> Iterator[None]:
        """Send edits one after another inside the block."""
        ends = threading.Event()
        thread = threading.Thread(target=self._send, args=(ends,))
        thread.start()
        try:
            yield
        finally:
            ends.set()
            thread.join()

    def _send(self, ends: threading.Event) -> None:
        while not ends.wait(SECONDS_BETWEEN_EDITS):
            self.send_one()

    def send_one(self) -> bool:
        """Send the next edit. Return True if it was acknowledged."""
        number = self.acknowledged + self.failed
        name, text = f"e{number // EDITS_OF_A_NAME}.{self.zone}", f"edit {number}"
        possible = self.possible.setdefault(name, [None])
        try:
            done = self.engine.inside(edit, self.token, self.zone, name, text).ok
        except OSError:
            done = False
        if done:
            self.possible[name] = [text]
            self.acknowledged += 1
        else:
            possible.append(text)
            self.failed += 1
        return done

    def lost(self) -> list[str]:
        """Describe each node's answers that are neither the last acknowledged edit of a name nor a later one."""
        return self.engine.inside(self._lost)

    def _lost(self) -> list[str]:
        found = []
        for name, possible in self.possible.items():
            for node in NODE_PORTS:
                answer = ask(node, name)
                if answer is None or len(answer) > 1 or (answer[0] if answer else None) not in possible:
                    found.append(f"{node} answers {answer} for {name}, not {possible}")
        return found


def _headers(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}
