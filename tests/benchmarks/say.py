"""What a benchmark prints: at once, whoever reads it."""

import sys


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
