"""The panel's own benchmarks, each run in a separate process, because Django reads its settings once per process."""

import json
import signal
import subprocess
import sys
from typing import Any

from dnspanel.demo import unprivileged
from tests.benchmarks.say import say


def last_line(bench: str, *arguments: str) -> Any:
    """Run the benchmark, print its output and return its last line. Raise RuntimeError if it fails."""
    # In its own session, so that Ctrl-C reaches it only once, from here, and it can clean up.
    process = subprocess.Popen(
        [sys.executable, "-m", f"tests.benchmarks.bench_{bench}", *arguments],
        cwd=unprivileged.CHECKOUT,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    last = ""
    try:
        for line in process.stdout or ():
            last = line.rstrip()
            say(f"  {last}")
    except BaseException:
        process.send_signal(signal.SIGINT)
        raise
    finally:
        process.wait()
    if process.returncode:
        raise RuntimeError(f"bench_{bench} ended with {process.returncode}")
    return json.loads(last)
