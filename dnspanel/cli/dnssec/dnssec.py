"""The command `dnspanel dnssec`, which signs zones, and checks whether parents and nodes agree."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

import click

from dnspanel.cli import output
from dnspanel.cli.dnssec.dnssec_keys import KEY_COLUMNS, key
from dnspanel.cli.dnssec.dnssec_rollovers import rollover
from dnspanel.cli.output import Column
from dnspanel.cli.session import Commands, Session, options
from dnspanel.cli.written import Writing, publish, show_written, writing_options
from dnspanel.cli.zone_paths import zone_path

ALGORITHMS = {"ecdsa256": 13, "ecdsa384": 14, "ed25519": 15, "ed448": 16, "rsasha256": 8, "rsasha512": 10}

_PLANNED = (
    Column("ZONE", "zone"),
    Column("CHANGES", "changes"),
    Column("SIGNED", "signed"),
    Column("DENIAL", lambda row: _denial_text(row["denial"])),
    Column("REFUSED", lambda row: row["refusal"] or ""),
)
_DRY_RUN = {"dry_run": True}
_NODES = (
    Column("NODE", "node"),
    Column("VERDICT", "verdict", state=True),
    Column("SERIAL", lambda row: "–" if row["serial"] is None else str(row["serial"]), right=True),
    Column("KEYS", lambda row: ", ".join(map(str, row["key_tags"])) or "–"),
    Column("SIGNED UNTIL", lambda row: output.moment(row["signature_ends"]) if row["signature_ends"] else "–"),
    Column("LAST CHANGE", "has_last_change"),
    Column("WHY", "reason"),
)
_UNPROVEN = (
    Column("ZONE", "zone"),
    Column("NODE", "node"),
    Column("SINCE", lambda row: output.moment(row["since"])),
    Column("PROBLEM", "problem"),
)
# Seconds between two requests that check if a worker has queried the parent.
_PARENT_PAUSE = 1.0
_CDS = {"none": [], "sha256": [2], "sha384": [4], "both": [2, 4], "delete": [0]}


@click.group(cls=Commands)
def dnssec() -> None:
    """Sign zones, and manage keys, DS and rollovers."""


# The options for the proof that a name does not exist.
nsec3_options = options(
    click.option("--nsec3", is_flag=True, help="Use NSEC3 instead of NSEC."),
    click.option("--opt-out", is_flag=True, help="Use NSEC3 with opt-out, which does not cover unsigned delegations."),
    click.option("--narrow", is_flag=True, help="Use NSEC3 in narrow mode, which makes each proof for one query."),
)


@dnssec.command()
@click.argument("zone")
def show(session: Session, zone: str) -> None:
    """Show the DNSSEC settings of a zone."""
    found = session.client.get(zone_path(zone, "dnssec"))
    changed = found["changed"]
    details = {
        "zone": found["zone"],
        "signed": found["signed"],
        "keys": [f"{each['tag']} ({each['role']}, {each['algorithm_name']})" for each in found["keys"]] or None,
        "denial": _denial_text(found["denial"]),
        "cds": found["cds"] or None,
        "cdnskey": found["cdnskey"],
        "parents": found["polling"],
        "signalling": found["signalling"],
        "presigned": output.moment(found["signatures_end"]) if found["presigned"] else None,
        "changed": output.moment(changed["at"]) if changed else None,
        "by": output.actor(changed["actor"]) if changed else None,
    }
    session.show(found, details)


@dnssec.command()
@click.argument("zones", metavar="ZONE...", nargs=-1, required=True)
@click.option(
    "--algorithm",
    type=click.Choice(list(ALGORITHMS)),
    default="ecdsa256",
    show_default=True,
    help="Algorithm of the new keys.",
)
@click.option("--bits", type=click.IntRange(min=1), help="Length of RSA keys in bits.  [default: 2048]")
@click.option("--split", is_flag=True, help="Create a KSK and a ZSK instead of one key for both.")
@nsec3_options
@writing_options
def sign(
    session: Session,
    zones: Sequence[str],
    algorithm: str,
    bits: int | None,
    *,
    split: bool,
    nsec3: bool,
    opt_out: bool,
    narrow: bool,
    **how: Any,
) -> None:
    """Sign zones with new keys.

    All zones are signed in one publication, or none. Zones that are signed already keep their keys. `dnspanel dnssec
    ds` prints the DS records for the parent.

    \b
    Examples:
      dnspanel dnssec sign example.net --wait
      dnspanel dnssec sign a.example b.example --algorithm ed25519 --nsec3 --dry-run
    """
    body: dict[str, Any] = {"signed": True, "new_keys": {"algorithm": ALGORITHMS[algorithm], "split": split}}
    if bits is not None:
        body["new_keys"]["bits"] = bits
    if nsec3 or opt_out or narrow:
        body["denial"] = _denial(opt_out=opt_out, narrow=narrow)
    if _settle_many(session, zones, body, verb="Signed", **how) and not session.is_json:
        zone = zones[0] if len(zones) == 1 else "ZONE"
        click.echo(f"Next, add the DS at the parent. To print the DS: dnspanel dnssec ds {zone}")


@dnssec.command()
@click.argument("zones", metavar="ZONE...", nargs=-1, required=True)
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@writing_options
def unsign(session: Session, zones: Sequence[str], *, yes: bool, writing: Writing) -> None:
    """Unsign zones.

    All zones are unsigned in one publication. If any zone is refused, no zone is unsigned. The private keys are deleted
    after one day.

    Remove the DS at the parent first, and wait until it has expired from caches. Otherwise validating resolvers do not
    answer for the zone.

    Zones that were imported with signatures lose the signatures. Such zones cannot be unsigned together with others.
    """
    if not (yes or writing.dry_run):
        named = zones[0] if len(zones) == 1 else f"{len(zones)} zones"
        answer = session.client.send("POST", "/bulk/dnssec", {"signed": False, "zones": list(zones)}, query=_DRY_RUN)
        if any(plan["drops_signatures"] for plan in answer["plans"]):
            output.tell("The imported signatures are deleted. Only a new import restores them.")
        session.ask(f"Unsign {named}? The DS must be gone from the parent, and from caches.")
    _settle_many(session, zones, {"signed": False}, verb="Unsigned", writing=writing)


@dnssec.command()
@click.argument("zone")
@nsec3_options
@writing_options
def denial(session: Session, zone: str, *, nsec3: bool, opt_out: bool, narrow: bool, **how: Any) -> None:
    """Choose NSEC or NSEC3 for a zone.

    NSEC3 is used without iterations and without a salt.
    """
    _settle(
        session,
        zone,
        {"denial": _denial(opt_out=opt_out, narrow=narrow) if nsec3 or opt_out or narrow else {"method": "nsec"}},
        **how,
    )


@dnssec.command()
@click.argument("zone")
@click.argument("digests", type=click.Choice(list(_CDS)), required=False)
@click.option("--cdnskey/--no-cdnskey", default=None, help="Publish or remove CDNSKEY records.  [default: no change]")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation of `delete`.")
@writing_options
def cds(session: Session, zone: str, digests: str | None, *, cdnskey: bool | None, yes: bool, writing: Writing) -> None:
    """Set the CDS and CDNSKEY records of a zone.

    The records tell the parent which DS to publish. `delete` asks the parent to delete the DS. `none --no-cdnskey`
    removes the records. `dnspanel dnssec show` shows how a parent reacts to these records.

    \b
    Examples:
      dnspanel dnssec cds example.net sha256 --cdnskey
      dnspanel dnssec cds example.net delete
    """
    body: dict[str, Any] = {} if digests is None else {"cds": _CDS[digests]}
    if cdnskey is not None:
        body["cdnskey"] = cdnskey
    if not body:
        raise click.UsageError(f"Give one of {', '.join(_CDS)}, or --cdnskey or --no-cdnskey.")
    if digests == "delete" and not (yes or writing.dry_run):
        question = f"Parents that look for CDS delete the DS of {zone}: the zone is insecure then. Ask them to?"
        session.ask(question)
    if digests == "delete":
        body["confirm"] = True
    _settle(session, zone, body, writing=writing)


@dnssec.command()
@click.argument("zone")
@click.argument("state", type=click.Choice(["on", "off"]))
@writing_options
def signalling(session: Session, zone: str, state: str, **how: Any) -> None:
    """Turn signalling names (RFC 9615) on or off.

    ZONE contains the names of name servers. There, parents that follow RFC 9615 find the CDS records of zones that have
    no DS yet.

    \b
    Example:
      dnspanel dnssec signalling provider.example on
    """
    _settle(session, zone, {"signalling": state == "on"}, **how)


@dnssec.command()
@click.argument("zone")
def ds(session: Session, zone: str) -> None:
    """Print the DS records for the parent.

    The parent needs only one digest of each key.

    \b
    Example:
      dnspanel dnssec ds example.net
    """
    found = session.client.get(zone_path(zone, "dnssec"))["ds"]
    if session.is_json:
        output.show_json(found)
    elif not found:
        output.tell(f"{zone} is not signed with a key that needs a DS. To sign the zone: dnspanel dnssec sign {zone}")
    for each in () if session.is_json else found:
        click.echo(output.plain(each["record"]))


@dnssec.command()
@click.argument("zone")
@click.option("--ask", is_flag=True, help="Ask the parent now, and wait for the answer.")
@click.option(
    "--timeout",
    type=click.IntRange(0, 3600),
    default=60,
    show_default=True,
    help="Stop waiting after this many seconds (with --ask).",
)
def parent(session: Session, zone: str, *, ask: bool, timeout: int) -> None:
    """Show which DS the parent has.

    Shows the result of the last check; --ask makes a new check.

    \b
    Example:
      dnspanel dnssec parent example.net --ask
    """
    path = zone_path(zone, "dnssec", "parent")
    found = session.client.send("POST", path) if ask else session.client.get(path)
    until = time.monotonic() + timeout
    while ask and found["waiting"] and time.monotonic() < until:
        time.sleep(_PARENT_PAUSE)
        found = session.client.get(path)
    details = {
        "zone": found["zone"],
        "state": found["state"],
        "found": found["message"],
        "parent": found["parent"],
        "servers": [f"{each['server']}: {', '.join(each['ds']) or 'no DS'}" for each in found["servers"]] or None,
        "known": output.moment(found["known_at"]) if found["known_at"] else None,
        "since": output.moment(found["since"]) if found["since"] else None,
        "silent": found["silent"] or None,
    }
    session.show(found, details)
    if found["waiting"] and ask:
        raise click.ClickException("The parent has not been checked yet. Try again later.")


@dnssec.command()
@click.argument("zone")
def nodes(session: Session, zone: str) -> None:
    """Check every node's answers for a signed zone.

    Shows the keys, the serial, and whether the signatures are valid.
    """
    session.show_rows(session.client.items(zone_path(zone, "dnssec", "nodes")), _NODES, none="No nodes yet.")


@dnssec.command()
def unproven(session: Session) -> None:
    """List zones that do not validate on a node.

    Zones that were broken by a publication are not listed.
    """
    session.show_rows(session.client.items("/dnssec/unproven"), _UNPROVEN, none="Every zone validates on every node.")


@dnssec.command("keys")
@click.argument("zone")
def list_keys(session: Session, zone: str) -> None:
    """List the keys of a zone."""
    session.show_rows(session.client.items(zone_path(zone, "dnssec", "keys")), KEY_COLUMNS, none="No keys.")


dnssec.add_command(key)
dnssec.add_command(rollover)


def _settle(session: Session, zone: str, body: Mapping[str, Any], *, writing: Writing) -> None:
    query = {"reason": writing.reason} if writing.reason else {}
    path = zone_path(zone, "dnssec")
    written = publish(session, "PATCH", path, body, query=query, waiting=writing)
    show_written(session, written, waited=writing.wait, verb="Changed the DNSSEC settings of")


def _settle_many(
    session: Session, zones: Sequence[str], body: Mapping[str, Any], *, verb: str, writing: Writing
) -> bool:
    """Change the zones' signing, or show the changes of a dry run. Return True if something was published."""
    body = {**body, "zones": list(zones), "reason": writing.reason}
    if writing.dry_run:
        answer = session.client.send("POST", "/bulk/dnssec", body, query=_DRY_RUN)
        session.show_rows(answer["plans"], _PLANNED, none="No zones.")
        output.tell("Nothing was written.")
        return False
    written = publish(session, "POST", "/bulk/dnssec", body, waiting=writing)
    show_written(session, written, waited=writing.wait, verb=verb)
    return written["publication"] is not None


def _denial(*, opt_out: bool, narrow: bool) -> dict[str, Any]:
    return {"method": "nsec3", "opt_out": opt_out, "narrow": narrow}


def _denial_text(found: Mapping[str, Any] | None) -> str:
    if found is None:
        return "–"
    words = [word.replace("_", "-") for word in ("opt_out", "narrow") if found[word]]
    words += [f"{found['iterations']} iterations"] if found["iterations"] else []
    words += [f"salt {found['salt']}"] if found["salt"] else []
    return ", ".join([str(found["method"]).upper(), *words])
