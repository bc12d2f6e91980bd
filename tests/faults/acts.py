"""Acts that tests run inside the panel (see `panel`): edits by the panel's verbs, and queries of its state.

Arguments and results are JSON values.
"""

import contextlib
import io
import time
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from django.core.management import call_command
from django.db import connection
from django.utils import timezone

from dnspanel.accounts.actors.actors import EVERY_RIGHT, Grant
from dnspanel.accounts.models import Team, User
from dnspanel.accounts.people import invite, teams
from dnspanel.accounts.secrets.vault import decrypt_secret
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import create_token
from dnspanel.fleet import resync
from dnspanel.fleet.integrity import unknown_history
from dnspanel.fleet.models import Authority, Choice, Node
from dnspanel.fleet.nodes import machines, node_keys, node_lifecycle
from dnspanel.fleet.nodes.authority import NODE_LIFETIME, client_ssl_context, sign_node_certificate
from dnspanel.fleet.push.maintenance import maintain_log
from dnspanel.fleet.reads.queries import node_statuses
from dnspanel.fleet.tasks import bootstrap_waiting_nodes, push_node
from dnspanel.publish.encoding.encode import encode_step
from dnspanel.publish.files.snapshots import make_snapshot
from dnspanel.publish.keys import segment_signing
from dnspanel.publish.reading.schemas import schemas_in_use
from dnspanel.publish.storage.prune import prune_log
from dnspanel.publish.tasks import encode_log
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec import key_material
from dnspanel.zones.log.publish_hold import current_hold
from dnspanel.zones.models import Channel, LogHead, Zone
from dnspanel.zones.publishing import edit, zone_patches
from dnspanel.zones.settings.settings_of_zone import change_settings
from dnspanel.zones.signing import sign
from replication.dns import names, rrset
from replication.dns.rdtypes import type_from_text
from replication.errors import ReplicationError
from replication.node_client import NodeClient
from tests.publishing import change_rrsets

TTL = 300

Values = dict[str, str | None]


# Edits


def create_zone(name: str, values: Values | None = None) -> dict[str, Any]:
    """Create a zone with these values (see `change`). Return its id and the publication's sequence."""
    publication = edit.create_zone(
        zone=edit.NewZone(name),
        acting=Acting(None, Channel.SYSTEM, timezone.now()),
        apex=edit.Apex(nameservers=["ns1.example.net.", "ns2.example.net."]),
    )
    if values:
        publication_of_values = change(name, values)
        return {"zone_id": _zone(name).pk, "sequence": publication_of_values["sequence"]}
    return {"zone_id": _zone(name).pk, "sequence": publication.sequence}


def sign_zone(name: str, private_key: str | None = None) -> dict[str, Any]:
    """Sign the zone with a new key, or with this private-key text. Return the DNSKEY and the private-key text."""
    zone, acting = _zone(name), Acting(None, Channel.SYSTEM, timezone.now())
    key = sign.add_key(zone=zone, acting=acting, texts=sign.KeyTexts(private_key))
    assert key.private_encrypted is not None
    dnskey = key_material.dnskey_text(key.flags, key.algorithm, bytes(key.public))
    return {"dnskey": dnskey, "private_key": decrypt_secret(key.private_encrypted).decode()}


def delete_zone(name: str) -> dict[str, Any]:
    """Move the zone into the trash."""
    publication = edit.delete_zone(zone=_zone(name), acting=Acting(None, Channel.SYSTEM, timezone.now()))
    return {"sequence": publication.sequence}


def change(zone: str, values: Values) -> dict[str, Any]:
    """Publish values by `"name TYPE"`: one rdata each, or null to delete the RRset. Return the sequence."""
    changes = {}
    for key, rdata in values.items():
        text, _, type_text = key.partition(" ")
        name, type_ = names.parse(text), type_from_text(type_text)  # like the interfaces that read typed text
        changes[(name, type_)] = None if rdata is None else rrset.make(name, type_, TTL, [rdata])
    publication = change_rrsets(
        zone=_zone(zone), changes=changes, author=None, channel=Channel.SYSTEM, now=timezone.now()
    )
    return {"sequence": publication.sequence}


def change_many(zone: str, values: list[Values]) -> int:
    """Publish each of these values in a separate publication. Return the last sequence."""
    return [change(zone, each)["sequence"] for each in values][-1]


def create_many(prefix: str, count: int, owners: int) -> int:
    """Publish `count` zones `<prefix><n>.test.` with `owners` addresses each at once. Return the sequence."""
    zones = []
    for number in range(count):
        name = f"{prefix}{number}.test."
        rrsets = [rrset.make(f"h{n}.{name}", 1, TTL, ["192.0.2.1"]) for n in range(owners)]
        zones.append(edit.NewZone(name=name, rrsets=rrsets))
    return edit.create_zones(zones=zones, acting=Acting(None, Channel.IMPORT, timezone.now())).sequence


def _zone(name: str) -> Zone:
    return Zone.objects.get(name=name, deleted_at=None)


# The panel's displayed state


def positions() -> dict[str, Any]:
    """Return the log's epoch and head, and each node's epoch, position, state and message in the panel."""
    head = LogHead.objects.get()
    statuses = node_statuses(now=timezone.now())
    return {
        "epoch": str(head.epoch),
        "head": head.sequence,
        "nodes": {
            s.node.name: [str(s.node.epoch), s.node.acked, str(s.health.word), s.health.message] for s in statuses
        },
    }


def published(after: int) -> list[list[Any]]:
    """Return the changes after this sequence as [sequence, zone, kind, name, type, first rdata]."""
    return rows(
        """
        SELECT v.publication_id, z.name, v.kind, coalesce(c.name, ''), coalesce(c.type, 0), c.after -> 'rdata' ->> 0
        FROM zones_revision v JOIN zones_zone z ON z.id = v.zone_id LEFT JOIN zones_change c ON c.revision_id = v.id
        WHERE v.publication_id > %s ORDER BY v.publication_id, v.zone_id, v.number""",
        [after],
    )


def rows(sql: str, parameters: list[Any] | None = None) -> list[list[Any]]:
    """Return the rows of a test's SQL query. Values other than text, numbers and null are converted to text."""
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        found = cursor.fetchall() if cursor.description else []
    return [[_plain(value) for value in row] for row in found]


def _plain(value: Any) -> Any:
    if isinstance(value, memoryview | bytes):
        return bytes(value).hex()
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def manage(command: str, *arguments: str) -> str:
    """Run a management command, and return its output."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        call_command(command, *arguments, stdout=out)
    return out.getvalue()


def audit() -> str:
    """Run `manage.py audit`. Raise CommandError unless PostgreSQL, the panel's LMDB and all nodes are equal."""
    return manage("audit")


# Nodes and wake-ups


def create_node(name: str, dns_address: str, dns_port: int, agent_host: str, agent_port: int, schema: int) -> str:
    """Create a node that waits for its agent, and return the join code."""
    node = node_lifecycle.create_node(
        node_lifecycle.NodeDescription(
            name=name,
            dns_address=dns_address,
            dns_port=dns_port,
            agent_host=agent_host,
            agent_port=agent_port,
            schema=schema,
        ),
        now=timezone.now(),
        by=None,
    )
    return node_lifecycle.make_code(node=node, now=timezone.now(), by=None)


def approve_request(name: str) -> bool:
    """Approve the node's request. Return False if there is no request yet."""
    node = node_lifecycle.node_by_name(name)
    if node_lifecycle.request_of(node) is None:
        return False
    node_lifecycle.approve(node=node, now=timezone.now(), by=None)
    return True


def retire(name: str) -> None:
    """Retire the node from the fleet."""
    node_lifecycle.retire(node=node_lifecycle.node_by_name(name), now=timezone.now(), by=None)


def wake_node(name: str) -> None:
    """Wake the worker that pushes to this node, as a new segment would."""
    push_node.apply_async((node_lifecycle.node_by_name(name).pk,), retry=False)


def wake_publisher() -> None:
    """Wake the publisher, as an edit would."""
    encode_log.apply_async(retry=False)


def node(name: str) -> dict[str, Any]:
    """Return the node's row as JSON values."""
    found = Node.objects.filter(name=name).values().get()
    return {key: value if isinstance(value, dict | list) else _plain(value) for key, value in found.items()}


def make_token() -> str:
    """Return the secret of an API token with all rights."""
    owner = User.objects.filter(username="faults").first() or invite.accept_invitation(
        secret=invite.make_invitation(role="administrator", by=None, now=timezone.now()),
        username="faults",
        email="faults@people.test",
        password="correct horse battery staple",
        now=timezone.now(),
    )
    terms = TokenTerms("faults", (Grant(EVERY_RIGHT, everywhere=True),))
    return create_token(owner=owner, terms=terms, by=owner, now=timezone.now()).secret


def encode_here() -> str | None:
    """Run one step of a second publisher. Return None if there is nothing to do or another publisher is active."""
    reached = encode_step(now=timezone.now())
    return str(reached) if reached else None


def change_slowly(zone: str, stamp: str, seconds: float) -> dict[str, Any]:
    """Publish an edit whose transaction waits some seconds before it takes its sequence."""
    found = _zone(zone)
    name = f"slow.{zone}"
    patch = zone_patches.patch_of_steps(
        found, [((name, 16), zone_patches.replace_with(rrset.make(name, 16, TTL, [stamp])))]
    )

    def decide(there: Any) -> Any:
        time.sleep(seconds)
        return patch.decide(there)

    outcome = zone_patches.publish_patches(
        patches=[replace(patch, decide=decide)], acting=Acting(None, Channel.SYSTEM, timezone.now())
    )
    return {"sequence": outcome.publication.sequence}


# The fleet


def drain(name: str) -> None:
    """Drain the node, so that it receives nothing until `resume`."""
    node_lifecycle.drain(node=node_lifecycle.node_by_name(name), now=timezone.now(), by=None, reason="a fault test")


def resume(name: str) -> None:
    node_lifecycle.resume(node=node_lifecycle.node_by_name(name), now=timezone.now(), by=None)


def revoke(name: str) -> None:
    """Revoke the node's certificate."""
    node_lifecycle.revoke(node=node_lifecycle.node_by_name(name), now=timezone.now(), by=None)


def maintain() -> None:
    """Do the maintenance that beat starts periodically: snapshots, merges, pruning, and waking bootstraps."""
    maintain_log(now=timezone.now())
    bootstrap_waiting_nodes.apply_async(retry=False)


def forget_the_log() -> None:
    """Make snapshots and prune all segments before them, as if every node had been away longer than the log is kept."""
    for schema in schemas_in_use():
        make_snapshot(schema=schema, now=timezone.now())
    prune_log(needed={}, now=timezone.now())


def sealed_keys() -> str:
    """Return the signed list of segment keys that nodes currently get, as hex."""
    sealed = segment_signing.sealed_keyring(segment_signing.public_keys())
    assert sealed is not None
    return sealed.hex()


def make_newer_keys() -> None:
    """Rotate the signing key, which makes a new list of keys."""
    node_keys.rotate(now=timezone.now(), by=None)


def send_keys(name: str) -> None:
    """Send the newest list of keys to the node."""
    with _client(name) as client:
        node_keys.send_keys(client)


def try_keys(name: str, sealed: str) -> str:
    """Send this list of keys to the node. Return the refusal, or an empty string if the node accepts it."""
    with _client(name) as client:
        try:
            client.send_keys(bytes.fromhex(sealed))
        except ReplicationError as exc:
            return str(exc)
    return ""


def _client(name: str) -> NodeClient:
    node = node_lifecycle.node_by_name(name)
    context = client_ssl_context(Authority.objects.get())
    return NodeClient(node.agent_host, node.agent_port, context, certificate_sha256=node.pins)


def check_now(name: str) -> None:
    """Make the node check all rows of its files, like the button on its page."""
    resync.check_now(node=node_lifecycle.node_by_name(name), now=timezone.now(), by=None)


def divergences(name: str) -> list[list[Any]]:
    """Return the divergences found on a node: zone, description, repaired or not, and error."""
    return rows(
        """
        SELECT d.zone_name, d.words, d.repaired_at IS NOT NULL, d.error FROM fleet_divergence d
        JOIN fleet_node n ON n.id = d.node_id WHERE n.name = %s ORDER BY d.id""",
        [name],
    )


def events(name: str) -> list[str]:
    """Return the event texts on the node's page."""
    found = rows(
        "SELECT e.sentence FROM fleet_nodeevent e JOIN fleet_node n ON n.id = e.node_id "
        "WHERE n.name = %s ORDER BY e.id",
        [name],
    )
    return [row[0] for row in found]


def move_to_team(zone: str) -> None:
    """Move the zone to another team, which changes its account in PowerDNS."""
    by = User.objects.get(username="faults") if User.objects.filter(username="faults").exists() else None
    team = Team.objects.filter(name="faults").first() or teams.create_team(name="faults", by=by, now=timezone.now())
    change_settings(zone=_zone(zone), tags=[], team=team, author=by, now=timezone.now())


def keep_first_machine(name: str) -> None:
    """Keep the first known of two machines with the node's identity, as a person would."""
    machines.keep_first(node=node_lifecycle.node_by_name(name), now=timezone.now(), by=None)


def expire_certificate(name: str) -> str:
    """Return a certificate for the node's key that expired a minute ago, and store it as the node's certificate."""
    return _certify(name, timezone.now() - NODE_LIFETIME - timedelta(minutes=1))


def renew_certificate(name: str) -> str:
    """Return a new certificate for the node's key, valid from now."""
    return _certify(name, timezone.now())


def _certify(name: str, now: datetime) -> str:
    node = node_lifecycle.node_by_name(name)
    old = x509.load_pem_x509_certificate(node.certificate_pem.encode())
    certificate = sign_node_certificate(
        authority=Authority.objects.get(),
        public_key=old.public_key(),
        node_name=name,
        agent_host=node.agent_host,
        now=now,
    )
    pem = certificate.public_bytes(Encoding.PEM).decode()
    Node.objects.filter(pk=node.pk).update(
        certificate_pem=pem,
        certificate_sha256=certificate.fingerprint(SHA256()).hex(),
        certificate_expires_at=certificate.not_valid_after_utc,
        next_certificate_pem="",
        next_certificate_sha256="",
    )
    return pem


def use_newest_key() -> None:
    """Sign segments with the newest key, even if some nodes don't know it yet."""
    node_keys.force(now=timezone.now(), by=None)


def public_keys() -> list[str]:
    """Return the public keys whose segments nodes accept, as hex."""
    return [key.hex() for key in segment_signing.public_keys()]


# The hold


def hold_reason() -> str:
    """Return the reason of the publishing hold, or an empty string if there is no hold."""
    found = current_hold()
    return found.reason if found else ""


def known_to_nodes_only() -> list[str]:
    """Return the zones that differ between nodes and panel, or an empty list until all nodes have been queried."""
    report = unknown_history.newest_report()
    if report is None or report.ended_at is None:
        return []
    return [zone.name for zone in unknown_history.zones_page(report, limit=1_000)]


def decide(choice: str) -> None:
    """Record a person's decision: `take_over` or `keep`."""
    make_token()  # creates a person who is allowed to decide
    report = unknown_history.newest_report()
    assert report is not None
    typed = unknown_history.TYPED[Choice(choice)]
    by = User.objects.get(username="faults")
    unknown_history.decide(report=report, choice=choice, typed=typed, reason="a fault test", by=by, now=timezone.now())
