"""A real OpenID Connect provider on loopback (zitadel/oidc, from the Go module proxy) with people."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import requests
from django.test import Client

from dnspanel.accounts.models import SignInProvider
from dnspanel.accounts.providers.oidc.oidc_providers import ProviderTerms, create_provider
from tests.clients.packages import NotInstalled, go_programs
from tests.dnspanel.transfer.running import listening, running
from tests.people import NOW
from tests.ports import free_port

SECRET = "secret"
_SECONDS = 10


@dataclass(frozen=True)
class Somebody:
    """A person at the provider."""

    Name: str
    Email: str
    EmailVerified: bool = True
    Groups: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class AtProvider:
    """A running provider. `users` sets its people."""

    issuer: str
    file: Path

    def users(self, **people: Somebody) -> None:
        """Replace all people of the provider. Keywords are subjects."""
        self.file.write_text(json.dumps({subject: asdict(person) for subject, person in people.items()}))

    def sign_in(self, url: str, name: str) -> str:
        """Sign this person in at the provider. Return the URL that leads back to the panel."""
        with requests.Session() as browser:
            form = browser.get(url, timeout=_SECONDS)
            sent = {"id": parse_qs(urlsplit(form.url).query)["authRequestID"][0], "username": name, "password": SECRET}
            done = browser.post(f"{self.issuer}/login/username", sent, allow_redirects=False, timeout=_SECONDS)
            assert done.status_code == 302, done.text
            back = browser.get(
                f"{self.issuer}{done.headers['Location'].removeprefix(self.issuer)}",
                allow_redirects=False,
                timeout=_SECONDS,
            )
            return back.headers["Location"]


@contextmanager
def provider_running(directory: Path, *redirect_uris: str) -> Iterator[AtProvider]:
    """Run a provider without people."""
    try:
        program = go_programs("oidc-provider") / "oidc-provider"
    except NotInstalled as exc:
        pytest.skip(str(exc))
    directory.mkdir(parents=True, exist_ok=True)
    port, users = free_port(), directory / "users.json"
    idp = AtProvider(f"http://127.0.0.1:{port}", users)
    idp.users()
    command = [program, f"127.0.0.1:{port}", users, *redirect_uris]
    with running(command, directory / "provider.log", listening(port)):
        yield idp


def added(idp: AtProvider, slug: str = "one", **terms: Any) -> SignInProvider:
    """Add the provider to the panel."""
    given = ProviderTerms(name=slug.title(), slug=slug, issuer=idp.issuer, client_id="client", **terms)
    return create_provider(terms=given, secret=SECRET, by=None, now=NOW)


def begun(client: Client, slug: str = "one", **form: str) -> str:
    """Press the button of the sign-in page. Return the URL at the provider."""
    page = client.post(f"/sign-in/by/{slug}/", form)
    assert page.status_code == 200, (page.status_code, page.headers, page.content)
    return str(page.context["url"])


def comes(client: Client, idp: AtProvider, name: str, slug: str = "one", **form: str) -> Any:
    """Press the button, sign in at the provider, and return the panel's answer."""
    return back(client, idp.sign_in(begun(client, slug, **form), name))


def back(client: Client, url: str) -> Any:
    """Open the URL that leads back from the provider. Return the panel's answer."""
    parts = urlsplit(url)
    return client.get(f"{parts.path}?{parts.query}")


def is_signed_in(client: Client) -> bool:
    return client.get("/zones/").status_code == 200
