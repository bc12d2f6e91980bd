"""Print the memory of this process before and after many values were compared once."""

from dnspanel.publish.checks.expected_state import wire_of
from replication.garbage import resident_bytes

before = resident_bytes()
for number in range(600):
    wire_of(16, " ".join(['"' + f"{number:05}" + "x" * 250 + '"'] * 100))
print(before, resident_bytes())
