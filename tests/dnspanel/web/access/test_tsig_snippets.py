"""Ready-made configuration snippets for TSIG keys."""

import pytest

from dnspanel.accounts.tokens.presets import Preset
from dnspanel.web.access.tsig_snippets import tsig_snippets

KEY = {"key_name": "k.test.", "algorithm": "hmac-sha256", "secret": "c2VjcmV0", "server": "panel.test", "port": 5340}


@pytest.mark.parametrize(
    ("preset", "zone", "name", "line"),
    [
        (
            Preset.ACME,
            "example.test.",
            "www.example.test.",
            'add _acme-challenge.www.example.test. 60 TXT "proof"',
        ),
        (Preset.DYNDNS, "example.test.", "home.example.test.", "update add home.example.test. 300 A 192.0.2.1"),
        (Preset.CI, "example.test.", "", "update add www.example.test. 300 A 192.0.2.1"),
        (Preset.CUSTOM, "", "", "update add www.example.com. 300 A 192.0.2.1"),
    ],
)
def test_the_texts_fit_what_the_key_was_made_for(preset: Preset, zone: str, name: str, line: str) -> None:
    key_file, session = tsig_snippets(preset=preset, zone=zone, name=name, **KEY)  # type: ignore[arg-type]
    assert 'key "k.test." {' in key_file.text
    assert 'secret "c2VjcmV0";' in key_file.text
    assert "server panel.test 5340\n" in session.text
    assert line in session.text
    assert ("zone example.test.\n" in session.text) == bool(zone)
