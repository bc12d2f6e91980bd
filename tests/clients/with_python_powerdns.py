"""A program with the library python-powerdns. Prints its results as JSON.

with_python_powerdns.py URL KEY ZONE STEP
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import powerdns

SERIALS = {"serial", "edited_serial", "notified_serial"}


def main() -> None:
    url, key, zone, step = sys.argv[1:]
    client = powerdns.PDNSApiClient(api_endpoint=f"{url}/api/v1", api_key=key, timeout=30)
    server = powerdns.PDNSEndpoint(client).servers[0]
    sys.stdout.write(json.dumps(STEPS[step](server, zone)) + "\n")


def create(server: Any, zone: str) -> Any:
    """Create a zone with a comment and several records, including a disabled one."""
    servers = {"sid": server.sid, "daemon": server.daemon_type, "config": len(server.config)}
    before = server.get_zone(zone)
    www = powerdns.RRSet("www", "A", ["192.0.2.1", ("192.0.2.2", True)], ttl=60)
    www.ensure_canonical(zone)
    made = server.create_zone(name=zone, kind="Native", nameservers=["ns1.clients.test."], rrsets=[www])
    comment = powerdns.Comment("asked for by the help desk", "alice", 1_700_000_000)
    made.create_records(
        [
            powerdns.RRSet("mail", "MX", [f"10 mx.{zone}"], ttl=120, comments=[comment]),
            powerdns.RRSet("alias", "CNAME", ["www"]),
        ]
    )
    return {**servers, "before": before, "suggested": str(server.suggest_zone(f"a.b.{zone}"))}


def look(server: Any, zone: str) -> Any:
    """Return the zone's content, read by name and by search."""
    there = server.get_zone(zone)
    return {
        "details": {key: value for key, value in there.details.items() if key != "rrsets"},
        "mail": there.get_record(f"mail.{zone}"),
        "www": there.get_record(f"www.{zone}"),
        "searched": sorted(found["object_type"] for found in server.search(f"*{zone.rstrip('.')}*", 50)),
        "comments": [found for found in server.search("*help desk*") if found["object_type"] == "comment"],
    }


def change(server: Any, zone: str) -> Any:
    """Change one RRset, and delete another."""
    there = server.get_zone(zone)
    there.create_records([powerdns.RRSet("www", "A", ["192.0.2.3"], ttl=30)])
    there.delete_records([powerdns.RRSet("alias", "CNAME", [])])
    return None


def notify(server: Any, zone: str) -> Any:
    return server.get_zone(zone).notify()


def restore(server: Any, zone: str) -> Any:
    """Delete the zone, and recreate it from the library's backup, which has all of the server's fields."""
    there = server.get_zone(zone)
    before = json.loads(json.dumps(there.details))
    with tempfile.TemporaryDirectory() as directory:
        there.backup(directory)
        server.delete_zone(zone)
        gone = server.get_zone(zone)
        server.restore_zone(str(Path(directory, f"{zone.rstrip('.')}.json")))
    after = server.get_zone(zone).details
    for details in (before, after):
        for rrset in details["rrsets"]:
            if rrset["type"] == "SOA":
                rrset["records"] = []
        details["rrsets"].sort(key=lambda rrset: (rrset["name"], rrset["type"]))
    different = [key for key in before if key not in SERIALS and before[key] != after[key]]
    return {"gone": gone, "different": different}


def refused(server: Any, zone: str) -> Any:
    """Send a PATCH with one valid and one invalid RRset. Return the library's error."""
    there = server.get_zone(zone)
    good, bad = powerdns.RRSet("good", "A", ["192.0.2.4"]), powerdns.RRSet("bad", "A", ["not an address"])
    try:
        there.create_records([good, bad])
    except powerdns.exceptions.PDNSError as error:
        return {"status": error.status_code, "message": str(error)}
    return None


STEPS = {
    "create": create,
    "look": look,
    "change": change,
    "notify": notify,
    "restore": restore,
    "refused": refused,
}

if __name__ == "__main__":
    main()
