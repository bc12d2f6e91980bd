"""The golden bytes, by title."""

import tomllib
from pathlib import Path

_FILE = Path(__file__).with_name("powerdns_lmdb.toml")
GOLDEN: dict[str, bytes] = {
    title: bytes.fromhex("".join(text.split())) for title, text in tomllib.loads(_FILE.read_text()).items()
}
