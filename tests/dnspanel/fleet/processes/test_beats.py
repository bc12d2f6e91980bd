"""Tests of process rows: written, replaced, removed. Tests `processes.state` and `processes.alive` too."""

import os
import threading
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection

from dnspanel.fleet.models import Heartbeat, PanelProcess
from dnspanel.fleet.nodes.heartbeats import answer_roll
from dnspanel.fleet.processes.alive import Alive, Turns
from dnspanel.fleet.processes.beats import Identity, Load, beat_process, forget_lost, replace_dead, say_goodbye
from dnspanel.fleet.processes.state import processes_now
from tests.dnspanel.fleet.conftest import NOW

NO_PROCESS = 2**22 + 1  # beyond the kernel's largest id


def identity(name: str = "push", host: str = "panel", pid: int = 7) -> Identity:
    return Identity(name, host, pid, NOW - timedelta(hours=1))


def rows() -> set[tuple[str, str, int]]:
    return set(PanelProcess.objects.values_list("name", "host", "pid"))


@pytest.mark.django_db
def test_a_process_has_one_row_with_its_last_sign_and_load() -> None:
    beat_process(identity=identity(), load=Load(), now=NOW)
    load = Load(16, 2, "dnspanel.x", NOW)
    beat_process(identity=identity(), load=load, now=NOW + timedelta(seconds=10))
    beat_process(identity=identity(host="other"), load=Load(), now=NOW)
    answer_roll(queue="push", now=NOW)
    state = processes_now()
    first, second = sorted(state.processes, key=lambda each: each.host, reverse=True)
    assert (first.at, first.places, first.busy, first.task) == (NOW + timedelta(seconds=10), 16, 2, "dnspanel.x")
    assert second.host == "other"
    assert state.answered == {"push": NOW}


@pytest.mark.django_db
def test_a_goodbye_takes_the_row_away_and_is_remembered() -> None:
    beat_process(identity=identity(), load=Load(), now=NOW)
    for _ in range(2):
        say_goodbye(names=["push"], host="panel", pid=7, now=NOW)
    state = processes_now()
    assert (state.processes, state.left) == ((), {"push": NOW})


@pytest.mark.django_db
def test_a_new_process_takes_the_place_of_dead_ones_on_its_machine_alone() -> None:
    for host, pid in (("panel", NO_PROCESS), ("panel", os.getpid()), ("other", NO_PROCESS)):
        beat_process(identity=identity(host=host, pid=pid), load=Load(), now=NOW)
    beat_process(identity=identity("beat", pid=NO_PROCESS), load=Load(), now=NOW)
    replace_dead(identity=identity(pid=NO_PROCESS + 1))
    assert rows() == {("push", "panel", os.getpid()), ("push", "other", NO_PROCESS), ("beat", "panel", NO_PROCESS)}


@pytest.mark.django_db
def test_the_proxy_is_at_one_address() -> None:
    beat_process(identity=identity("proxy", "old.test", 0), load=Load(), now=NOW)
    replace_dead(identity=identity("proxy", "new.test", 0))
    assert rows() == set()


@pytest.mark.django_db
def test_a_lost_process_is_forgotten_if_another_of_its_name_is_at_work() -> None:
    for name, pid, minutes in (("push", 1, 61), ("push", 2, 0), ("push", 3, 59), ("beat", 4, 61)):
        beat_process(identity=identity(name, pid=pid), load=Load(), now=NOW - timedelta(minutes=minutes))
    forget_lost(now=NOW)
    assert rows() == {("push", "panel", 2), ("push", "panel", 3), ("beat", "panel", 4)}


@pytest.mark.django_db
def test_a_process_that_does_not_work_or_answer_writes_no_row() -> None:
    Alive("push", is_working=lambda: False).write_row(NOW)
    Alive("update", answers=lambda: False).write_row(NOW)
    assert rows() == set()
    also = []
    life = Alive("push", "bulk", load=lambda now: Load(4, 1), also=also.append, host="panel", pid=7)
    life.write_row(NOW)
    assert rows() == {("push", "panel", 7), ("bulk", "panel", 7)}
    assert also == [NOW]


@pytest.mark.django_db(transaction=True)
def test_signs_are_written_between_start_and_stop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sign = tmp_path / "sign"
    monkeypatch.setenv("PANEL_LIFE_SIGN_FILE", str(sign))
    life = Alive("push")
    life.start()
    waiting = threading.Event()
    for _ in range(200):
        if sign.exists() and PanelProcess.objects.filter(name="push", pid=os.getpid()).exists():
            break
        waiting.wait(0.05)
    assert sign.exists()
    assert PanelProcess.objects.filter(name="push", pid=os.getpid()).exists()
    life.stop()
    connection.close()
    assert not PanelProcess.objects.exists()
    assert Heartbeat.objects.filter(process="left-push").exists()


def test_a_loop_that_turned_lately_is_recent() -> None:
    turns = Turns()
    assert turns.is_recent(5)
    assert not turns.is_recent(0)
