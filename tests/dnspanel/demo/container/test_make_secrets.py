"""The secrets of a compose installation: made once, private, and fitting together."""

from pathlib import Path

from cryptography.fernet import Fernet

from dnspanel.demo.container.make_secrets import make_secrets


def test_a_second_run_changes_nothing(tmp_path: Path) -> None:
    make_secrets(tmp_path)
    before = {path.name: path.read_text() for path in tmp_path.iterdir()}
    make_secrets(tmp_path)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == before


def test_an_interrupted_run_is_completed(tmp_path: Path) -> None:
    make_secrets(tmp_path)
    url = (tmp_path / "redis-url").read_text()
    (tmp_path / "redis.conf").rename(tmp_path / ".redis.conf.new")
    make_secrets(tmp_path)
    assert (tmp_path / "redis-url").read_text() == url
    assert (tmp_path / "redis-password").read_text() in (tmp_path / "redis.conf").read_text()


def test_nobody_else_can_read_them(tmp_path: Path) -> None:
    make_secrets(tmp_path)
    assert {path.stat().st_mode & 0o007 for path in tmp_path.iterdir()} == {0}


def test_the_urls_hold_the_passwords_and_the_key_is_one(tmp_path: Path) -> None:
    make_secrets(tmp_path)
    assert (tmp_path / "postgres-password").read_text() in (tmp_path / "database").read_text()
    assert (tmp_path / "redis-password").read_text() in (tmp_path / "redis-url").read_text()
    Fernet((tmp_path / "master-key").read_text())
