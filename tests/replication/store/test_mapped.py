"""Pages of mapped files: resident until they are released, and mapped again when they are touched."""

import mmap
from pathlib import Path

from replication.store import mapped

SIZE = 16 << 20


def test_released_pages_no_longer_count_and_can_be_read_again(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * SIZE)
    with path.open("rb") as file, mmap.mmap(file.fileno(), SIZE, mmap.MAP_SHARED, mmap.PROT_READ) as pages:
        assert sum(pages[:: mmap.PAGESIZE]) == SIZE // mmap.PAGESIZE * ord("x")
        touched = mapped.file_bytes_resident()
        mapped.release(mapped.ranges_of({str(path)}))
        assert mapped.file_bytes_resident() <= touched - SIZE * 3 // 4
        assert pages[SIZE - 1] == ord("x")


def test_other_files_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * SIZE)
    with path.open("rb") as file, mmap.mmap(file.fileno(), SIZE, mmap.MAP_SHARED, mmap.PROT_READ) as pages:
        sum(pages[:: mmap.PAGESIZE])
        touched = mapped.file_bytes_resident()
        mapped.release(mapped.ranges_of({str(tmp_path / "another")}))
        assert mapped.file_bytes_resident() >= touched - SIZE // 4


def test_the_peak_is_at_least_what_is_resident() -> None:
    assert mapped.peak_resident_bytes() >= mapped.resident_bytes() > 0
