"""Start and stop units of systemd, and see what was started."""

import socket
import subprocess
import time

from dnspanel.setup.errors import SetupFailed

WEB_SOCKET = "/run/dnspanel/web.sock"
READY_SECONDS = 300
TARGET, PROCESSES = "dnspanel.target", "dnspanel@*.service"


def systemctl(*words: str) -> str:
    """Run systemctl and return its output. Raise SetupFailed if it fails."""
    done = subprocess.run(["systemctl", *words], capture_output=True, text=True)
    if done.returncode:
        raise SetupFailed(f"systemctl {' '.join(words)}: {done.stderr.strip()}\nThe logs: journalctl -u 'dnspanel@*'")
    return done.stdout


def is_so(question: str, unit: str) -> bool:
    """Return the answer to a question such as is-active."""
    return subprocess.run(["systemctl", question, "-q", unit], capture_output=True).returncode == 0


def start_units(*units: str) -> list[str]:
    """Start the units that don't run, now and at boot, and return them. Raise SetupFailed for the first that can't."""
    missing = [unit for unit in units if not (is_so("is-enabled", unit) and is_so("is-active", unit))]
    for unit in missing:
        systemctl("enable", "--now", "-q", unit)
    return missing


def start_processes(*, with_new_settings: bool) -> list[str]:
    """Start the panel's processes that don't run, now and at boot, and wait until the panel is ready.

    With new settings, restart the others too. Return what was started. Raise SetupFailed.
    """
    before = _runs()
    if with_new_settings:
        systemctl("try-restart", PROCESSES)
    systemctl("enable", "-q", TARGET)
    systemctl("start", TARGET)
    _wait_until_ready()
    started = sorted(unit for unit, run in _runs().items() if run != before.get(unit))
    return [TARGET] if TARGET in started else started


def _runs() -> dict[str, str]:
    """Return an id of the current or last run of the target and of each process."""
    output = systemctl("show", "--property=Id,InvocationID", TARGET, PROCESSES)
    blocks = [dict(line.split("=", 1) for line in block.splitlines()) for block in output.split("\n\n")]
    return {block["Id"]: block["InvocationID"] for block in blocks if block.get("InvocationID")}


def _wait_until_ready() -> None:
    """Wait until the panel answers /readyz with 200. Raise SetupFailed with the last answer after READY_SECONDS."""
    deadline, answer = time.monotonic() + READY_SECONDS, "no answer"
    while time.monotonic() < deadline:
        try:
            with socket.socket(socket.AF_UNIX) as web:
                web.settimeout(10)
                web.connect(WEB_SOCKET)
                web.sendall(b"GET /readyz HTTP/1.0\r\nHost: localhost\r\n\r\n")
                answer = web.makefile("r").read()
        except OSError as exc:
            answer = str(exc)
        if answer.split()[1:2] == ["200"]:
            return
        time.sleep(0.2)
    raise SetupFailed(f"The panel is not ready: {answer}\nThe logs: journalctl -u dnspanel@web")
