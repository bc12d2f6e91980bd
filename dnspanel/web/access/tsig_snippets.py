"""Generate configuration snippets with a TSIG key, for programs that send DNS updates. Pure."""

from dnspanel.accounts.tokens.presets import Preset, acme_name
from dnspanel.accounts.tokens.snippets import Snippet
from dnspanel.texts import gettext


def tsig_snippets(  # noqa: PLR0913  # the fields of a form
    *,
    preset: Preset,
    key_name: str,
    algorithm: str,
    secret: str,
    server: str,
    port: int,
    zone: str = "",
    name: str = "",
) -> tuple[Snippet, ...]:
    """Return a key file and an nsupdate session. `zone` and `name` are canonical, or "" if the key isn't limited."""
    key_file = f'key "{key_name}" {{\n  algorithm {algorithm};\n  secret "{secret}";\n}};\n'
    change = _change(preset, zone, name)
    session = (
        "nsupdate -k panel.key <<'END'\n"
        f"server {server} {port}\n" + (f"zone {zone}\n" if zone else "") + f"{change}\nsend\nEND\n"
    )
    return (
        Snippet(
            "panel.key",
            "ini",
            key_file,
            note=gettext("This is BIND’s key file format, which nsupdate, dhcpd and named can read."),
        ),
        Snippet("nsupdate", "sh", session),
    )


def _change(preset: Preset, zone: str, name: str) -> str:
    if preset == Preset.ACME and name:
        return f'update add {acme_name(name)} 60 TXT "proof"'
    if name:
        return f"update delete {name} A\nupdate add {name} 300 A 192.0.2.1"
    return f"update add www.{zone or 'example.com.'} 300 A 192.0.2.1"
