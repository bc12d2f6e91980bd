"""A bundle for bug reports says much about the installation, and has no secrets."""

import json
import secrets
import tarfile
from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from cryptography.fernet import Fernet
from django.core.management import call_command
from django.utils import timezone

from dnspanel.monitoring.doctor.diagnosis import diagnose
from dnspanel.monitoring.doctor.findings import Finding, Report
from dnspanel.monitoring.doctor.remedies import Level
from dnspanel.monitoring.doctor.support_bundle import REMOVED, without_secrets, write_bundle
from tests.own_certificates import own_certificate

TSIG = b64encode(secrets.token_bytes(32)).decode()
SHORT_TSIG = b64encode(secrets.token_bytes(16)).decode()
TOKEN = f"dnsp_{secrets.token_urlsafe(32)}"
WEBHOOK = f"whsec_{b64encode(secrets.token_bytes(24)).decode()}"
FERNET = Fernet.generate_key().decode()
SEALED = Fernet(FERNET.encode()).encrypt(b"x").decode()
HEX = secrets.token_hex(32)
TOTP = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"
PASSWORD = "correct horse battery staple"
IN_URL = "hunter2/:@%"
PRIVATE = own_certificate().key

# What programs and libraries write into logs when they show more than they should.
LINES = [
    f"2026-11-30 17:00:00,000 INFO dnspanel.gateway refused key=ddns. secret {TSIG}",
    f'key {{ algorithm hmac-md5; secret "{SHORT_TSIG}"; }};',
    f"Authorization: Bearer {TOKEN}",
    f"X-API-Key: {TOKEN}",
    f"GET /sign-in/link/{HEX}/ 200",
    f"Cookie: sessionid={HEX[:32]}; csrftoken={HEX[32:]}",
    f"delivered secret={WEBHOOK}",
    f"signed with {WEBHOOK}",
    f"cannot decrypt {SEALED} with {FERNET}",
    f"password: {PASSWORD}",
    f'{{"password": "{PASSWORD}"}}',
    f"could not connect to postgresql://panel:{quote(IN_URL, safe='')}@db.test/panel",
    f"redis://:{HEX}@127.0.0.1:6379/0 refused",
    f"otpauth secret shown {TOTP}",
    *PRIVATE.splitlines(),
    "2026-11-30 17:00:01,000 INFO dnspanel.publish.encoding encoded from=41 to=58 bytes=9120 ms=37",
]
IN_LOGS = (
    TSIG,
    SHORT_TSIG,
    TOKEN,
    WEBHOOK,
    FERNET,
    SEALED,
    HEX,
    HEX[:32],
    HEX[32:],
    TOTP,
    PASSWORD,
    quote(IN_URL, safe=""),
)


def bundle_of(report: Report, logs: list[str], path: Path) -> dict[str, str]:
    write_bundle(path, report, logs)
    with tarfile.open(path) as tar:
        files = {member.name.rpartition("/")[2]: tar.extractfile(member) for member in tar}
        return {name: file.read().decode() for name, file in files.items() if file}


@pytest.fixture
def known(settings: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Mapping[str, str]:
    """Put secrets wherever the panel has some, and return them."""
    found = {
        name: f'{name.lower()} "/ü{secrets.token_urlsafe(20)}'
        for name in ("SECRET_KEY", "DATABASE", "REDIS", "MAIL", "ACCESS", "BUCKET", "FILE", "URL")
    }
    found |= {"MASTER_KEY": FERNET, "FORMER": Fernet.generate_key().decode()}
    settings.SECRET_KEY, settings.MASTER_KEY, settings.MASTER_KEYS_OLD = found["SECRET_KEY"], FERNET, [found["FORMER"]]
    settings.EMAIL_HOST_PASSWORD = found["MAIL"]
    settings.REDIS_URL = f"redis://:{quote(found['REDIS'], '')}@127.0.0.1:1/0"
    monkeypatch.setitem(settings.DATABASES["default"], "PASSWORD", found["DATABASE"])
    options = {"access_key": found["ACCESS"], "secret_key": found["BUCKET"]}
    settings.STORAGES = {**settings.STORAGES, "segments": {**settings.STORAGES["segments"], "OPTIONS": options}}
    monkeypatch.setenv("PANEL_SECRET_KEY", found["SECRET_KEY"])
    monkeypatch.setenv("PANEL_MASTER_KEY", FERNET)
    monkeypatch.setenv("PANEL_MASTER_KEY_OLD", found["FORMER"])
    monkeypatch.setenv("PANEL_DATABASE", f"postgresql://panel:{quote(found['DATABASE'], '')}@db.test/panel")
    monkeypatch.setenv("PANEL_REDIS_URL", settings.REDIS_URL)
    monkeypatch.setenv("PANEL_MAIL_PASSWORD", found["MAIL"])
    monkeypatch.setenv("PANEL_SEGMENTS_S3_ACCESS_KEY", found["ACCESS"])
    monkeypatch.setenv("PANEL_SEGMENTS_S3_SECRET_KEY", found["BUCKET"])
    monkeypatch.setenv("PANEL_SEGMENTS_S3_ENDPOINT", f"https://user:{quote(found['URL'], '')}@s3.test")
    (tmp_path / "mail-password").write_text(found["FILE"])
    monkeypatch.setenv("PANEL_MAIL_PASSWORD_FILE", str(tmp_path / "mail-password"))
    return found


@pytest.mark.django_db
def test_no_secret_is_in_a_bundle(known: Mapping[str, str], tmp_path: Path) -> None:
    """A finding repeats an error that names all of them, and so does the log."""
    everything = " ".join([*known.values(), *map(quote, known.values())])
    report = diagnose(now=timezone.now())
    leaking = Finding("panel.failing", Level.WARNING, f"Failed: {everything}", everything, everything, "panel.failing")
    leaking_report = Report(report.at, report.version, report.host, (leaking,), report.unchecked, report.checks)
    files = bundle_of(leaking_report, [*LINES, everything, *known.values()], tmp_path / "bundle.tar")
    assert sorted(files) == ["log.txt", "report.json", "report.txt", "settings.txt"]
    for name, text in files.items():
        for secret in (*known.values(), *IN_LOGS):
            assert secret not in text, (name, secret)
            assert quote(secret, safe="") not in text, (name, secret)
        for line in PRIVATE.splitlines()[1:-1]:
            assert line not in text
    assert REMOVED in files["report.txt"]
    assert "PANEL_MASTER_KEY=(set)" in files["settings.txt"]
    assert "PANEL_SEGMENTS_S3_ENDPOINT=https://[removed]@s3.test" in files["settings.txt"]
    assert LINES[-1] in files["log.txt"]


@pytest.mark.django_db
def test_the_command_writes_a_bundle_that_only_its_owner_reads(tmp_path: Path, capsys: Any) -> None:
    log, bundle = tmp_path / "web.log", tmp_path / "bundle.tar"
    log.write_bytes(b"2026-11-30 INFO dnspanel started\n\xff\n" + b"x" * 100_000 + b"\n")
    with pytest.raises(SystemExit) as ended:
        call_command("doctor", "--json", "--bundle", str(bundle), "--log", str(log))
    report = json.loads(capsys.readouterr().out)
    assert ended.value.code == report["status"]
    assert bundle.stat().st_mode & 0o777 == 0o600
    with tarfile.open(bundle) as tar:
        text = tar.extractfile("dnspanel-doctor/log.txt").read().decode()  # type: ignore[union-attr]
    assert text.startswith("2026-11-30 INFO dnspanel started\n")
    assert len(text) < 10_000


@pytest.mark.django_db
def test_a_bundle_that_cannot_be_written_is_status_2(tmp_path: Path, capsys: Any) -> None:
    with pytest.raises(SystemExit) as ended:
        call_command("doctor", "--bundle", str(tmp_path / "missing" / "bundle.tar"))
    assert ended.value.code == 2
    assert "No such file or directory" in capsys.readouterr().err


def test_a_log_line_keeps_its_words() -> None:
    line = "INFO dnspanel.fleet.push pushed node=ns3 from=41 to=58 look-at-what-is-published /var/lib/dnspanel"
    assert without_secrets(line) == line
