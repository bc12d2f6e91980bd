"""A real LDAP server on loopback (Debian's slapd) with people."""

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ldap
import pytest
from django.test import Client
from ldap import modlist
from ldap.dn import escape_dn_chars

from dnspanel.accounts.models import SignInProvider
from dnspanel.accounts.providers.ldap.ldap_servers import LdapTerms, create_provider
from dnspanel.accounts.providers.ldap.ldap_terms import DEFAULTS
from tests.dnspanel.transfer.running import listening, running
from tests.own_certificates import own_certificate
from tests.people import NOW
from tests.ports import free_port

SUFFIX = "dc=work,dc=test"
PEOPLE, GROUPS = f"ou=people,{SUFFIX}", f"ou=groups,{SUFFIX}"
READER = f"cn=panel,{SUFFIX}"
ROOT = f"cn=root,{SUFFIX}"
SECRET = "nobody reads this aloud"
PASSWORD = "mellon, mellon, mellon"
# Active Directory's attributes of a person, as an auxiliary class. The syntaxes are those of [MS-ADA].
_SCHEMA = """
attributetype ( 1.2.840.113556.1.4.2 NAME 'objectGUID' SYNTAX 1.3.6.1.4.1.1466.115.121.1.40
    EQUALITY octetStringMatch SINGLE-VALUE )
attributetype ( 1.2.840.113556.1.4.8 NAME 'userAccountControl' SYNTAX 1.3.6.1.4.1.1466.115.121.1.27
    EQUALITY integerMatch SINGLE-VALUE )
attributetype ( 1.2.840.113556.1.4.159 NAME 'accountExpires' SYNTAX 1.3.6.1.4.1.1466.115.121.1.27
    EQUALITY integerMatch SINGLE-VALUE )
attributetype ( 1.2.840.113556.1.4.221 NAME 'sAMAccountName' SYNTAX 1.3.6.1.4.1.1466.115.121.1.15
    EQUALITY caseIgnoreMatch SINGLE-VALUE )
objectclass ( 1.2.840.113556.1.5.9 NAME 'adUser' AUXILIARY
    MAY ( objectGUID $ userAccountControl $ accountExpires $ sAMAccountName ) )
"""
_CONFIG = """
include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/inetorgperson.schema
include {directory}/ad.schema
modulepath /usr/lib/ldap
moduleload back_mdb
moduleload memberof
TLSCertificateFile {directory}/certificate.pem
TLSCertificateKeyFile {directory}/key.pem
sizelimit 1000
database mdb
suffix {suffix}
rootdn {root}
rootpw {secret}
directory {directory}/database
access to attrs=userPassword by anonymous auth by * none
access to * by dn.exact={reader} read by * none
overlay memberof
"""


@dataclass(frozen=True)
class AtLdap:
    """A running LDAP server. `log` has its operations."""

    port: int
    tls_port: int
    directory: Path
    certificate: str

    @property
    def uri(self) -> str:
        return f"ldaps://127.0.0.1:{self.tls_port}"

    @property
    def log(self) -> str:
        return (self.directory / "slapd.log").read_text(errors="replace")

    def _as_root(self) -> Any:
        connection = ldap.initialize(f"ldap://127.0.0.1:{self.port}")
        connection.simple_bind_s(ROOT, SECRET)
        return connection

    def add(self, dn: str, **attributes: str | bytes | list[str]) -> str:
        """Add an entry to the server and return its distinguished name."""
        connection = self._as_root()
        connection.add_s(dn, modlist.addModlist(_as_bytes(attributes)))
        connection.unbind_s()
        return dn

    def change(self, dn: str, **attributes: str | bytes | list[str] | None) -> None:
        """Replace the values of the entry's attributes. None removes an attribute."""
        connection = self._as_root()
        given = {name: value for name, value in attributes.items() if value is not None}
        changes = [(ldap.MOD_REPLACE, name, value) for name, value in _as_bytes(given).items()]
        changes += [(ldap.MOD_REPLACE, name, None) for name in attributes.keys() - given.keys()]
        connection.modify_s(dn, changes)
        connection.unbind_s()

    def remove(self, dn: str) -> None:
        connection = self._as_root()
        connection.delete_s(dn)
        connection.unbind_s()

    def person(self, uid: str, mail: str = "", under: str = PEOPLE, **attributes: Any) -> str:
        """Add a person with the password PASSWORD. Return the distinguished name."""
        given: dict[str, Any] = {"objectClass": ["inetOrgPerson", "adUser"], "cn": uid, "sn": "Person", "uid": uid}
        given |= {"mail": mail or f"{uid}@work.test", "userPassword": PASSWORD, **attributes}
        return self.add(f"uid={escape_dn_chars(uid)},{under}", **given)

    def group(self, name: str, *members: str) -> str:
        return self.add(f"cn={name},{GROUPS}", objectClass="groupOfNames", cn=name, member=list(members))

    def empty(self) -> None:
        """Remove all entries except the account that the panel uses to read."""
        connection = self._as_root()
        connection.set_option(ldap.OPT_SERVER_CONTROLS, [_MANAGE_DSA_IT])  # referrals are removed, not followed
        try:
            found = connection.search_s(SUFFIX, ldap.SCOPE_SUBTREE, attrlist=["1.1"])
        except ldap.NO_SUCH_OBJECT:
            found = []
        for dn, _ in sorted((each for each in found if each[0]), key=lambda each: -len(each[0])):
            connection.delete_s(dn)
        connection.unbind_s()
        self.add(SUFFIX, objectClass=["dcObject", "organization"], dc="work", o="Work")
        for ou in (PEOPLE, GROUPS):
            self.add(ou, objectClass="organizationalUnit", ou=ou.partition(",")[0].removeprefix("ou="))
        self.add(READER, objectClass=["applicationProcess", "simpleSecurityObject"], cn="panel", userPassword=SECRET)


_MANAGE_DSA_IT = ldap.controls.simple.ManageDSAITControl(True)


def _as_bytes(attributes: Mapping[str, str | bytes | list[str]]) -> dict[str, list[bytes]]:
    found = {}
    for name, value in attributes.items():
        values = value if isinstance(value, list) else [value]
        found[name] = [each if isinstance(each, bytes) else each.encode() for each in values]
    return found


@contextmanager
def slapd_running(directory: Path) -> Iterator[AtLdap]:
    program = shutil.which("slapd") or "/usr/sbin/slapd"
    if not Path(program).exists():
        pytest.skip("slapd is not installed on this machine")
    own = own_certificate("127.0.0.1")
    (directory / "database").mkdir()
    (directory / "certificate.pem").write_text(own.certificate)
    (directory / "key.pem").write_text(own.key)
    (directory / "ad.schema").write_text(_SCHEMA)
    config = directory / "slapd.conf"
    config.write_text(
        _CONFIG.format(directory=directory, suffix=SUFFIX, root=ROOT, reader=READER, secret=f'"{SECRET}"')
    )
    port, tls_port = free_port(), free_port()
    uris = f"ldap://127.0.0.1:{port} ldaps://127.0.0.1:{tls_port}"
    command = [program, "-f", config, "-h", uris, "-d", "stats"]
    with running(command, directory / "slapd.log", listening(tls_port)):
        yield AtLdap(port, tls_port, directory, own.certificate)


def ldap_added(server: AtLdap, slug: str = "work", **terms: Any) -> SignInProvider:
    """Add the server as a sign-in provider. `attributes` overrides single default attributes."""
    attributes = DEFAULTS | {"base": PEOPLE, "group_base": GROUPS} | terms.pop("attributes", {})
    given: dict[str, Any] = {"name": slug.title(), "slug": slug, "uri": server.uri, "bind_dn": READER}
    given |= {"certificates": server.certificate, "trusts_mail": True, "attributes": attributes}
    secret = terms.pop("secret", SECRET)
    return create_provider(terms=LdapTerms(**(given | terms)), secret=secret, by=None, now=NOW)


def signs_in(login: str, password: str = PASSWORD, client: Client | None = None) -> tuple[Client, Any]:
    """Send the sign-in form. Return the browser and the answer."""
    client = client or Client()
    return client, client.post("/sign-in/", {"login": login, "password": password})


def is_signed_in(client: Client) -> bool:
    return client.get("/account/signing-in/").status_code == 200
