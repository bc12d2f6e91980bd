"""Tests of the secrets of a compose installation: created once, private, and consistent."""

from pathlib import Path

from cryptography.fernet import Fernet

from dnspanel.demo.container.make_secrets import make_secrets


def texts(directory: Path) -> dict[str, str]:
    return {str(path.relative_to(directory)): path.read_text() for path in directory.glob("*/*")}


def test_each_kind_of_service_has_its_own_secrets_and_no_others(tmp_path: Path) -> None:
    make_secrets(tmp_path)
    assert set(texts(tmp_path)) == {
        *("panel/secret-key", "panel/master-key", "panel/database", "panel/redis-url"),
        *("postgres/postgres-password", "redis/redis-password", "redis/redis.conf"),
    }


def test_an_installation_that_had_all_in_one_volume_keeps_them(tmp_path: Path) -> None:
    make_secrets(tmp_path)
    before = texts(tmp_path)
    for path in [*tmp_path.glob("postgres/*"), *tmp_path.glob("redis/*")]:
        path.rename(tmp_path / "panel" / path.name)
    make_secrets(tmp_path)
    assert texts(tmp_path) == before


def test_a_second_run_changes_nothing(tmp_path: Path) -> None:
    make_secrets(tmp_path)
    before = texts(tmp_path)
    make_secrets(tmp_path)
    assert texts(tmp_path) == before


def test_an_installation_gets_the_redis_settings_of_its_release_and_keeps_its_password(tmp_path: Path) -> None:
    make_secrets(tmp_path)
    before = texts(tmp_path)
    (tmp_path / "redis/redis.conf").write_text("maxmemory 1mb\n")
    make_secrets(tmp_path)
    assert texts(tmp_path) == before


def test_an_interrupted_run_is_completed(tmp_path: Path) -> None:
    make_secrets(tmp_path)
    url = (tmp_path / "panel/redis-url").read_text()
    (tmp_path / "redis/redis.conf").rename(tmp_path / "redis/.redis.conf.new")
    make_secrets(tmp_path)
    assert (tmp_path / "panel/redis-url").read_text() == url
    assert (tmp_path / "redis/redis-password").read_text() in (tmp_path / "redis/redis.conf").read_text()


def test_nobody_else_can_read_them(tmp_path: Path) -> None:
    make_secrets(tmp_path)
    assert {path.stat().st_mode & 0o007 for path in tmp_path.glob("*/*")} == {0}


def test_the_urls_hold_the_passwords_and_the_key_is_one(tmp_path: Path) -> None:
    make_secrets(tmp_path)
    assert (tmp_path / "postgres/postgres-password").read_text() in (tmp_path / "panel/database").read_text()
    assert (tmp_path / "redis/redis-password").read_text() in (tmp_path / "panel/redis-url").read_text()
    Fernet((tmp_path / "panel/master-key").read_text())
