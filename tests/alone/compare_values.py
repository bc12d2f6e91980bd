"""Compares many values once, and prints this process's memory before and after that."""

from dnspanel.publish.checks.expected_state import wire_of
from replication.garbage import resident_bytes

before = resident_bytes()
for number in range(600):
    wire_of(16, " ".join(['"' + f"{number:05}" + "x" * 250 + '"'] * 100))
print(before, resident_bytes())
