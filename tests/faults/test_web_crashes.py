"""Rows 1 and 2: the web process is killed before and after the commit of a person's edit."""

import contextlib
import http
import http.client
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from urllib.parse import urlsplit

import psutil
import pytest

from dnspanel.demo.stack import Stack
from tests.faults import acts, crash
from tests.faults.conftest import NewChecker, Run
from tests.faults.crash import Call, Point
from tests.faults.panel import Panel
from tests.full import choose
from tests.stack import ask_all, until

pytestmark = [pytest.mark.faults, pytest.mark.usefixtures("root", "need_strace")]

ZONE = "web-crash.test."
# After a commit without a wake-up, beat finds the work within two seconds; times five for a slow machine.
PUBLISHED_SECONDS = 2.0 * 5
_numbers = count(time.time_ns())


@dataclass(frozen=True, slots=True)
class Person:
    """A person who edits through API v2."""

    stack: Stack
    token: str

    def put(self, address: str, reason: str) -> int | None:
        """Set the address. Return the status, or None if the web process broke off, which the proxy reports."""
        connection = http.client.HTTPConnection(urlsplit(self.stack.url).netloc, timeout=30)
        path = f"/api/v2/zones/{ZONE}/rrsets/www/A?reason={reason}"
        body = json.dumps({"ttl": 300, "rdata": [address]})
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        with contextlib.closing(connection), contextlib.suppress(OSError, http.client.HTTPException):
            connection.request("PUT", path, body, headers)
            status = connection.getresponse().status
            return None if status == http.HTTPStatus.BAD_GATEWAY else status
        return None


@pytest.fixture
def person(faulty: Stack, panel: Panel) -> Iterator[Person]:
    panel.do(acts.create_zone, name=ZONE)
    somebody = Person(faulty, panel.do(acts.make_token))
    yield somebody
    panel.do(acts.delete_zone, name=ZONE)


def edit(person: Person) -> tuple[int | None, str, str]:
    """Set a new address. Return the status, the address and the publication's reason."""
    number = next(_numbers)
    address, reason = f"192.0.2.{number % 250 + 1}", f"crash-{number}"
    return person.put(address, reason), address, reason


def warm(person: Person) -> None:
    """Make edits until both workers are connected to PostgreSQL. Later edits then send equal numbers of messages."""
    for _ in range(8):
        edit(person)


def workers(stack: Stack) -> list[int]:
    """Return the web processes that answer requests, without their parent."""
    master = stack.supervisor.pid("web")
    return [child.pid for child in psutil.Process(master).children()] if master else []


def publications(panel: Panel, reason: str) -> int:
    found = panel.do(acts.rows, sql="SELECT count(*) FROM zones_publication WHERE reason = %s", parameters=[reason])
    return int(found[0][0])


def appending_in(calls: Sequence[Call], reason: str) -> Call | None:
    """Return the call that appends the publication to the log: the first one that contains its reason."""
    return next((call for call in calls if reason in call.arguments), None)


def is_committed(calls: Sequence[Call], reason: str) -> bool:
    """Return True if the publication's commit was sent. The last call of a killed thread doesn't count as sent."""
    appending = appending_in(calls, reason)
    if appending is None:
        return False
    sent = [call for call in calls if call.thread == appending.thread]
    after = sent[sent.index(appending) + 1 : -1]
    return any("COMMIT" in call.arguments for call in after)


def messages_of_one_edit(stack: Stack, person: Person) -> tuple[int, int]:
    """Return the number of messages that an edit sends, and the number before its commit. Both may vary a little."""
    warm(person)
    reasons: list[str] = []
    calls = crash.calls_during(workers(stack), ["sendto"], lambda: reasons.append(edit(person)[2]))
    appending = appending_in(calls, *reasons)
    assert appending is not None
    sent = [call for call in calls if call.thread == appending.thread]
    after = range(sent.index(appending), len(sent))
    return len(sent), 1 + next(index for index in after if "COMMIT" in sent[index].arguments)


def crash_at(stack: Stack, panel: Panel, person: Person, number: int) -> bool | None:
    """Edit while the web process is killed before message `number`, and check the promises.

    Return True if the edit was committed, and None if the process survived because it sent fewer messages.
    """
    warm(person)
    before = workers(stack)
    with crash.at_call(before, Point("sendto", number)) as trace:
        status, address, reason = edit(person)
        if status is not None:
            return None
        until(lambda: len(workers(stack)) == len(before), seconds=30, what="a new web process")
    committed = is_committed(trace.calls, reason)
    found = publications(panel, reason)
    assert found == committed, f"killed at message {number}: {found} publications, committed: {committed}"
    if committed:
        until(
            lambda: all(answer.rdata == (address,) for answer in ask_all(stack, f"www.{ZONE}")),
            seconds=PUBLISHED_SECONDS,
            what=f"{address} at every node, without a bell",
        )
        assert person.put(address, reason) in (200, 202)  # the person tries again
        assert publications(panel, reason) == 1
    else:
        assert all(address not in answer.rdata for answer in ask_all(stack, f"www.{ZONE}"))
    return committed


@pytest.mark.row(1)
def test_a_web_process_killed_before_the_commit_leaves_nothing(
    faulty: Stack, panel: Panel, person: Person, new_checker: NewChecker, run: Run
) -> None:
    _, commit = messages_of_one_edit(faulty, person)
    numbers = choose(range(1, commit + 1), run.few(3, 1_000), seed=run.seed) * run.times
    with new_checker() as checker:
        found = [crash_at(faulty, panel, person, number) for number in numbers]
    assert False in found
    checker.judge()


@pytest.mark.row(2)
def test_a_web_process_killed_after_the_commit_has_published_once(
    faulty: Stack, panel: Panel, person: Person, new_checker: NewChecker, run: Run
) -> None:
    messages, commit = messages_of_one_edit(faulty, person)
    with new_checker() as checker:
        found = []
        for _ in range(run.times):
            # The kernel may give the edit to a new worker, which has to connect first.
            for number in range(commit + 1, messages + 8):
                found.append(crash_at(faulty, panel, person, number))
                if found.count(True) == run.few(1, 1_000):
                    break
    assert True in found
    checker.judge()
