"""Tests of the configured panel URL and token."""

from pathlib import Path

import click
import pytest

from dnspanel.cli.config import Config, config_path, is_in_the_clear, read_config

FILE = """
url = "https://dns.example.net/"
token = "dnsp_first"

[profiles.lab]
url = "http://127.0.0.1:8000"
token_file = "~/lab.token"
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    file = tmp_path / ".config/dnspanel/config.toml"
    file.parent.mkdir(parents=True)
    file.write_text(FILE)
    file.chmod(0o600)
    (tmp_path / "lab.token").write_text("dnsp_lab\n")
    return tmp_path


def read(home: Path, profile: str | None = None, url: str | None = None, **environ: str) -> Config:
    return read_config(environ={"HOME": str(home), **environ}, profile=profile, url=url)


def refused(home: Path, profile: str | None = None, url: str | None = None, **environ: str) -> str:
    with pytest.raises(click.UsageError) as caught:
        read(home, profile, url, **environ)
    return caught.value.message


def test_the_file_the_environment_and_the_option_win_in_this_order(home: Path) -> None:
    assert read(home) == Config("https://dns.example.net", "dnsp_first")
    told = {"DNSPANEL_URL": "https://other.test", "DNSPANEL_TOKEN": "dnsp_env"}
    assert read(home, **told) == Config("https://other.test", "dnsp_env")
    assert read(home, url="https://other.test/dns", **told) == Config("https://other.test/dns", "dnsp_env")
    assert read(home, DNSPANEL_TOKEN="dnsp_env") == Config("https://dns.example.net", "dnsp_env")


def test_a_profile_that_is_asked_for_wins_over_the_environment(home: Path) -> None:
    told = {"DNSPANEL_URL": "https://other.test", "DNSPANEL_TOKEN": "dnsp_env"}
    assert read(home, "lab", **told) == Config("http://127.0.0.1:8000", "dnsp_lab")
    assert "there are lab" in refused(home, "prod")


@pytest.mark.parametrize(
    "url",
    [
        "https://evil.test",
        "http://dns.example.net",
        "https://dns.example.net:8443",
        "https://dns.example.net.evil.test",
    ],
)
def test_a_token_is_sent_to_no_other_server_than_the_one_it_is_configured_for(home: Path, url: str) -> None:
    """Regression test: `--url X` sent the configured token to X."""
    kept = f"isn't sent to {url}."
    assert kept in refused(home, url=url)
    assert kept in refused(home, "lab", url=url)
    assert kept in refused(home, DNSPANEL_URL=url)
    assert kept in refused(home, url=url, DNSPANEL_TOKEN="dnsp_env")
    assert kept in refused(home, url=url, DNSPANEL_URL="https://dns.example.net", DNSPANEL_TOKEN="dnsp_env")
    assert read(home, DNSPANEL_URL=url, DNSPANEL_TOKEN="dnsp_env") == Config(url, "dnsp_env")


def test_an_address_of_the_same_server_takes_the_token(home: Path, tmp_path: Path) -> None:
    for url in ("https://dns.example.net:443", "https://DNS.example.net/panel"):
        assert read(home, url=url) == Config(url, "dnsp_first")
    assert read(tmp_path / "empty", url="https://dns.test", DNSPANEL_TOKEN="dnsp_env").token == "dnsp_env"


def test_a_token_can_be_in_a_file(home: Path) -> None:
    assert read(home, DNSPANEL_TOKEN_FILE=str(home / "lab.token")).token == "dnsp_lab"
    assert "cannot be read" in refused(home, DNSPANEL_TOKEN_FILE=str(home / "none"))


def test_a_file_with_a_token_that_others_can_read_is_refused(home: Path) -> None:
    file = config_path({"HOME": str(home)})
    file.chmod(0o640)
    assert refused(home) == f"Others can read the token in {file}: chmod 600 {file}"
    file.write_text('url = "https://dns.example.net"\n')
    assert read(home, DNSPANEL_TOKEN="dnsp_env").url == "https://dns.example.net"


def test_what_is_missing_or_wrong_is_said(home: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    assert "DNSPANEL_URL" in refused(empty)
    assert "DNSPANEL_TOKEN" in (missing := refused(empty, DNSPANEL_URL="https://dns.test"))
    assert missing.endswith("To create a token: https://dns.test/tokens/")
    assert "does not exist" in refused(empty, "lab")
    for url in ("dns.test", "ftp://dns.test", "https://", "https://dns.test/?x=1", "https://dns.test:port"):
        assert "is not the address of a panel" in refused(home, DNSPANEL_URL=url)
    assert "user name" in refused(home, DNSPANEL_URL="https://me:secret@dns.test")
    assert "Copy the full token" in refused(home, DNSPANEL_TOKEN="dnsp_a\nb")
    file = config_path({"HOME": str(home)})
    file.write_text("url = ")
    assert "cannot be read" in refused(home)
    file.write_text('uri = "https://dns.test"')
    assert "there is no setting uri" in refused(home)


def test_the_configuration_is_where_the_desktop_says(tmp_path: Path) -> None:
    assert config_path({"XDG_CONFIG_HOME": "/etc/xdg"}) == Path("/etc/xdg/dnspanel/config.toml")
    assert config_path({"HOME": "/home/ana"}) == Path("/home/ana/.config/dnspanel/config.toml")


@pytest.mark.parametrize(
    ("url", "clear"),
    [
        ("https://dns.test", False),
        ("http://127.0.0.1:8000", False),
        ("http://[::1]/", False),
        ("http://dns.test", True),
    ],
)
def test_a_token_that_travels_in_the_clear_is_known(url: str, clear: bool) -> None:
    assert is_in_the_clear(url) is clear
