"""The command `dnspanel dnssec key`, which adds, imports, changes, deletes and exports keys."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import click

from dnspanel.cli import output
from dnspanel.cli.output import Column
from dnspanel.cli.session import C, Commands, Session
from dnspanel.cli.written import Writing, publish, show_written, writing_options
from dnspanel.cli.zone_paths import zone_path

KSK_FLAGS, ZSK_FLAGS = 257, 256
MOST_BYTES = 16 << 10

KEY_COLUMNS = (
    Column("ID", "id", right=True),
    Column("TAG", "tag", right=True),
    Column("ROLE", "role"),
    Column("FLAGS", "flags", right=True),
    Column("ALGORITHM", "algorithm_name"),
    Column("BITS", "bits", right=True),
    Column("SIGNS", "active"),
    Column("PUBLISHED", "published"),
    Column("MADE", lambda row: output.moment(row["created_at"])),
    output.by("created_by"),
)
_ID = click.argument("number", metavar="ID", type=click.IntRange(min=1))
_ZSK = click.option("--zsk", is_flag=True, help="Make the key a ZSK (flags 256) instead of a KSK (flags 257).")


@click.group(cls=Commands)
def key() -> None:
    """Manage the keys of a zone.

    ID is the id from `dnspanel dnssec keys`.
    """


def state_options(command: C) -> C:
    """Add the options `--unpublished` and `--inactive` to a command that creates a key."""
    command = click.option("--unpublished", is_flag=True, help="Do not publish the key in the DNSKEY records yet.")(
        command
    )
    return click.option("--inactive", is_flag=True, help="Do not sign with the key yet.")(command)


@key.command()
@click.argument("zone")
@click.option("--algorithm", type=int, help="Number of the algorithm: 13, 14, 15, 16, 8 or 10.  [default: 13]")
@click.option("--bits", type=click.IntRange(min=1), help="Length of an RSA key in bits.  [default: 2048]")
@_ZSK
@state_options
@writing_options
def add(session: Session, zone: str, algorithm: int | None, bits: int | None, *, zsk: bool, **how: Any) -> None:
    """Add a new key to a zone.

    \b
    Example:
      dnspanel dnssec key add example.net --inactive
    """
    told = {"algorithm": algorithm, "bits": bits, "flags": ZSK_FLAGS if zsk else KSK_FLAGS}
    _add(session, zone, {name: value for name, value in told.items() if value is not None}, **how)


@key.command("import")
@click.argument("zone")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.File("rb"))
@_ZSK
@state_options
@writing_options
def import_key(session: Session, zone: str, files: Sequence[IO[bytes]], *, zsk: bool, **how: Any) -> None:
    """Import a key from PowerDNS or BIND.

    FILE is the private key as PowerDNS exports it, or the two files of BIND. The .key file of BIND says whether the key
    is a KSK; without that file, --zsk decides. A single FILE can be - for standard input.

    \b
    Examples:
      dnspanel dnssec key import example.net Kexample.net.+013+04711.key Kexample.net.+013+04711.private
      pdnsutil export-zone-key example.net 7 | dnspanel dnssec key import example.net -
    """
    texts = [_text(file) for file in files]
    private = [text for text in texts if "private-key-format:" in text.lower()]
    public = [text for text in texts if text not in private]
    if len(private) != 1 or len(public) > 1:
        raise click.UsageError("Give the private key, or the .private and the .key file.")
    body: dict[str, Any] = {"private_key": private[0]}
    if public and zsk:
        raise click.UsageError("Remove --zsk: the .key file says whether the key is a ZSK.")
    body |= {"public_key": public[0]} if public else {"flags": ZSK_FLAGS if zsk else KSK_FLAGS}
    _add(session, zone, body, **how)


@key.command("set")
@click.argument("zone")
@_ID
@click.option("--active/--inactive", default=None, help="Sign with the key, or stop signing.  [default: no change]")
@click.option(
    "--published/--unpublished",
    default=None,
    help="Publish the key in the DNSKEY records, or remove the key there.  [default: no change]",
)
@writing_options
def set_key(
    session: Session, zone: str, number: int, *, active: bool | None, published: bool | None, **how: Any
) -> None:
    """Activate, deactivate, publish or hide a key."""
    body = {name: value for name, value in (("active", active), ("published", published)) if value is not None}
    if not body:
        raise click.UsageError("Give --active, --inactive, --published or --unpublished.")
    _write(session, "PATCH", zone_path(zone, "dnssec", "keys", number), body, **how)


@key.command()
@click.argument("zone")
@_ID
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@writing_options
def delete(session: Session, zone: str, number: int, *, yes: bool, writing: Writing) -> None:
    """Delete a key of a zone.

    The private key is deleted after one day.
    """
    path = zone_path(zone, "dnssec", "keys", number)
    if not (yes or writing.dry_run):
        found = session.client.get(path)
        session.ask(f"Delete key {found['tag']} ({found['role']}) of {zone}?")
    _write(session, "DELETE", path, None, writing=writing)


@key.command()
@click.argument("zone")
@_ID
@click.option(
    "-d",
    "--directory",
    type=click.Path(exists=True, file_okay=False, writable=True, path_type=Path),
    help="Directory for the two files of BIND, which only you can read.",
)
def export(session: Session, zone: str, number: int, directory: Path | None) -> None:
    """Print a private key, or write it as BIND key files.

    Anyone with the private key can sign false answers. Requires the right export-keys. The audit log records the
    export.

    \b
    Example:
      dnspanel dnssec key export example.net 7 --directory /etc/bind/keys
    """
    found = session.client.send("POST", zone_path(zone, "dnssec", "keys", number, "export"))
    if directory is not None:
        name = Path(found["file_name"]).name
        paths = {ending: directory / f"{name}.{ending}" for ending in ("key", "private")}
        for ending, path in paths.items():
            _write_file(path, found["public_key" if ending == "key" else "private_key"])
        session.say_done(f"Wrote {' and '.join(map(str, paths.values()))}.", files=list(map(str, paths.values())))
    elif session.is_json:
        output.show_json(found)
    else:
        click.echo(found["private_key"], nl=False)


def _add(
    session: Session, zone: str, body: Mapping[str, Any], *, inactive: bool, unpublished: bool, **how: Any
) -> None:
    state = {"active": not inactive, "published": not unpublished}
    written = _write(session, "POST", zone_path(zone, "dnssec", "keys"), {**body, **state}, **how)
    if not session.is_json and "key" in written:
        click.echo(f"The new key has the id {written['key']['id']} and the tag {written['key']['tag']}.")


def _write(session: Session, method: str, path: str, body: Any, *, writing: Writing) -> Mapping[str, Any]:
    query = {"reason": writing.reason} if writing.reason else {}
    written = publish(session, method, path, body, query=query, waiting=writing)
    show_written(session, written, waited=writing.wait, verb="Changed the keys of")
    return written


def _text(file: IO[bytes]) -> str:
    content = file.read(MOST_BYTES + 1)
    try:
        if len(content) <= MOST_BYTES:
            return content.decode()
    except UnicodeDecodeError:
        pass
    raise click.UsageError(f"{file.name} is not a key file.")


def _write_file(path: Path, text: str) -> None:
    """Create a file that only this user can read. Raise UsageError if it exists or cannot be written."""
    try:
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
            file.write(text)
    except OSError as exc:
        raise click.UsageError(f"{path} cannot be written: {exc.strerror}.") from exc
