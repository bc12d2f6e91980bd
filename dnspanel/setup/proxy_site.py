"""nginx in front of the panel: the site of the panel's host."""

import subprocess
from pathlib import Path

from dnspanel.setup.errors import SetupFailed
from dnspanel.setup.proxy_certificate import TLS
from dnspanel.setup.setup_answers import url_host

NGINX = Path("/etc/nginx")
TEMPLATES = Path("/usr/lib/dnspanel/nginx")
# The names in deploy/nginx/site.conf, which is an example for people too.
_EXAMPLE_HOST, _EXAMPLE_PAGES, _EXAMPLE_TLS = "dns.example.net", "/srv/dnspanel/deploy/nginx", "/etc/ssl/dnspanel"


def write_site(host: str, former: str, *, nginx: Path = NGINX, templates: Path = TEMPLATES) -> list[str]:
    """Write a missing site, or replace the former host in it, and enable the site. Return what was done."""
    done = []
    site, link = nginx / "sites-available/dnspanel", nginx / "sites-enabled/dnspanel"
    present = site.read_text() if site.exists() else ""
    wanted = rename_host(present, url_host(former), url_host(host)) if present else _render(host, templates)
    if wanted != present:
        site.write_text(wanted)
        done.append(f"{site}")
    if not link.is_symlink():
        link.symlink_to(site)
        done.append(f"{link}")
    return done


def rename_host(site: str, former: str, host: str) -> str:
    """Return the site with another host in `server_name` and in the redirect. Other lines stay unchanged."""
    renamed = site.replace(f"server_name {former};", f"server_name {host};")
    return renamed.replace(f"return 301 https://{former}$", f"return 301 https://{host}$")


def _render(host: str, templates: Path) -> str:
    """Return the example site with this host and the package's paths."""
    example = (templates / "site.conf").read_text()
    return (
        example.replace(_EXAMPLE_TLS, str(TLS))
        .replace(_EXAMPLE_PAGES, str(templates))
        .replace(_EXAMPLE_HOST, url_host(host))
    )


def reload_nginx() -> None:
    """Let nginx check and load its configuration, and start at boot. Raise SetupFailed if a command for this fails."""
    for command in (
        ["nginx", "-t"],
        ["systemctl", "enable", "-q", "nginx"],
        ["systemctl", "reload-or-restart", "nginx"],
    ):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise SetupFailed(f"{' '.join(command)}: {done.stderr.strip()}")
