"""Generate the secrets for a `docker compose` installation.

    python -m dnspanel.demo.container.make_secrets DIRECTORY

    panel/       secret-key master-key database redis-url
    postgres/    postgres-password
    redis/       redis-password redis.conf

Each directory is a volume of the services that need it. Every `docker compose up` can run this, because existing
secrets are kept. Only the owner and its group can read the files.
"""

import os
import secrets
import sys
from collections.abc import Callable
from pathlib import Path

from cryptography.fernet import Fernet

# Redis has only data that can be lost: hints, and the last hour's numbers.
REDIS_CONF = """\
bind * -::*
port 6379
requirepass {password}
dir /tmp
save ""
appendonly no
maxmemory 256mb
maxmemory-policy noeviction
"""


def make_secrets(directory: Path) -> None:
    """Create missing secrets, move those of a 0.1.0 installation, and rewrite redis.conf. Other secrets are kept."""
    panel, of_postgres, of_redis = (directory / name for name in ("panel", "postgres", "redis"))
    for volume in (panel, of_postgres, of_redis):
        volume.mkdir(parents=True, exist_ok=True)
    for name, volume in (("postgres-password", of_postgres), ("redis-password", of_redis), ("redis.conf", of_redis)):
        _move(panel / name, volume / name)
    keep(panel / "secret-key", lambda: secrets.token_urlsafe(64))
    keep(panel / "master-key", lambda: Fernet.generate_key().decode())
    postgres = keep(of_postgres / "postgres-password", lambda: secrets.token_urlsafe(32))
    keep(panel / "database", lambda: f"postgresql://panel:{postgres}@postgres:5432/panel")
    redis = keep(of_redis / "redis-password", lambda: secrets.token_urlsafe(32))
    keep(panel / "redis-url", lambda: f"redis://:{redis}@redis:6379/0")
    # Always rewritten, so that an installation gets the settings of its current release.
    _write(of_redis / "redis.conf", REDIS_CONF.format(password=redis))


def _move(old: Path, new: Path) -> None:
    """Move a file of a 0.1.0 installation to its own volume. In 0.1.0, one volume contained all secrets."""
    if old.exists():
        keep(new, old.read_text)
        old.unlink()


def keep(path: Path, make: Callable[[], str]) -> str:
    """Return the text of the file. Create the file first if it is missing."""
    if not path.exists():
        _write(path, make())
    return path.read_text()


def _write(path: Path, text: str) -> None:
    """Write a file that its owner and its group can read. Readers see the old or the new file, never a part."""
    new = path.with_name(f".{path.name}.new")
    new.unlink(missing_ok=True)
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o640)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    new.rename(path)


if __name__ == "__main__":
    make_secrets(Path(sys.argv[1]))
