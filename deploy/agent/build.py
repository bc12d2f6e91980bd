"""Build the agent's wheel: the package `replication` and nothing of the panel.

python deploy/agent/build.py DIRECTORY
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]


def build_wheel(directory: Path) -> Path:
    """The wheel, in `directory`, which is made if it does not exist. Raises CalledProcessError."""
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        source = Path(place)
        shutil.copytree(
            CHECKOUT / "replication", source / "replication", ignore=shutil.ignore_patterns("__pycache__", "README.md")
        )
        shutil.copy(Path(__file__).with_name("pyproject.toml"), source)
        wheels = source / "wheels"
        command = [sys.executable, "-m", "build", "--wheel", "--outdir", str(wheels), str(source)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        (built,) = wheels.iterdir()
        return Path(shutil.copy(built, directory))


if __name__ == "__main__":
    sys.stdout.write(f"{build_wheel(Path(sys.argv[1]))}\n")
