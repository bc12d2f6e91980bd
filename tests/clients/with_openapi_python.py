"""A program with the client that openapi-python-client generated. It runs ten steps, and prints each successful one.

    with_openapi_python.py URL TOKEN ZONE

`panel_client` is the package that the test generates from the panel's `/api/v2/openapi.json`.
"""

import sys
import time
from datetime import datetime
from typing import Any, TypeVar

from panel_client.api.change_records import (
    change_r_rsets,
    change_r_rsets_in_zones,
    create_zone,
    delete_zone,
    get_r_rset,
    list_deleted_zones,
    list_r_rsets,
    restore_zone,
    set_r_rset,
)
from panel_client.api.export import create_export, download_export, get_export
from panel_client.api.start_here import get_me
from panel_client.api.watch_a_publication import get_publication, undo_publication
from panel_client.client import AuthenticatedClient
from panel_client.models import (
    BulkRequest,
    ChangeOp,
    ChangeOrderRequest,
    ChangesRequest,
    ExportFormat,
    ExportRequest,
    NewZoneRequest,
    Plans,
    Problem,
    RRsetContentRequest,
    RunState,
    UndoRequest,
    ZoneChangesRequest,
)
from panel_client.types import Response

T = TypeVar("T")
WAIT = 20


def main(url: str, token: str, zone: str) -> None:
    client = AuthenticatedClient(url, token, raise_on_unexpected_status=True)
    me = good(get_me.sync_detailed(client=client))
    check(me.user and me.scope[0].everywhere, me)
    done("me")

    made = good(create_zone.sync_detailed(client=client, body=NewZoneRequest(name=zone), wait=WAIT), 201)
    check(made.zone.name == zone and made.publication.everywhere, made)
    assert isinstance(made.publication.at, datetime)
    done("create a zone")

    body = RRsetContentRequest(ttl=300, rdata=["192.0.2.1", "192.0.2.2"])
    answer = set_r_rset.sync_detailed(zone, "www", "A", client=client, body=body, wait=WAIT, idempotency_key="www")
    assert good(answer).rrset.rdata == ["192.0.2.1", "192.0.2.2"]
    again = set_r_rset.sync_detailed(zone, "www", "A", client=client, body=body, wait=WAIT, idempotency_key="www")
    assert again.headers["Idempotency-Replayed"] == "true"
    done("records")

    changes = [
        ChangeOrderRequest(op=ChangeOp.REPLACE, name=f"host{number}", type_="A", ttl=60, rdata=[f"192.0.2.{number}"])
        for number in range(1, 6)
    ]
    bulk = BulkRequest(zones=[ZoneChangesRequest(zone=zone, changes=changes)], reason="Ten steps")
    written = good(change_r_rsets_in_zones.sync_detailed(client=client, body=bulk))
    assert written.zones[0].added == 5, written
    done("bulk")

    dropped = [ChangeOrderRequest(op=ChangeOp.DELETE, name=f"host{number}", type_="A") for number in range(1, 6)]
    plans = good(change_r_rsets.sync_detailed(zone, client=client, body=ChangesRequest(changes=dropped), dry_run=True))
    check(isinstance(plans, Plans) and plans.plans[0].removed == 5, plans)
    done("dry run")

    sequence = written.publication.sequence
    watched = good(get_publication.sync_detailed(sequence, client=client, wait=WAIT))
    check(watched.everywhere and watched.reached == watched.of and len(watched.nodes) == watched.of, watched)
    done("wait for nodes")

    read = get_r_rset.sync_detailed(zone, "www", "A", client=client)
    tag = read.headers["ETag"]
    newer = RRsetContentRequest(ttl=600, rdata=["192.0.2.3"])
    good(set_r_rset.sync_detailed(zone, "www", "A", client=client, body=newer, if_match=tag))
    stale = set_r_rset.sync_detailed(zone, "www", "A", client=client, body=body, if_match=tag)
    check(stale.status_code == 412 and isinstance(stale.parsed, Problem), stale)
    assert stale.parsed.code == "precondition-failed"
    assert (stale.parsed.base["ttl"], stale.parsed.theirs["ttl"]) == (300, 600), stale.parsed
    bad = set_r_rset.sync_detailed(
        zone, "www", "A", client=client, body=RRsetContentRequest(ttl=300, rdata=["192.0.2.256"])
    )
    check(bad.status_code == 422 and bad.parsed.errors[0].pointer == "/rdata/0", bad.parsed)
    done("typed errors")

    names, cursor = [], None
    while cursor is not None or not names:
        page = good(list_r_rsets.sync_detailed(zone, client=client, limit=3, **({"cursor": cursor} if cursor else {})))
        names += [rrset.name for rrset in page.items]
        cursor = page.next_cursor
    assert len(names) == len(set(names)) + 1, names  # the apex has two, SOA and NS
    assert {f"host{number}.{zone}" for number in range(1, 6)} < set(names), names
    done("list with cursor")

    undone = undo_publication.sync_detailed(sequence, client=client, body=UndoRequest(), wait=WAIT)
    if undone.status_code == 409:  # large deletions have to be confirmed
        check(undone.parsed.code == "needs-confirmation" and undone.parsed.reasons, undone.parsed)
        undone = undo_publication.sync_detailed(sequence, client=client, body=UndoRequest(confirm=True), wait=WAIT)
    good(undone)
    gone = get_r_rset.sync_detailed(zone, "host1", "A", client=client)
    check(gone.status_code == 404 and gone.parsed.code == "not-found", gone)
    done("undo")

    good(delete_zone.sync_detailed(zone, client=client, wait=WAIT))
    trashed = [one for one in good(list_deleted_zones.sync_detailed(client=client)).items if one.name == zone]
    restored = good(restore_zone.sync_detailed(trashed[0].id, client=client, wait=WAIT))
    assert restored.zone.name == zone, restored
    download(client, zone)
    good(delete_zone.sync_detailed(zone, client=client))
    done("delete, restore")


def download(client: AuthenticatedClient, zone: str) -> None:
    """Download an export as bytes through a generated method. Generators must know the file's media type."""
    export = good(
        create_export.sync_detailed(client=client, body=ExportRequest(format_=ExportFormat.BIND, zones=[zone]))
    )
    while export.state in {RunState.WAITING, RunState.RUNNING}:
        time.sleep(0.1)
        export = good(get_export.sync_detailed(export.id, client=client))
    assert good(download_export.sync_detailed(export.id, client=client)).payload.read(2) == b"\x1f\x8b"


def check(holds: object, seen: object) -> None:
    """Raise AssertionError with the observed value if the condition is false."""
    if not holds:
        raise AssertionError(seen)


def good(answer: Response[T | Problem], *statuses: int) -> Any:
    """Check that a call succeeded, and return its parsed response."""
    assert answer.status_code in (statuses or (200, 201, 202)), answer
    assert not isinstance(answer.parsed, Problem), answer.parsed
    return answer.parsed


def done(step: str) -> None:
    sys.stdout.write(f"{step}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
