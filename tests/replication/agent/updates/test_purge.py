"""The purge leaves no old answer: in every interleaving of a model, and on a real PowerDNS."""

import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from replication.agent.powerdns.pdns_api import PdnsApi
from replication.agent.powerdns.zonecache import MAX_SINGLE, ZoneCache
from replication.agent.updates.purge import (
    COMMAND_SECONDS,
    EVERYTHING,
    MAX_ZONES,
    ControlSocket,
    Purger,
    Receivers,
    socket_count,
    targets,
)
from replication.errors import NotServed
from replication.store.applying import POSITION_ZONE
from replication.store.store import Store
from replication.verify import ask
from replication.wire.position import Position
from replication.wire.segment import open_segment
from tests.replication.agent.conftest import RunningNode
from tests.replication.agent.servers import API_KEY
from tests.replication.panel import CLUSTER, EPOCH, MAP_SIZE, PUBLIC_KEYS, Panel, records, small_zone
from tests.stack import until

# --- a model of PowerDNS: two receiver threads, two caches, and an agent; every interleaving of their steps


@dataclass(frozen=True)
class World:
    """A state of the model. Values are "old", "new" or None. A thread is a pair of its next step and its value."""

    threads: tuple[tuple[str, str | None], ...] = (("idle", None),) * 2
    rows: str = "old"
    query_cache: str | None = None
    packet_cache: str | None = None
    agent: int = 0
    waited: frozenset[int] = frozenset()


def thread_steps(world: World, index: int) -> Iterator[World]:
    """Yield the states after the next step of one receiver, which answers a question as PowerDNS does."""
    doing, content = world.threads[index]

    def become(state: tuple[str, str | None], **changes: str | None) -> World:
        threads = tuple(state if n == index else thread for n, thread in enumerate(world.threads))
        return replace(world, threads=threads, **changes)  # type: ignore[arg-type]

    if doing == "idle":
        yield become(("look in packet cache", None))
    elif doing == "look in packet cache":
        # A hit is sent unchanged, and nothing is cached.
        yield become(("idle", None) if world.packet_cache else ("look in query cache", None))
    elif doing == "look in query cache":
        yield become(("fill packet cache", world.query_cache) if world.query_cache else ("read", None))
    elif doing == "read":
        yield become(("fill query cache", world.rows))
    elif doing == "fill query cache":
        yield become(("fill packet cache", content), query_cache=content)
    elif doing == "fill packet cache":
        yield become(("idle", None), packet_cache=content)


def agent_steps(world: World, plan: tuple[str, ...]) -> Iterator[World]:
    """Yield the states after the agent's next step. A wait ends once every receiver has been idle."""
    if world.agent == len(plan):
        return
    step = plan[world.agent]
    following = replace(world, agent=world.agent + 1, waited=frozenset())
    if step == "commit":
        yield replace(following, rows="new")
    elif step == "purge packets":
        yield replace(following, packet_cache=None)
    elif step == "purge rows":
        yield replace(following, query_cache=None)
    else:
        for index, (doing, _) in enumerate(world.threads):
            if doing == "idle" and index not in world.waited:
                yield replace(world, waited=world.waited | {index})
        if len(world.waited) == len(world.threads):
            yield following


def old_answers_after(plan: tuple[str, ...]) -> bool:
    """Return True if an interleaving of the plan leaves an old row or answer in a cache, or in a thread that will cache
    it.
    """
    seen: set[World] = set()
    open_worlds = [World()]
    while open_worlds:
        world = open_worlds.pop()
        if world in seen:
            continue
        seen.add(world)
        if world.agent == len(plan) and "old" in (world.query_cache, world.packet_cache):
            return True
        open_worlds += agent_steps(world, plan)
        for index in range(len(world.threads)):
            open_worlds += thread_steps(world, index)
    return False


OLD_PURGE = ("purge packets", "purge rows")  # up to 4.9.11 and in 5.0.0
NEW_PURGE = ("purge rows", "purge packets")


@pytest.mark.parametrize("purge", [OLD_PURGE, NEW_PURGE])
def test_no_interleaving_leaves_an_old_answer(purge: tuple[str, ...]) -> None:
    assert not old_answers_after(("commit", *purge, "wait", *purge, "wait", *purge))


@pytest.mark.parametrize(
    "plan",
    [
        ("commit", *OLD_PURGE),
        ("commit", *NEW_PURGE),
        ("commit", *OLD_PURGE, *OLD_PURGE),
        ("commit", *OLD_PURGE, "wait", *OLD_PURGE),
        ("commit", *NEW_PURGE, "wait", *NEW_PURGE),
        ("commit", *NEW_PURGE, *NEW_PURGE, "wait", *NEW_PURGE),
    ],
)
def test_anything_less_does_leave_one(plan: tuple[str, ...]) -> None:
    assert old_answers_after(plan)


# --- commands


def test_a_purge_names_each_zone_with_all_below_it() -> None:
    found = targets(["b.test.", "a.test.", "b.test."], ["www.c.test."])
    assert found == ("a.test.$", "b.test.$", "www.c.test.", POSITION_ZONE)
    assert targets([f"{number}.test." for number in range(MAX_ZONES + 1)]) == EVERYTHING


@pytest.mark.parametrize(("receivers", "sockets"), [(0, 1), (1, 1), (2, 31), (4, 77), (128, 512)])
def test_the_sockets_are_enough_for_all_receivers(receivers: int, sockets: int) -> None:
    assert socket_count(receivers) == sockets


def test_without_powerdns_the_control_socket_says_so(tmp_path: Path) -> None:
    with pytest.raises(NotServed, match="control socket"):
        ControlSocket(str(tmp_path / "none")).send("version")


def test_who_listens_on_the_control_socket_can_be_told(node: RunningNode, tmp_path: Path) -> None:
    assert ControlSocket(str(tmp_path / "nobody")).listener() is None
    control = ControlSocket(str(node.pdns.control_socket))
    assert control.listener() == node.pdns.pid
    node.pdns.kill()
    assert control.listener() is None


def test_a_powerdns_that_keeps_silent_is_given_up(directory: Path) -> None:
    path = str(directory / "s")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        with pytest.raises(NotServed, match="timed out"):
            ControlSocket(path).send("purge", seconds=0.1)


# --- on a real PowerDNS


class WatchedControl(ControlSocket):
    """The control socket of a real PowerDNS, which also stores the sent commands."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.sent: list[str] = []

    def send(self, command: str, *, seconds: float = COMMAND_SECONDS) -> str:
        self.sent.append(command)
        return super().send(command, seconds=seconds)


class ReadingZoneCache(ZoneCache):
    """A zone cache whose list is always being read."""

    is_reading = True


@contextmanager
def purger_of(
    node: RunningNode, *, control: ControlSocket | None = None, cache: type[ZoneCache] = ZoneCache
) -> Iterator[tuple[Purger, Receivers]]:
    control = control or ControlSocket(str(node.pdns.control_socket))
    with closing(Receivers("127.0.0.1", node.pdns.port, node.pdns.cores)) as receivers:
        yield Purger(control, receivers, cache(control, PdnsApi(node.pdns.api_port, API_KEY))), receivers


def test_powerdns_understands_every_name_we_send(node: RunningNode, panel: Panel) -> None:
    with purger_of(node) as (purger, _):
        node.client.push(sealed := panel.create(small_zone("example.test.")), len(sealed))
        odd = [
            ".",
            "a\\032b.test.",
            'q\\"uote.test.',
            "d\\.ot.test.",
            "h\\255igh.test.",
            "dollar\\$.test.",
            "xn--bcher-kva.test.",
        ]
        purger.purge_zones(odd, panel.store.position())
        assert purger.version()[0].isdigit()


def test_waiting_ends_when_all_receivers_answered(node: RunningNode, panel: Panel) -> None:
    sealed = panel.create(small_zone("example.test."))
    node.client.push(sealed, len(sealed))
    with purger_of(node) as (_, receivers):
        receivers.wait(panel.store.position())
        with pytest.raises(NotServed, match="another position"):
            receivers.wait(Position(EPOCH, 77))
        node.pdns.kill()
        with pytest.raises(NotServed, match="none from"):
            receivers.wait(None, seconds=0.2)


@pytest.mark.parametrize("cache", [ZoneCache, ReadingZoneCache])
def test_answers_stay_old_without_a_purge(node: RunningNode, panel: Panel, cache: type[ZoneCache]) -> None:
    """This shows that the caches are in use. Otherwise the purge tests would prove nothing."""
    zone = "example.test."
    sealed = panel.create(small_zone(zone))
    node.client.push(sealed, len(sealed))
    assert node.answer("www.example.test.") == ["192.0.2.1"]
    node.agent.stop()
    with Store.open(node.pdns.lmdb_path, 4, MAP_SIZE, cluster=CLUSTER) as store:
        change = panel.change(zone, records(zone, "www", "A", 300, "192.0.2.2"))
        store.apply(open_segment(change, PUBLIC_KEYS))
    assert node.answer("www.example.test.") == ["192.0.2.1"]
    with purger_of(node, cache=cache) as (purger, _):
        purger.purge_zones([], panel.store.position(), names=["www.example.test."])
        assert node.answer("www.example.test.") == ["192.0.2.2"]


def test_while_powerdns_reads_its_list_a_few_names_are_purged_beside_its_control_socket(
    node: RunningNode, panel: Panel
) -> None:
    node.client.push(sealed := panel.create(small_zone("example.test.")), len(sealed))
    control = WatchedControl(str(node.pdns.control_socket))
    with purger_of(node, control=control, cache=ReadingZoneCache) as (purger, _):
        purger.purge_zones(["example.test."], None, names=["www.other.test."])
        purger.sweep()  # the purger can't find out if TCP connections are open
        assert control.sent == []
        purger.purge_zones([f"{number}.test." for number in range(MAX_SINGLE + 1)], None)
        purger.purge_everything(None, appeared=False)
        assert [command.partition(" ")[0] for command in control.sent] == ["purge"] * 6


def test_an_open_tcp_connection_means_a_second_look(node: RunningNode, panel: Panel) -> None:
    sealed = panel.create(small_zone("example.test."))
    node.client.push(sealed, len(sealed))
    control = ControlSocket(str(node.pdns.control_socket))
    with purger_of(node, control=control) as (purger, _):
        with socket.create_connection(("127.0.0.1", node.pdns.port)) as tcp:
            tcp.sendall(b"\0")
            accepted = "show open-tcp-connections"
            until(lambda: control.send(accepted).strip() == "1", seconds=10, what="PowerDNS accepted it")
            purger.purge_zones(["example.test."], None)
            assert purger._again
        purger.sweep()
        assert not purger._again


@pytest.mark.parametrize("hammers", [3])
def test_no_answer_is_old_after_the_ack_under_load(node: RunningNode, panel: Panel, hammers: int) -> None:
    """Values change while threads query them at full speed. Every question after an ack gets the new value."""
    zone, names_ = "example.test.", [f"h{number}" for number in range(8)]
    sealed = panel.create(small_zone(zone, *(records(zone, name, "A", 300, "192.0.2.1") for name in names_)))
    node.client.push(sealed, len(sealed))
    done = threading.Event()

    def hammer(offset: int) -> None:
        at = offset
        while not done.is_set():
            at += 1
            try:
                ask("127.0.0.1", node.pdns.port, f"{names_[at % 8]}.{zone}", 1, 0.2)
            except NotServed:
                continue  # lost under load

    threads = [threading.Thread(target=hammer, args=(number,)) for number in range(hammers)]
    for thread in threads:
        thread.start()
    old = []
    try:
        for round_ in range(200):
            name, address = f"{names_[round_ % 8]}.{zone}", f"192.0.2.{round_ % 250 + 2}"
            change = panel.change(zone, records(zone, names_[round_ % 8], "A", 300, address))
            node.client.push(change, len(change))
            for _ in range(3):
                if (found := node.answer(name)) != [address]:
                    old.append((round_, found))
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert old == []
