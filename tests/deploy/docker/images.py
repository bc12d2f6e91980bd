"""The images of docker-compose.yml, created locally without a registry.

debootstrap creates `debian:12-slim` from this machine's mirror, with its apt and pip settings and certificates. The
Dockerfiles below `images/` build the third-party images from it, with the tags of docker-compose.yml. docker-compose
builds the panel's own images, on the machine's network.
"""

import ast
import hashlib
import inspect
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import yaml

from tests.deploy.docker.engine import Engine
from tests.oracle.powerdns import debian_mirror, debootstrap, program_of_suite

ROOT = Path(__file__).resolve().parents[3]
FOLDER = Path(__file__).resolve().parent / "images"
BASE = "debian:12-slim"
SUITE = "bookworm"
OF_OTHERS = {"postgres:15": "postgres", "redis:7": "redis", "nginx:1.28": "nginx"}
OURS = ("dnspanel-panel", "dnspanel-node")
CERTIFICATES = "usr/local/share/ca-certificates"
BUILD_SECONDS = 900

# Folders that debian:12-slim lacks, too.
_NOT_IN_SLIM = ("doc", "groff", "info", "linda", "lintian", "locale", "man")
_PIP_SETTINGS = ("cert", "extra-index-url", "index-url", "proxy", "trusted-host")
_PROXIES = ("http_proxy", "https_proxy", "no_proxy")


def make_images_of_others(engine: Engine) -> None:
    """Create the base and third-party images unless they are current. Raise Unavailable if that is not possible."""
    recipe = f"dnspanel-base:{_recipe()}"
    if not engine.docker("images", "--quiet", recipe).strip():
        _import_base(engine)
        engine.docker("tag", BASE, recipe)
    for tag, folder in OF_OTHERS.items():
        arguments = [word for name, value in _proxies().items() for word in ("--build-arg", f"{name}={value}")]
        engine.docker(
            *("build", "--quiet", "--network=host", *arguments, f"--tag={tag}", str(FOLDER / folder)),
            seconds=BUILD_SECONDS,
        )


def image_sizes(engine: Engine) -> dict[str, int]:
    """Return the size of each image in bytes, including its base."""
    names = [BASE, *OF_OTHERS, *OURS]
    sizes = engine.docker("image", "inspect", "--format={{.Size}}", *names).split()
    return dict(zip(names, map(int, sizes), strict=True))


def write_build_settings(path: Path) -> Path:
    """Write an additional docker-compose file for builds, with the machine's network and proxies. Return its path."""
    build = {"network": "host", "args": _proxies()}
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    built = {name: {"build": build} for name, service in services.items() if "build" in service}
    path.write_text(yaml.safe_dump({"services": built}))
    return path


def compose_programs(folder: Path) -> dict[str, list[str]]:
    """Return docker-compose's command lines: Debian 12's "v1" and 13's "v2". Raise Unavailable without the latter."""
    second = program_of_suite("trixie", "usr/libexec/docker/cli-plugins/docker-compose", folder)
    return {"v1": ["/usr/bin/docker-compose"], "v2": [str(second)]}


def _recipe() -> str:
    """Return a digest of all sources of the base image except the mirror's packages."""
    digest = hashlib.sha256(inspect.getsource(_import_base).encode())
    for path, text in sorted(_settings_of_machine().items()):
        digest.update(f"{path}\0{text}\0".encode())
    return digest.hexdigest()[:16]


def _import_base(engine: Engine) -> None:
    root = Path(tempfile.mkdtemp(prefix="debian-", dir=engine.data.parent))
    try:
        debootstrap(SUITE, root, debian_mirror())
        root.chmod(0o755)
        for name in _NOT_IN_SLIM:
            shutil.rmtree(root / "usr/share" / name, ignore_errors=True)
        for pattern in ("var/cache/apt/archives/*.deb", "var/lib/apt/lists/*_*", "var/log/*.log"):
            for path in root.glob(pattern):
                path.unlink()
        for name, text in _settings_of_machine().items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        archive = root.with_suffix(".tar")
        subprocess.run(
            ["tar", "--create", "--numeric-owner", f"--directory={root}", f"--file={archive}", "."], check=True
        )
        engine.docker("import", "--change", 'CMD ["bash"]', str(archive), BASE)
        archive.unlink()
    finally:
        shutil.rmtree(root, ignore_errors=True)


def _settings_of_machine() -> dict[str, str]:
    """Return the base image's files, by path, that let builds use this machine's package sources."""
    excluded = "".join(f"path-exclude /usr/share/{name}/*\n" for name in _NOT_IN_SLIM)
    files = {
        "etc/apt/sources.list": f"deb {debian_mirror()} {SUITE} main\n",
        "etc/apt/apt.conf.d/machine": _apt_settings(),
        "etc/dpkg/dpkg.cfg.d/slim": excluded,
        "etc/pip.conf": _pip_settings(),
    }
    for path in sorted(Path("/", CERTIFICATES).glob("*.crt")):
        files[f"{CERTIFICATES}/{path.name}"] = path.read_text()
    return files


def _apt_settings() -> str:
    """Return apt's download settings. As in official images, archives are deleted after each install."""
    dumped = subprocess.run(["apt-config", "dump"], check=True, capture_output=True, text=True).stdout
    lines = re.findall(r"^Acquire::(?:http|https|Check|Retries)\b.*$", dumped, re.MULTILINE)
    return "\n".join([*lines, 'DPkg::Post-Invoke { "rm -f /var/cache/apt/archives/*.deb"; };', ""])


def _pip_settings() -> str:
    listed = subprocess.run(["python3", "-m", "pip", "config", "list"], check=False, capture_output=True, text=True)
    found = dict(re.findall(r"^(?:global|user|site|:env:)\.([\w-]+)=(.*)$", listed.stdout, re.MULTILINE))
    lines = [f"{name} = {ast.literal_eval(found[name])}" for name in _PIP_SETTINGS if name in found]
    return "\n".join(["[global]", *lines, ""])


def _proxies() -> dict[str, str]:
    """Return the proxy variables of the environment, which all Dockerfiles accept as build arguments."""
    names = [spelling for name in _PROXIES for spelling in (name, name.upper())]
    return {name: os.environ[name] for name in names if name in os.environ}
