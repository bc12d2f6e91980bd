"""Build the agent's wheel: the package `replication` and nothing of the panel.

python deploy/agent/build.py DIRECTORY

The version contains the commit, so pip treats the wheel of a later commit as an upgrade. Two wheels of one commit have
the same bytes: all times are the commit's, and file modes do not depend on the umask.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(CHECKOUT))

from replication import version  # noqa: E402  # of this checkout, whatever is installed


def build_wheel(directory: Path) -> Path:
    """Build the wheel in `directory`, creating it if needed. Raise CalledProcessError if the build fails."""
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        source = Path(place)
        shutil.copytree(
            CHECKOUT / "replication", source / "replication", ignore=shutil.ignore_patterns("__pycache__", "README.md")
        )
        for file in (Path(__file__).with_name("pyproject.toml"), CHECKOUT / "LICENSE", CHECKOUT / "NOTICE"):
            shutil.copy(file, source)
        version.write_built(version.version_to_build(CHECKOUT), source / "replication")
        for path in source.rglob("*"):
            path.chmod(0o755 if path.is_dir() else 0o644)
        wheels = source / "wheels"
        command = [sys.executable, "-m", "build", "--wheel", "--outdir", str(wheels), str(source)]
        environment = os.environ | {"SOURCE_DATE_EPOCH": str(version.commit_time(CHECKOUT))}
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment, umask=0o022)
        (built,) = wheels.iterdir()
        return Path(shutil.copy(built, directory))


if __name__ == "__main__":
    sys.stdout.write(f"{build_wheel(Path(sys.argv[1]))}\n")
