"""Command that imports zones.

The command creates the same kind of job as the web pages, and follows the job to its end.
"""

import sys
import time
from argparse import ArgumentParser
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone
from tqdm import tqdm

from dnspanel.accounts.models import User
from dnspanel.database.first_rows import first_or
from dnspanel.fleet.reads.canary import wait_for_canary
from dnspanel.transfer.errors import TransferError
from dnspanel.transfer.files import upload
from dnspanel.transfer.imports import import_jobs, queries, worker
from dnspanel.transfer.imports.taken_back import TAKEN_BACK
from dnspanel.transfer.management.passphrase_file import passphrase_in
from dnspanel.transfer.models import ACTIVE_STATES, ImportFault, ImportJob, SourceKind, State
from dnspanel.zones.errors import TakenBack
from dnspanel.zones.models import Publication

_POLL_SECONDS = 0.1
# Large imports need more time than edits until the canary has confirmed them.
_CANARY_SECONDS = 30.0
_PHASE_LABELS = {
    State.SCANNING: "scan",
    State.PLANNING: "dry run",
    State.APPLYING: "apply",
    State.UNDOING: "undo",
}


class Command(BaseCommand):
    """Import files or a server's zones, or resume or undo an existing import."""

    help = "Import zones. The command first shows the changes, and applies them after you confirm."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("files", nargs="*", help="zone files, directories, archives, named.conf with its files")
        parser.add_argument(
            "--format",
            choices=("files", "csv", "json", "powerdns-dump", "powerdns-lmdb"),
            default="files",
            help="what the files are",
        )
        parser.add_argument("--axfr", metavar="SERVER[:PORT]", help="transfer zones from a running server")
        parser.add_argument("--zone", action="append", default=[], help="with --axfr or --powerdns-api: a zone")
        parser.add_argument("--catalog", default="", help="with --axfr: the members of this catalog zone")
        parser.add_argument(
            "--tsig", metavar="NAME:ALGORITHM", help="with --axfr; the secret is read from standard input"
        )
        parser.add_argument("--powerdns-api", metavar="URL", help="the key is read from standard input")
        parser.add_argument(
            "--powerdns-sql",
            metavar="URL",
            help="postgresql://USER@HOST/DB, mysql://…; the password is read from standard input",
        )
        parser.add_argument(
            "--keys-passphrase-file",
            metavar="FILE",
            help="with --format json: decrypt the private DNSSEC keys with the passphrase in FILE",
        )
        parser.add_argument("--new", choices=("create", "skip"), default="create")
        parser.add_argument("--existing", choices=("union", "rrsets", "replace", "skip"), default="union")
        parser.add_argument("--ttl", type=int, help="replace every TTL")
        parser.add_argument("--no-comments", action="store_true")
        parser.add_argument("--nameservers", choices=("keep", "ours", "missing"))
        parser.add_argument("--soa", choices=("keep", "ours", "missing"))
        parser.add_argument("--signatures", choices=("drop", "keep"), default="drop", help="signatures of signed zones")
        parser.add_argument("--author", help="user name of the author; default: the panel")
        parser.add_argument("--title", default="")
        parser.add_argument("--yes", action="store_true", help="apply the changes without asking")
        parser.add_argument("--dry-run", action="store_true", help="stop after the dry run")
        parser.add_argument("--here", action="store_true", help="run the import in this process, without workers")
        parser.add_argument("--resume", type=int, metavar="ID", help="continue an import")
        parser.add_argument("--undo", type=int, metavar="ID", help="undo an import")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            self._run(options)
        except TransferError as exc:
            raise CommandError(str(exc)) from exc

    def _run(self, options: dict[str, Any]) -> None:
        self._here = bool(options["here"])
        if options["undo"] is not None:
            job = self._job(options["undo"])
            import_jobs.start_undo(job=job, author=self._author(options), now=timezone.now(), confirmed=True)
            self._follow(job)
            self._say_undone(job)
            return
        job = self._create(options) if options["resume"] is None else self._job(options["resume"])
        if job.paused:
            import_jobs.resume(job=job, now=timezone.now())
            job.refresh_from_db()
        self.stderr.write(f"Import {job.pk}: {job.title}")
        self._follow(job)
        if job.state == State.CHOOSING:
            self._say_scan(job)
            import_jobs.start_plan(job=job, now=timezone.now())
            self._follow(job)
        if job.state == State.PLANNED and self._go_on(job, options):
            import_jobs.start_apply(job=job, author=self._author(options), now=timezone.now())
            self._follow(job)
            self._wait_for_canary(job)
        self._say_report(job)

    def _job(self, pk: int) -> ImportJob:
        return first_or(ImportJob.objects.filter(pk=pk), lambda: CommandError(f"There is no import {pk}."))

    def _author(self, options: dict[str, Any]) -> User | None:
        if options["author"] is None:
            return None
        return first_or(
            User.objects.filter(username=options["author"], is_active=True),
            lambda: CommandError(f"No active person is named {options['author']}."),
        )

    def _create(self, options: dict[str, Any]) -> ImportJob:
        source, parameters, secret = _source(options)
        reading = {name: options[name] for name in ("nameservers", "soa") if options[name] is not None}
        job = import_jobs.create_job(
            source=source,
            title=options["title"] or _title(options),
            author=self._author(options),
            now=timezone.now(),
            parameters=parameters,
            secret=secret,
            options=replace(
                import_jobs.default_options(source, options["existing"]),
                new=options["new"],
                ttl=options["ttl"],
                comments=not options["no_comments"],
                signatures=options["signatures"],
                **reading,
            ),
        )
        if job.state == State.UPLOADING:
            self._hand_over(job, [Path(name) for name in options["files"]])
            import_jobs.start_scan(job=job, now=timezone.now())
        return job

    def _hand_over(self, job: ImportJob, files: list[Path]) -> None:
        """Copy the files to the import's directory. Raise CommandError if a file doesn't exist."""
        for path in files:
            if not path.exists():
                raise CommandError(f"{path} does not exist.")
            members = sorted(found for found in path.rglob("*") if found.is_file()) if path.is_dir() else [path]
            for member in members:
                name = str(member.relative_to(path.parent)) if path.is_dir() else path.name
                with member.open("rb") as stream:
                    upload.receive_file(job=job, name=name, stream=stream)

    def _follow(self, job: ImportJob) -> None:
        """Show the phase's progress until the phase ends. Raise CommandError if the import is paused."""
        phase = job.state
        if phase not in ACTIVE_STATES:
            return
        with tqdm(desc=_PHASE_LABELS[State(phase)], unit=" zones", file=sys.stderr, dynamic_ncols=True) as bar:
            while job.state == phase:
                if self._here:
                    worker.read_import(job.pk)
                    worker.work_on_import(job.pk)
                progress = queries.progress(job, now=timezone.now())
                bar.unit = f" {progress.unit}"
                bar.total = progress.total or None
                bar.n = progress.done
                bar.refresh()
                job.refresh_from_db()
                if job.paused and job.state == phase:
                    reason = job.failure or "a person paused it"
                    raise CommandError(f"The import is paused: {reason}. To continue, use --resume {job.pk}.")
                if job.state == phase and not self._here:
                    time.sleep(_POLL_SECONDS)
            bar.n = bar.total or bar.n

    def _wait_for_canary(self, job: ImportJob) -> None:
        """Wait up to _CANARY_SECONDS until the import's last publication is confirmed by the canary or reverted."""
        if (publication := Publication.objects.filter(pk=job.last_sequence).first()) is not None:
            with suppress(TakenBack):  # the import's faults name the zones
                wait_for_canary(publication, seconds=_CANARY_SECONDS)

    def _say_scan(self, job: ImportJob) -> None:
        found = queries.scan_summary(job)
        self.stdout.write(
            f"Found {found.zones:,} zones with {found.records:,} records: {found.new:,} new, "
            f"{found.existing:,} existing, {found.duplicates:,} duplicate, {found.failed:,} that cannot be imported."
        )
        for kind in found.faults:
            self.stdout.write(f"  {kind.severity}: {kind.count:,} × {kind.code}, e.g. {kind.sample}")

    def _go_on(self, job: ImportJob, options: dict[str, Any]) -> bool:
        plan = queries.plan_summary(job)
        self.stdout.write(
            f"Would create {plan.creates:,} zones, merge {plan.unions:,}, replace RRsets of {plan.rrset_replaces:,}, "
            f"replace {plan.replaces:,}, leave {plan.unchanged:,} unchanged, skip {plan.skipped:,}, "
            f"fail for {plan.failed:,}; RRsets +{plan.added:,} ~{plan.changed:,} −{plan.removed:,}; "
            f"{plan.values_removed:,} values removed."
        )
        if plan.guarded:
            self.stdout.write(
                f"  {plan.guarded:,} zones would lose over 30 % of their RRsets or over {queries.MOST_REMOVED} values."
            )
        if not plan.to_publish or options["dry_run"]:
            return False
        if options["yes"]:
            return True
        if not sys.stdin.isatty():
            self.stderr.write(f"Nothing was applied. To apply the import, use --resume {job.pk} --yes")
            return False
        return input(f"Apply to {plan.to_publish:,} zones? [y/N] ").strip().lower() in ("y", "yes")

    def _say_report(self, job: ImportJob) -> None:
        for fault in queries.faults_page(job, severity="error", limit=20):
            self.stdout.write(f"{fault.path}:{fault.line}:{fault.column}: {fault.reason}")
            if fault.fix:
                self.stdout.write(f"    correct: {fault.fix}")
        if job.state != State.DONE:
            self.stdout.write(f"Import {job.pk} is {job.get_state_display()}.")
            return
        report = queries.report(job, now=timezone.now())
        self.stdout.write(
            f"Published {report.published:,} zones in {job.apply_seconds:.1f} s; "
            f"{report.plan.waiting:,} wait because they changed since the dry run. Undo with --undo {job.pk}."
        )
        if taken_back := ImportFault.objects.filter(job=job, code=TAKEN_BACK).count():
            raise CommandError(
                f"{taken_back:,} zones were reverted, because the name servers could not answer with them."
            )

    def _say_undone(self, job: ImportJob) -> None:
        report = queries.report(job, now=timezone.now())
        self.stdout.write(f"Undone: {report.undone:,} zones. Kept: {report.kept_in_undo:,} that others changed later.")


def _source(options: dict[str, Any]) -> tuple[str, dict[str, Any], dict[str, str] | None]:
    """Return (kind of source, parameters, secret or None) for the options. Read server secrets from standard input."""
    from_server = options["axfr"] or options["powerdns_api"] or options["powerdns_sql"]
    if options["keys_passphrase_file"] is not None and (from_server or options["format"] != SourceKind.JSON):
        raise CommandError("--keys-passphrase-file: only --format json can contain private keys.")
    if options["axfr"]:
        server, port = _server(options["axfr"])
        name, _, algorithm = (options["tsig"] or "").partition(":")
        parameters = {
            "server": server,
            "port": port,
            "zones": options["zone"],
            "catalog": options["catalog"],
            "tsig_name": name,
            "tsig_algorithm": algorithm or "hmac-sha256",
        }
        return SourceKind.AXFR, parameters, {"tsig_secret": _read_secret()} if name else None
    if options["powerdns_api"]:
        parameters = {"url": options["powerdns_api"], "server_id": "localhost", "zones": options["zone"]}
        return SourceKind.POWERDNS_API, parameters, {"key": _read_secret()}
    if options["powerdns_sql"]:
        return SourceKind.POWERDNS_SQL, _database(options["powerdns_sql"]), {"password": _read_secret()}
    if not options["files"]:
        raise CommandError("Enter the files to import, or use --axfr, --powerdns-api or --powerdns-sql.")
    return options["format"], {}, _keys_secret(options)


def _keys_secret(options: dict[str, Any]) -> dict[str, str] | None:
    """Return a secret with the passphrase of sealed keys, or None if no passphrase file was given."""
    if options["keys_passphrase_file"] is None:
        return None
    return {"keys_passphrase": passphrase_in(Path(options["keys_passphrase_file"]))}


def _read_secret() -> str:
    return sys.stdin.readline().strip()


def _server(text: str) -> tuple[str, int]:
    """Return (host, port) from `host`, `host:port`, `[v6]:port` or a bare IPv6 address. The default port is 53."""
    if text.startswith("["):
        host, _, port = text[1:].partition("]")
        return host, int(port.lstrip(":") or 53)
    if text.count(":") == 1:
        host, _, port = text.partition(":")
        return host, int(port)
    return text, 53


def _database(text: str) -> dict[str, Any]:
    found = urlsplit(text)
    if found.scheme not in ("postgresql", "mysql", "sqlite"):
        raise CommandError("--powerdns-sql needs a URL that begins with postgresql://, mysql:// or sqlite:///.")
    return {
        "kind": found.scheme,
        "host": found.hostname or "",
        "port": found.port,
        "user": found.username or "",
        "database": unquote(found.path if found.scheme == "sqlite" else found.path.lstrip("/")),
    }


def _title(options: dict[str, Any]) -> str:
    if options["files"]:
        return ", ".join(Path(name).name for name in options["files"][:3])
    return str(options["axfr"] or urlsplit(options["powerdns_api"] or options["powerdns_sql"]).hostname or "import")
