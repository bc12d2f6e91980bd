"""Generate configuration snippets for common programs, with the panel's URL, the secret and the name. Pure.

Programs for PowerDNS only need the panel's URL, because API v1 has the same path as PowerDNS's API.
"""

import json
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import quote

from dnspanel.accounts.tokens.presets import Preset, acme_name
from dnspanel.texts import gettext


@dataclass(frozen=True, slots=True)
class Place:
    """The values for a snippet. `zone` and `name` are canonical, or empty if the token isn't limited to them."""

    panel_url: str
    secret: str
    zone: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class Snippet:
    """A configuration snippet. `language` selects the syntax highlighting. `note` is advice for the user."""

    tool: str
    language: str  # sh, ini, yaml, hcl
    text: str
    note: str = ""


def snippets_for(preset: Preset, place: Place) -> tuple[Snippet, ...]:
    """Return the snippets for a token with this preset, most common program first."""
    return tuple(make(place) for make in _BY_PRESET[preset])


def curl(place: Place) -> Snippet:
    """Return a curl command that shows the token's owner. It works with every token."""
    return Snippet("curl", "sh", f"curl -H {_header(place)} {_quote_shell(place.panel_url + '/api/v2/me')}\n")


def curl_zone(place: Place) -> Snippet:
    """Return a curl command that shows one published zone."""
    address = f"{place.panel_url}/api/v2/zones/{quote(place.zone, safe='')}"
    return Snippet("curl", "sh", f"curl -H {_header(place)} {_quote_shell(address)}\n")


def certbot(place: Place) -> Snippet:
    """Return shell commands that install, configure and run certbot with its PowerDNS plugin."""
    host = _host(place.name)
    text = (
        "pip install certbot certbot-dns-powerdns\n"
        "cat > dns.ini <<'END'\n"
        f"dns_powerdns_api_url = {place.panel_url}\n"
        f"dns_powerdns_api_key = {place.secret}\n"
        "END\n"
        "chmod 600 dns.ini\n"
        f"certbot certonly --authenticator dns-powerdns --dns-powerdns-credentials dns.ini -d {_quote_shell(host)}\n"
    )
    return Snippet("certbot", "sh", text)


def lego(place: Place) -> Snippet:
    """Return a lego command. Traefik and other programs built on lego use the same variables."""
    text = (
        f"export PDNS_API_URL={_quote_shell(place.panel_url)}\n"
        f"export PDNS_API_KEY={_quote_shell(place.secret)}\n"
        f"lego --accept-tos --email you@example.com --dns pdns --domains {_quote_shell(_host(place.name))} run\n"
    )
    return Snippet(
        "lego", "sh", text, note=gettext("The lego modules in Traefik and Caddy use the same two variables.")
    )


def cert_manager(place: Place) -> Snippet:
    """Return a manifest for cert-manager with its PowerDNS webhook."""
    text = f"""apiVersion: v1
kind: Secret
metadata: {{name: dnspanel, namespace: cert-manager}}
stringData:
  api-key: {json.dumps(place.secret)}
---
apiVersion: cert-manager.io/v1
kind: ClusterIssuer
metadata: {{name: dnspanel}}
spec:
  acme:
    server: https://acme-v02.api.letsencrypt.org/directory
    email: you@example.com
    privateKeySecretRef: {{name: dnspanel-account}}
    solvers:
      - dns01:
          webhook:
            groupName: acme.zacharyseguin.ca
            solverName: pdns
            config:
              host: {json.dumps(place.panel_url)}
              apiKeySecretRef: {{name: dnspanel, key: api-key}}
"""
    return Snippet(
        "cert-manager", "yaml", text, note=gettext("Requires the cert-manager-webhook-pdns webhook in the cluster.")
    )


def external_dns(place: Place) -> Snippet:
    """Return arguments for external-dns in Kubernetes."""
    text = f"""args:
  - --source=ingress
  - --provider=pdns
  - {json.dumps("--pdns-server=" + place.panel_url)}
  - --pdns-server-id=localhost
  - {json.dumps("--pdns-api-key=" + place.secret)}
  - {json.dumps("--domain-filter=" + _host(place.zone))}
  - --txt-owner-id=this-cluster
"""
    return Snippet("external-dns", "yaml", text)


def terraform(place: Place) -> Snippet:
    """Return a Terraform or OpenTofu configuration for the PowerDNS provider."""
    text = f"""terraform {{
  required_providers {{
    powerdns = {{ source = "pan-net/powerdns" }}
  }}
}}

provider "powerdns" {{
  server_url = {_hcl(place.panel_url)}
  api_key    = {_hcl(place.secret)}
}}

resource "powerdns_record" "www" {{
  zone    = {_hcl(place.zone)}
  name    = {_hcl("www." + place.zone)}
  type    = "A"
  ttl     = 300
  records = ["192.0.2.1"]
}}
"""
    return Snippet(
        "Terraform", "hcl", text, note=gettext("Don’t store the key in this file. Use TF_VAR_… or PDNS_API_KEY.")
    )


def dyndns_url(place: Place) -> Snippet:
    """Return the update URL, user name and password for a router's dynamic DNS form."""
    address = f"{place.panel_url}/nic/update?hostname={quote(_host(place.name), safe='')}&myip=<ipaddr>"
    return Snippet(
        "router",
        "ini",
        f"Update URL: {address}\nUser name:  {_host(place.name)}\nPassword:   {place.secret}\n",
        note=gettext(
            "Enter any user name. Most routers replace <ipaddr> with their address. Without myip, the panel "
            "uses the address that the request comes from."
        ),
    )


def dyndns_curl(place: Place) -> Snippet:
    """Return a curl command that updates the host's address."""
    address = f"{place.panel_url}/nic/update?hostname={quote(_host(place.name), safe='')}"
    return Snippet("curl", "sh", f"curl -u {_quote_shell('host:' + place.secret)} {_quote_shell(address)}\n")


def acme_curl(place: Place) -> Snippet:
    """Return commands that add and remove one challenge. API v1's EXTEND and PRUNE keep the record's other values."""
    name = acme_name(place.name)
    address = f"{place.panel_url}/api/v1/servers/localhost/zones/{quote(place.zone, safe='')}"
    records = [{"content": '"proof"'}]
    bodies = [
        {"rrsets": [{"name": name, "type": "TXT", "ttl": 60, "changetype": change, "records": records}]}
        for change in ("EXTEND", "PRUNE")
    ]
    lines = [
        f"curl -X PATCH -H {_header(place)} -H 'Content-Type: application/json' \\\n"
        f"  -d {_quote_shell(json.dumps(body))} \\\n  {_quote_shell(address)}\n"
        for body in bodies
    ]
    return Snippet("curl", "sh", "".join(lines))


_BY_PRESET: dict[Preset, tuple[Callable[[Place], Snippet], ...]] = {
    Preset.ACME: (certbot, lego, cert_manager, acme_curl),
    Preset.DYNDNS: (dyndns_url, dyndns_curl),
    Preset.CI: (curl_zone, terraform, external_dns),
    Preset.MONITORING: (curl,),
    Preset.CUSTOM: (curl,),
}


def _header(place: Place) -> str:
    return _quote_shell(f"Authorization: Bearer {place.secret}")


def _quote_shell(text: str) -> str:
    return shlex.quote(text)


def _hcl(text: str) -> str:
    return json.dumps(text).replace("${", "$${").replace("%{", "%%{")


def _host(name: str) -> str:
    return name.rstrip(".")
