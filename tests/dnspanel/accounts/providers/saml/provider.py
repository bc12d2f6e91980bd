"""A real SAML provider on loopback (crewjam/saml, from the Go module proxy) with people."""

import base64
import html
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pytest
import requests
from django.test import Client

from dnspanel.accounts.models import SignInProvider
from dnspanel.accounts.providers.saml.saml_providers import SamlTerms, create_provider
from tests.clients.packages import NotInstalled, go_programs
from tests.dnspanel.transfer.running import listening, running
from tests.people import NOW
from tests.ports import free_port

_SECONDS = 10
_ANSWER = re.compile(r'name="SAMLResponse" value="([^"]*)"')


@dataclass(frozen=True)
class Member:
    """A person at the provider."""

    Subject: str
    Email: str
    Groups: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class AtSaml:
    """A running provider. `users` sets its people."""

    root: str
    directory: Path

    def users(self, **people: Member) -> None:
        """Replace all people of the provider. Keywords are names."""
        content = json.dumps({name: asdict(person) for name, person in people.items()})
        (self.directory / "users.json").write_text(content)

    def knows(self, slug: str) -> None:
        """Register the panel at the provider with the panel's metadata."""
        answer = Client().get(f"/sign-in/by/{slug}/metadata/")
        assert answer.status_code == 200
        (self.directory / "services" / f"{slug}.xml").write_bytes(answer.content)

    @property
    def metadata(self) -> str:
        return requests.get(f"{self.root}/metadata", timeout=_SECONDS).text

    def sign_in(self, url: str, name: str, flaw: str = "") -> str:
        """Sign this person in at the provider. Return the base64 response, with the flaw if one is given."""
        cookies = {"user": name} | ({"flaw": flaw} if flaw else {})
        page = requests.get(url, cookies=cookies, timeout=_SECONDS)
        assert page.status_code == 200, page.text
        found = _ANSWER.search(page.text)
        assert found is not None, page.text
        return html.unescape(found[1])


@contextmanager
def saml_running(directory: Path) -> Iterator[AtSaml]:
    """Run a provider without people and services."""
    try:
        program = go_programs("saml-provider") / "saml-provider"
    except NotInstalled as exc:
        pytest.skip(str(exc))
    (directory / "services").mkdir(parents=True)
    port = free_port()
    idp = AtSaml(f"http://127.0.0.1:{port}", directory)
    idp.users()
    command = [program, f"127.0.0.1:{port}", directory / "users.json", directory / "services"]
    with running(command, directory / "provider.log", listening(port)):
        yield idp


def saml_added(idp: AtSaml, slug: str = "work", **terms: Any) -> SignInProvider:
    """Add the provider to the panel, and the panel to the provider."""
    given: dict[str, Any] = {"name": slug.title(), "slug": slug, "metadata_url": f"{idp.root}/metadata"}
    given |= {"attributes": {"mail": "mail", "username": "uid"}, "trusts_mail": True}
    provider = create_provider(terms=SamlTerms(**(given | terms)), by=None, now=NOW)
    idp.knows(slug)
    return provider


def begun_saml(client: Client, slug: str = "work", **form: str) -> str:
    """Press the button of the sign-in page. Return the URL at the provider."""
    page = client.post(f"/sign-in/by/{slug}/", form)
    assert page.status_code == 200, (page.status_code, page.content)
    return str(page.context["url"])


def posted(encoded: str, slug: str = "work") -> Any:
    """Post the response to the panel without the session's cookie. Return the panel's answer."""
    return Client().post(f"/sign-in/by/{slug}/acs/", {"SAMLResponse": encoded})


def ends(client: Client, encoded: str, slug: str = "work") -> Any:
    """Post the response and follow the redirect in the browser. Return the panel's last answer."""
    answer = posted(encoded, slug)
    return answer if answer.status_code != 302 else client.get(answer["Location"])


def comes_by_saml(client: Client, idp: AtSaml, name: str, flaw: str = "", **form: str) -> Any:
    """Press the button, sign in at the provider, and return the panel's answer."""
    return ends(client, idp.sign_in(begun_saml(client, **form), name, flaw))


def xml_of(encoded: str) -> str:
    return base64.b64decode(encoded).decode()


def encoded_of(xml: str) -> str:
    return base64.b64encode(xml.encode()).decode()
