"""The download of the command-line client."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from dnspanel.cli_file import command_line


def test_curl_gets_a_file_that_runs_without_signing_in(live_server: Any, settings: Any, tmp_path: Path) -> None:
    settings.PANEL_URL = live_server.url
    subprocess.run(["curl", "-fsSO", f"{live_server.url}/cli/dnspanel"], cwd=tmp_path, check=True, timeout=60)
    program = tmp_path / "dnspanel"
    program.chmod(0o755)
    environ = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "DNSPANEL_TOKEN": "dnsp_unknown"}
    helped = subprocess.run([program, "--help"], env=environ, capture_output=True, text=True, check=False, timeout=60)
    assert (helped.returncode, helped.stderr) == (0, "")
    # The file contains the URL of its panel.
    answer = subprocess.run([program, "whoami"], env=environ, capture_output=True, text=True, check=False, timeout=60)
    assert (answer.returncode, "token" in answer.stderr) == (1, True)


@pytest.mark.django_db
def test_it_is_sent_once_for_each_version(client: Client, settings: Any) -> None:
    first = client.get("/cli/dnspanel")
    assert (first.status_code, first.content) == (200, command_line(settings.PANEL_URL))
    assert first["Content-Disposition"] == 'attachment; filename="dnspanel"'
    assert first["Cache-Control"] == "no-cache"
    assert first["X-Content-Type-Options"] == "nosniff"
    assert client.get("/cli/dnspanel", headers={"If-None-Match": first["ETag"]}).status_code == 304
    assert client.get("/cli/dnspanel", headers={"If-None-Match": '"other"'}).status_code == 200
    assert client.post("/cli/dnspanel").status_code == 405
    settings.PANEL_URL = "https://elsewhere.test"
    assert client.get("/cli/dnspanel")["ETag"] != first["ETag"]
