"""Configure and check ALIAS and LUA, the types that PowerDNS computes. The panel chooses which of them are on.

    <state_dir>/computed-types.json     the panel's last choice (`ComputedTypes`); pdns.conf is written from it
    <state_dir>/unanswered.json         the records without a correct answer: [[hex of the row's key, *Unanswered]]

To change the configuration, the agent restarts PowerDNS with another pdns.conf. Afterwards the agent relies only on the
configuration that the running PowerDNS reports, not on the file.
"""

import json
import logging
import secrets
import threading
import time
from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path

import dns.exception
import dns.flags
import dns.message
import dns.query
import dns.rcode

from replication import verify
from replication.agent.agent_config import AgentConfig
from replication.agent.agent_identity import IdentityKeeper, write_atomically
from replication.agent.powerdns.pdnsconf import render, settings_of
from replication.agent.powerdns.running_config import Configuration, RunningConfig
from replication.errors import BadBytes, NotServed
from replication.store.store import Store
from replication.wire.protocol import MAX_LISTED_UNANSWERED, NEITHER, ComputedTypes, Unanswered, split_resolver

CHOICE_FILE, UNANSWERED_FILE = "computed-types.json", "unanswered.json"
# How long a push, or a repeated query for a missing answer, waits for computed answers.
PROOF_SECONDS = 1.0
# PowerDNS restarts with its new pdns.conf within this time, or something is wrong.
RESTART_SECONDS = 15.0
_RESTART_PAUSE_SECONDS = 0.1
RESOLVER_SECONDS = 1.0
# The interval at which the resolver, and ALIAS and LUA records without an answer, are queried again.
CHECK_EVERY_SECONDS = 10.0

logger = logging.getLogger(__name__)


def read_computed_types(state_dir: Path) -> ComputedTypes:
    """Return the computed types that the panel chose last. By default, ALIAS and LUA are both off."""
    try:
        return ComputedTypes.from_json(json.loads((state_dir / CHOICE_FILE).read_text()))
    except FileNotFoundError:
        return NEITHER


def pdns_conf_of(config: AgentConfig, *, schema: int) -> str:
    """Render this node's pdns.conf with the computed types that the panel chose last."""
    return render(settings_of(config, schema=schema, computed_types=read_computed_types(config.state_dir)))


class ComputedTypesKeeper:
    """A manager of PowerDNS's settings for ALIAS and LUA, which also checks the answers of these records.

    `running` contains the types that PowerDNS is configured for. It is None while PowerDNS doesn't respond.
    """

    def __init__(
        self,
        config: AgentConfig,
        store: Store,
        powerdns: RunningConfig,
        *,
        end_powerdns: Callable[[], bool],
        identity: IdentityKeeper,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._config, self._store, self._powerdns, self._clock = config, store, powerdns, clock
        self._end_powerdns, self._identity = end_powerdns, identity
        self._choosing = threading.Lock()
        self._known: Configuration | None = None  # the source of `running`
        self._checked_at = float("-inf")
        self._lock = threading.Lock()
        self._unanswered = _read_unanswered(config.state_dir)
        self.running: ComputedTypes | None = None
        self.serves_stored_keys = False
        self.resolver_problem = ""

    @property
    def may_choose(self) -> bool:
        """True if the agent can change the computed types, because agent.toml names the pdns.conf to write."""
        return self._config.pdns_conf is not None

    @property
    def unanswered(self) -> tuple[Unanswered, ...]:
        """The ALIAS and LUA records that had no correct answer when the agent last queried them."""
        with self._lock:
            return tuple(self._unanswered.values())

    def choose(self, message: object) -> None:
        """Make the running PowerDNS serve the computed types that the panel chose. Idempotent.

        1. Store the choice, then write pdns.conf from it.
        2. If the running PowerDNS differs, stop it. Its supervisor restarts it.
        3. Wait until the restarted PowerDNS reports the choice.

        If PowerDNS isn't running, the choice applies when it starts. Raise BadBytes if the choice is invalid or the
        agent doesn't write pdns.conf, and NotServed if PowerDNS doesn't report the choice in time.
        """
        chosen = ComputedTypes.from_json(message if isinstance(message, dict) else {})
        path = self._config.pdns_conf
        if path is None:
            reason = "agent.toml names no pdns_conf: set resolver, expand-alias and enable-lua-records there yourself"
            raise BadBytes(what="computed types", reason=reason)
        with self._choosing:
            write_atomically(self._config.state_dir / CHOICE_FILE, json.dumps(chosen.to_json()))
            write_atomically(path, pdns_conf_of(self._config, schema=self._identity.identity.schema))
            self._learn()
            if self._runs(chosen) or not self._end_powerdns():
                return
            logger.warning("PowerDNS starts anew resolver=%s lua=%s", chosen.resolver or "none", chosen.lua)
            self._wait_for(chosen)

    def _runs(self, chosen: ComputedTypes) -> bool:
        """Return True if the running PowerDNS uses this choice and serves stored DNSKEY records (`direct-dnskey`)."""
        return self.running == chosen and self.serves_stored_keys

    def _wait_for(self, chosen: ComputedTypes) -> None:
        until = self._clock() + RESTART_SECONDS
        while True:
            self._learn()
            if self._runs(chosen):
                return
            if self._clock() > until:
                found = "nobody" if self.running is None else "a PowerDNS without it: does it read this pdns.conf?"
                raise NotServed(question="the configuration of PowerDNS", expected="the new pdns.conf", found=found)
            time.sleep(_RESTART_PAUSE_SECONDS)

    def check(self) -> None:
        """Read PowerDNS's settings. Every CHECK_EVERY_SECONDS, also query its resolver and the unanswered records."""
        self._learn()
        now = self._clock()
        if now - self._checked_at < CHECK_EVERY_SECONDS:
            return
        self._checked_at = now
        resolver = self.running.resolver if self.running else ""
        self.resolver_problem = ask_resolver(resolver) if resolver else ""
        with self._lock:
            lacking = set(self._unanswered)
        self.prove(lacking)

    def prove(self, record_keys: Iterable[bytes]) -> tuple[Unanswered, ...]:
        """Query the computed records among these rows. Return all records known to lack a correct answer.

        The list of these records is stored, and `check` queries them again.
        """
        requested = {key for key in record_keys if verify.is_computed(key)}
        if not requested:
            return self.unanswered
        questions = list(verify.computed_questions(self._store, requested))
        problems = verify.find_unanswered(
            questions, self._config.dns_address, self._config.dns_port, seconds=PROOF_SECONDS
        )
        with self._lock:
            before = self._unanswered
            kept = {key: found for key, found in before.items() if key not in requested}
            self._unanswered = dict(islice((kept | problems).items(), MAX_LISTED_UNANSWERED))
            if self._unanswered != before:
                write_atomically(
                    self._config.state_dir / UNANSWERED_FILE,
                    json.dumps([[key.hex(), *each] for key, each in self._unanswered.items()]),
                )
        for found in set(problems.values()).difference(before.values()):
            logger.warning("unanswered zone=%s name=%s type=%s: %s", *found)
            self._checked_at = float("-inf")  # check now if the resolver is the cause
        return self.unanswered

    def _learn(self) -> None:
        """Read PowerDNS's reported configuration again if PowerDNS has restarted or stopped since the last call."""
        found = self._powerdns.read()
        if found is self._known:
            return
        self._known = found
        self.running = None if found is None else computed_types_in(found)
        self.serves_stored_keys = found is not None and found.get("direct-dnskey", "no") == "yes"
        if found is not None:
            self._checked_at = float("-inf")


def _read_unanswered(state_dir: Path) -> dict[bytes, Unanswered]:
    try:
        listed = json.loads((state_dir / UNANSWERED_FILE).read_text())
    except FileNotFoundError:
        return {}
    return {bytes.fromhex(key): Unanswered(*found) for key, *found in listed}


def computed_types_in(found: Configuration) -> ComputedTypes:
    """Return the computed types that this PowerDNS configuration turns on."""
    expands = found.get("expand-alias", "no") == "yes"
    resolver = found.get("resolver", "")
    lua = found.get("enable-lua-records", "no")
    return ComputedTypes("" if not expands or resolver == "no" else resolver, lua in ("yes", "shared"))


def ask_resolver(resolver: str) -> str:
    """Query a resolver for the root's NS records. Return the reason why it is unusable, or "" if it works."""
    host, port = split_resolver(resolver)
    query = dns.message.make_query(".", "NS")
    query.id = secrets.randbelow(1 << 16)
    try:
        answer = dns.query.udp(query, host, timeout=RESOLVER_SECONDS, port=port, raise_on_truncation=False)
    except (dns.exception.DNSException, OSError, EOFError):
        return f"its resolver {resolver} does not answer"
    if answer.rcode() == dns.rcode.REFUSED or not answer.flags & dns.flags.RA:
        return f"its resolver {resolver} does not resolve for it"
    return ""
