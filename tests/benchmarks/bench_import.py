"""A provider's whole estate, imported from a tar.gz of zone files until three nodes answer, with edits in parallel.

The clock starts when the upload is complete. Scan, dry run and apply follow without a pause, as if a person pressed
each button immediately. The clock stops when all three real `pdns_server` nodes answer for the zone that was published
last, for the last zone of the archive, and for 200 others. `dry_run_s` is the scan and the dry run, `saved_s` the time
from there until everything is in PostgreSQL, `answered_s` the time from the start.

At the same time a person edits other zones, one record after another. `edit_p99_ms` is the time from before the edit's
transaction until the last node answers with it.

Before this, on the same stack and without edits, a tenth of such an estate is imported by dnspanel, by `zone2sql |
psql` and by `pdnsutil b2b-migrate bind lmdb`. The ratios are their seconds divided by those of dnspanel, which include
the answers of the nodes.
"""

import argparse
import json
import math
import random
import shutil
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dnspanel.demo import unprivileged
from tests import zonegen
from tests.benchmarks import answers, peaks, rivals, stacks, timeline
from tests.benchmarks.say import say

EDITED_ZONES = 50
EDIT_PAUSE = (0.2, 0.8)
LOOKED_AT = 200
STALLS_AFTER = 1800.0
_POLL_SECONDS = 0.03


@dataclass(frozen=True, slots=True)
class Timing:
    """The seconds of each phase of an import. `answered` counts from its start."""

    scan: float
    dry_run: float
    saved: float
    answered: float


class Editor(threading.Thread):
    """A simulated person who edits one record after another, and waits each time until all nodes answer with it."""

    def __init__(self, nodes: list[answers.Address], targets: list[tuple[int, str]]) -> None:
        super().__init__(daemon=True)
        self.edits: list[timeline.Edit] = []
        self.failure: BaseException | None = None
        self._nodes, self._targets = nodes, targets
        self._stop_soon = threading.Event()

    def run(self) -> None:
        from django.db import connection

        chance = random.Random(1)
        try:
            while not self._stop_soon.wait(chance.uniform(*EDIT_PAUSE)):
                self._edit(len(self.edits) + 1)
        except BaseException as exc:
            self.failure = exc
        finally:
            connection.close()

    def finish(self) -> list[timeline.Edit]:
        """Stop editing and return all edits. If editing ended early because of an error, raise this error."""
        self._stop_soon.set()
        self.join()
        if self.failure is not None:
            raise self.failure
        return self.edits

    def _edit(self, number: int) -> None:
        zone_id, name = self._targets[number % len(self._targets)]
        address = f"198.51.{number // 250 % 250}.{number % 250 + 1}"
        edit = timeline.publish(self._nodes, zone_id=zone_id, name=name, address=address, timeout=60, every=0.004)
        self.edits.append(edit)


def make_edited_zones() -> list[tuple[int, str]]:
    """Return (zone id, owner name) of an address in each of some zones that the import does not touch."""
    from django.utils import timezone

    from dnspanel.zones.acting import Acting
    from dnspanel.zones.models import Channel, Zone
    from dnspanel.zones.publishing import edit
    from replication.dns.rdtypes import A
    from replication.dns.rrset import make

    names = [f"edited-{number}.test." for number in range(EDITED_ZONES)]
    new = [edit.NewZone(name, [make(f"www.{name}", A, 300, ["192.0.2.1"])]) for name in names]
    edit.create_zones(zones=new, acting=Acting(None, Channel.SYSTEM, timezone.now()))
    ids = dict(Zone.objects.filter(name__in=names).values_list("name", "id"))
    return [(ids[name], f"www.{name}") for name in names]


def uploaded(archive: Path) -> Any:
    """Upload the archive and return its import job, with the upload complete."""
    from django.conf import settings
    from django.utils import timezone

    from dnspanel.transfer.files import upload
    from dnspanel.transfer.imports import import_jobs
    from dnspanel.transfer.models import SourceKind

    with archive.open("rb") as stream:
        job = import_jobs.create_job(source=SourceKind.FILES, title=archive.name, author=None, now=timezone.now())
        upload.receive_file(job=job, name=archive.name, stream=stream)
    # The files belong to the user of the benchmark, but the stack's processes run as another user.
    for path in (settings.TRANSFER_DIR, *settings.TRANSFER_DIR.rglob("*")):
        unprivileged.give(path)
    return job


def run_import(stack: stacks.BenchStack, job: Any, *, zones: int, last: str) -> Timing:
    """Scan, dry run and apply, then wait until every node answers. Raise an error if a zone is not imported."""
    from django.utils import timezone

    from dnspanel.transfer.imports import import_jobs
    from dnspanel.transfer.models import ImportZone, State
    from dnspanel.zones.models import Zone

    began = time.monotonic()
    import_jobs.start_scan(job=job, now=timezone.now())
    _wait_for_state(job, State.CHOOSING)
    scanned = time.monotonic()
    import_jobs.start_plan(job=job, now=timezone.now())
    _wait_for_state(job, State.PLANNED)
    planned = time.monotonic()
    import_jobs.start_apply(job=job, author=None, now=timezone.now())
    _wait_for_state(job, State.DONE)
    saved = time.monotonic()
    names = list(ImportZone.objects.filter(job=job, action="create").order_by("name").values_list("name", flat=True))
    created = Zone.objects.filter(id__in=ImportZone.objects.filter(job=job).values("zone_id")).count()
    if not zones == len(names) == created:
        raise RuntimeError(f"{created} of {zones} zones were created")
    chosen = random.Random(1).sample(names, min(LOOKED_AT, zones))
    wait_until_answered(stack, [last, _published_last(), *chosen])
    return Timing(scanned - began, planned - began, saved - planned, time.monotonic() - began)


def wait_until_answered(stack: stacks.BenchStack, zone_names: list[str]) -> None:
    """Wait until every node returns an address at the apex of each of these zones."""
    deadline = time.monotonic() + STALLS_AFTER
    for node in stack.dns_addresses:
        for name in zone_names:
            while not answers.has_address(node, name):
                if time.monotonic() > deadline:
                    raise TimeoutError(f"{node} does not answer for {name}")
                time.sleep(_POLL_SECONDS)


def _published_last() -> str:
    from dnspanel.transfer.models import ImportPiece
    from dnspanel.zones.models import Zone

    newest = ImportPiece.objects.exclude(created_in=None).order_by("-created_in")[0].created_in
    return Zone.objects.filter(sequence=newest).order_by("-id")[0].name


def _wait_for_state(job: Any, state: str) -> None:
    deadline = time.monotonic() + STALLS_AFTER
    while job.state != state:
        if job.paused or job.failure or time.monotonic() > deadline:
            raise RuntimeError(f"the import is {job.state}, not {state}: {job.failure or 'too late'}")
        time.sleep(_POLL_SECONDS)
        job.refresh_from_db()


def compare_with_rivals(stack: stacks.BenchStack, directory: Path, *, zones: int, records: int) -> dict[str, float]:
    """Import a small estate with dnspanel and with PowerDNS's own tools. Return the seconds of each."""
    archive = directory / "tenth.tar.gz"
    last = zonegen.write_archive(archive, zones, records, seed=2, prefix="tenth")
    ours = run_import(stack, uploaded(archive), zones=zones, last=last).answered
    stack.wait_until_in_sync(timeout=STALLS_AFTER)
    files = directory / "zones"
    files.mkdir()
    conf = zonegen.write_named_conf(files, zones, records, seed=2, prefix="tenth")
    server = stack.stack.stores.database_url.rpartition("/")[0]
    zone2sql = rivals.zone2sql_seconds(conf, server=server, records=records)
    b2b = rivals.b2b_migrate_seconds(conf, directory=directory / "b2b", zones=zones)
    shutil.rmtree(files)
    say(f"a tenth, {zones:,} zones, {records:,} records: ours {ours:.1f} s until answered by the nodes,")
    say(f"  zone2sql | psql {zone2sql:.1f} s, pdnsutil b2b-migrate bind lmdb {b2b:.1f} s")
    return {"vs_zone2sql": round(zone2sql / ours, 1), "vs_b2b_migrate": round(b2b / ours, 1)}


def measure(stack: stacks.BenchStack, archive: Path, *, zones: int, records: int, last: str) -> dict[str, Any]:
    """Import the whole estate during edits, and return the results for the last line."""
    job = uploaded(archive)
    targets = make_edited_zones()
    stack.wait_until_in_sync(timeout=STALLS_AFTER)
    editor = Editor(stack.dns_addresses, targets)
    editor.start()
    began = time.time()
    timing = run_import(stack, job, zones=zones, last=last)
    edits = editor.finish()
    say(f"scan {timing.scan:.1f} s, with dry run {timing.dry_run:.1f} s, saved after {timing.saved:.1f} s more,")
    say(f"  answered by all nodes {timing.answered:.1f} s after the upload: {records / timing.answered:,.0f} records/s")
    say_edits("scan and dry run", [edit for edit in edits if edit.began < began + timing.dry_run])
    applying = [edit for edit in edits if edit.began >= began + timing.dry_run]
    say_edits("apply", applying)
    for step in timeline.time_line(applying, stack.stack.directory / "log"):
        say(f"  {step.ms:7.1f} ms  {step.name}")
    return {
        "dry_run_s": round(timing.dry_run, 1),
        "saved_s": round(timing.saved, 1),
        "answered_s": round(timing.answered, 1),
        "write_lock_ms_max": round(max(one.write_lock_ms_max for one in stack.status()), 1),
        "write_lock_own_ms_max": round(max(one.write_lock_own_ms_max for one in stack.status()), 1),
        "edit_p99_ms": round(percentile(edits, 0.99), 1),
    }


def percentile(edits: list[timeline.Edit], share: float) -> float:
    """Return the percentile for this share of the edits, in milliseconds."""
    return sorted(edit.milliseconds for edit in edits)[math.ceil(len(edits) * share) - 1]


def say_edits(meanwhile: str, edits: list[timeline.Edit]) -> None:
    if edits:
        p50, p99, longest = (percentile(edits, share) for share in (0.5, 0.99, 1.0))
        say(f"{len(edits)} edits during {meanwhile}: p50 {p50:.0f} ms, p99 {p99:.0f} ms, longest {longest:.0f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--zones", type=int, default=zonegen.PROVIDER_ZONES)
    parser.add_argument("--records", type=int, help="default: as many per zone as in the published estate")
    args = parser.parse_args()
    zones = args.zones
    records = args.records or zonegen.provider_records(zones)
    with stacks.bench_stack("import") as stack:
        directory = stack.stack.directory / "import"
        directory.mkdir()
        ratios = compare_with_rivals(stack, directory, zones=zones // 10, records=records // 10)
        archive = directory / "estate.tar.gz"
        last = zonegen.write_archive(archive, zones, records)
        say(f"{archive.name}: {zones:,} zones, {records:,} records, {archive.stat().st_size / 2**20:.0f} MiB")
        with peaks.Peaks(stack.supervisor_pid()) as memory:
            found = measure(stack, archive, zones=zones, records=records, last=last)
        for row in memory.by_name():
            say(f"  {row.name:>36} {row.mb:6.0f} MiB at most {row.seconds:7.1f} s of a core")
        core_s = sum(row.seconds for row in memory.by_name())
        say(f"  {core_s:.0f} s of a core altogether, archive and clients apart")
    edit_p99_ms = found.pop("edit_p99_ms")
    figures = {
        "zones": zones,
        "records": records,
        **found,
        "peak_mb": round(memory.by_name()[0].mb),
        "core_s": round(core_s, 1),
    }
    say(json.dumps({"bench": "import", **figures, **ratios, "edit_p99_ms": edit_p99_ms}))


if __name__ == "__main__":
    main()
