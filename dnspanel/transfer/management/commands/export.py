"""Command that exports zones to a file, or creates a query file from them."""

import sys
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone
from tqdm import tqdm

from dnspanel.accounts.audit import audit
from dnspanel.transfer.errors import PassphraseRefused
from dnspanel.transfer.exports import file as export_file
from dnspanel.transfer.exports.exported_rows import snapshot
from dnspanel.transfer.exports.exported_zones import Selection
from dnspanel.transfer.exports.query_file import QueryOptions
from dnspanel.transfer.management.passphrase_file import passphrase_in
from dnspanel.transfer.models import ExportFormat
from dnspanel.transfer.sealed_keys import Sealer
from dnspanel.zones.models import Zone
from replication.dns import names
from replication.errors import BadName


class Command(BaseCommand):
    help = (
        "Write zones as BIND zone files (tar), JSON or CSV, or write a query file for dnsperf and queryperf. "
        "If the name of the output ends in .gz or .tgz, the output is compressed."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("zone", nargs="*", help="names of zones; default: all zones")
        parser.add_argument("--search", default="", help="the zones of a search, as in the zone list")
        parser.add_argument("--format", choices=ExportFormat.values, default=ExportFormat.BIND)
        parser.add_argument("--output", default="-", metavar="FILE", help="default: -, which is standard output")
        parser.add_argument("--quiet", action="store_true", help="no progress bar")
        parser.add_argument(
            "--keys-passphrase-file",
            metavar="FILE",
            help="with --format json: also write the private DNSSEC keys, encrypted with the passphrase in FILE",
        )
        queries = parser.add_argument_group("query files")
        queries.add_argument("--sample", type=int, default=0, metavar="N", help="number of names; default: all")
        queries.add_argument(
            "--each-zone-alike", action="store_true", help="choose names from small zones as often as from large zones"
        )
        queries.add_argument("--random", type=int, default=0, metavar="PERCENT", help="names that do not exist")
        queries.add_argument("--seed", type=int, default=1)

    def handle(self, *args: Any, **options: Any) -> None:
        selection, query_options = _selection(options), _query_options(options)
        sealer = _sealer(options)
        with snapshot() as conn, _output(options["output"]) as file:
            zones = selection.among(Zone.objects.filter(deleted_at=None))
            found = zones.count()
            if selection.names and found < len(selection.names):
                raise CommandError("There is no such zone." if found == 0 else "One of these zones does not exist.")
            mtime = int(timezone.now().timestamp())
            out = export_file.Gzip(file, mtime) if options["output"].endswith((".gz", ".tgz")) else None
            with _bar(zones.count(), is_quiet=options["quiet"]) as watch:
                tally = export_file.write_export(
                    conn,
                    zones,
                    out or file,
                    export_format=options["format"],
                    mtime=mtime,
                    options=query_options,
                    sealer=sealer,
                    watch=watch,
                )
            if out is not None:
                out.close()
            if sealer is not None:
                audit.record(
                    action="dnssec.keys_export", by=None, now=timezone.now(), target="manage.py export", keys=tally.keys
                )
        what = "queries" if options["format"] == ExportFormat.QUERIES else "records"
        keys = f", {tally.keys:,} private keys" if sealer is not None else ""
        self.stderr.write(f"{tally.zones:,} zones, {tally.records:,} {what}{keys}")


def _selection(options: dict[str, Any]) -> Selection:
    try:
        zone_names = tuple(dict.fromkeys(names.parse(name) for name in options["zone"]))
    except BadName as exc:
        raise CommandError(str(exc)) from exc
    if zone_names and options["search"]:
        raise CommandError("Enter names of zones or --search, not both.")
    return Selection(zone_names, options["search"])


def _query_options(options: dict[str, Any]) -> QueryOptions:
    try:
        return QueryOptions(options["sample"], options["each_zone_alike"], options["random"], options["seed"])
    except ValueError as exc:
        raise CommandError(str(exc)) from exc


def _sealer(options: dict[str, Any]) -> Sealer | None:
    if options["keys_passphrase_file"] is None:
        return None
    if options["format"] != ExportFormat.JSON:
        raise CommandError("--keys-passphrase-file: only --format json can contain private keys.")
    try:
        return Sealer(passphrase_in(Path(options["keys_passphrase_file"])))
    except PassphraseRefused as exc:
        raise CommandError(str(exc)) from exc


@contextmanager
def _output(name: str) -> Iterator[BinaryIO]:
    """Open standard output (`-`), or a file that gets its name when complete. Raise CommandError if writing fails."""
    if name == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    path = Path(name)
    partial = path.with_name(path.name + ".part")
    try:
        with partial.open("wb", buffering=1 << 20) as file:
            yield file
        partial.rename(path)
    except OSError as exc:
        raise CommandError(f"{path}: {exc.strerror}") from exc
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def _bar(zones: int, *, is_quiet: bool) -> Iterator[Callable[[export_file.Tally], None]]:
    with tqdm(total=zones, unit=" zones", file=sys.stderr, disable=is_quiet or None, mininterval=0.2) as bar:

        def watch(tally: export_file.Tally) -> None:
            if bar.update(tally.zones - bar.n):
                bar.set_postfix(records=f"{tally.records:,}", refresh=False)

        yield watch
