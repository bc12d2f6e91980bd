"""The timeline of an edit, from logs in the processes' format. Tests `tests.benchmarks.timeline`."""

from datetime import datetime
from pathlib import Path

from tests.benchmarks.timeline import Edit, time_line

BEGAN = datetime.fromisoformat("2026-11-23 12:00:00").astimezone().timestamp()
AT = "2026-11-23 12:00:00"


def test_every_step_stands_where_it_was_done(tmp_path: Path) -> None:
    (tmp_path / "publish.log").write_text(
        "a banner\n"
        f"[{AT},030: INFO/MainProcess] encoded schema=4 from=7 to=7 bytes=289 ms=10.0\n"
        f"[{AT},900: INFO/MainProcess] encoded schema=4 from=8 to=8 bytes=289 ms=10.0\n"
    )
    applied = "INFO applied from=6 to=7 bytes=289 apply_ms=2.0 lock_ms=1.0 verify_ms=5.0\n"
    for node, ms in (("ring0", 30), ("ns1", 50), ("ns2", 60)):
        (tmp_path / f"{node}-agent.log").write_text(f"{AT},{ms:03} {applied}")
    (tmp_path / "push.log").write_text(
        f"[{AT},035: INFO/MainProcess] pushed node=ring0 from=6 to=7 acked=7 bytes=402 ms=9.0\n"
        f"[{AT},061: INFO/MainProcess] pushed node=ns1,ns2 from=6 to=7 acked=7 bytes=402 ms=9.0\n"
    )
    found = time_line([Edit(7, BEGAN, BEGAN + 0.012, BEGAN + 0.056)], tmp_path)
    assert [(round(step.ms), step.name) for step in found] == [
        (12, "committed"),
        (20, "compiled"),
        (23, "ring 0 has received it"),
        (25, "ring 0 has written it"),
        (30, "ring 0 has proved it"),
        (35, "ring 0 is in sync, as the panel has recorded"),
        (43, "the first node has received it"),
        (45, "the first node has written it"),
        (50, "the first node has proved it"),
        (53, "the last node has received it"),
        (55, "the last node has written it"),
        (56, "the last node answers"),
        (60, "the last node has proved it"),
        (61, "the first node is in sync, as the panel has recorded"),
        (61, "the last node is in sync, as the panel has recorded"),
    ]
