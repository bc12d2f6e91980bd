import pytest
from hypothesis import given
from hypothesis import strategies as st

from dnspanel.transfer.archives.paths import PathIndex, clean_path, printable
from dnspanel.transfer.errors import UploadRefused
from dnspanel.transfer.import_limits import MOST_PATH_BYTES


@pytest.mark.parametrize(
    ("path", "clean"),
    [
        ("zones/example.test.zone", "zones/example.test.zone"),
        ("./zones//a.zone", "zones/a.zone"),
        ("zones/./a.zone", "zones/a.zone"),
        ("zonen/bücher.test", "zonen/bücher.test"),
        ("0/26.2.0.192.in-addr.arpa", "0/26.2.0.192.in-addr.arpa"),
        ("a..b/..c", "a..b/..c"),
        ("2001:db8::.rev", "2001:db8::.rev"),
    ],
)
def test_honest_paths_are_made_plain(path: str, clean: str) -> None:
    assert clean_path(path) == clean


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "../a",
        "zones/../../a",
        "a/..",
        "C:/zones/a",
        "zones/c:/a",
        "..\\a",
        "zones\\a",
        "a\0b",
        "",
        "./",
        "a" * (MOST_PATH_BYTES + 1),
        "é" * (MOST_PATH_BYTES // 2 + 1),
    ],
)
def test_tricks_are_refused_and_the_limit_is_named(path: str) -> None:
    with pytest.raises(UploadRefused) as refused:
        clean_path(path)
    assert refused.value.limit == "path"


@pytest.mark.parametrize(
    ("requested", "folders", "found"),
    [
        (r"C:\\named\\zones\\a.test.db", (), ["zones/a.test.db"]),
        (r"C:\named\zones\a.test.db", (), ["zones/a.test.db"]),
        ("c:/named/other/a.test.db", (), ["other/a.test.db"]),
        (r"zones\\a.test.db", (), ["zones/a.test.db"]),
        ("a.test.db", (r"C:\\named\\other",), ["other/a.test.db"]),
        (r"D:\named\zones\B.Test.DNS", (), ["zones/b.test.dns"]),
        ("B.Test.DNS", (), []),
        (r"C:\named\c.test.db", (), []),
    ],
)
def test_paths_of_windows_are_found(requested: str, folders: tuple[str, ...], found: list[str]) -> None:
    index = PathIndex(["zones/a.test.db", "other/a.test.db", "zones/b.test.dns"])
    assert index.find_paths(requested, *folders) == found
    assert PathIndex(["zones/a.test.db"]).fitting(r"C:\\named\\zones\\*.db") == ["zones/a.test.db"]


@given(st.text())
def test_a_clean_path_stays_inside_and_can_be_stored(path: str) -> None:
    try:
        clean = clean_path(path)
    except UploadRefused:
        return
    assert not clean.startswith("/")
    assert not {"", ".", ".."} & set(clean.split("/"))
    assert clean_path(clean) == clean
    assert b"\0" not in clean.encode()


def test_what_cannot_be_displayed_is_escaped() -> None:
    assert printable("a\x1b[31m\udcff") == "a%1b[31m%ff"


def test_files_are_found_by_what_the_server_calls_them() -> None:
    index = PathIndex(["bind/zones/a.db", "bind/zones/b.db", "slaves/b.db", "x/c.db", "y/c.db"])

    assert index.find_paths("/etc/bind/zones/a.db") == ["bind/zones/a.db"]
    assert index.find_paths("/var/cache/zones/b.db") == ["bind/zones/b.db"]
    assert index.find_paths("/srv/c.db") == ["x/c.db", "y/c.db"]
    assert index.find_paths("c.db", "y") == ["y/c.db"]
    assert index.find_paths("/srv/d.db") == []


def test_the_servers_directory_tells_files_of_one_name_apart() -> None:
    index = PathIndex(["primary/a.db", "secondary/a.db"])

    assert index.find_paths("a.db", "", "/var/named/secondary") == ["secondary/a.db"]


def test_no_name_leads_out_of_the_upload() -> None:
    index = PathIndex(["zones/passwd"])

    assert index.find_paths("../../../../etc/passwd", "zones") == ["zones/passwd"]
    assert index.find_paths("/etc/shadow", "zones") == []


def test_patterns_mean_all_files_that_fit() -> None:
    assert PathIndex(["b/2.conf", "a/1.conf", "a/x.db"]).fitting("/etc/nsd/*.conf") == ["a/1.conf", "b/2.conf"]
