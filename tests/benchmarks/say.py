"""The output of a benchmark: at once, to a terminal or a file."""

import sys


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
