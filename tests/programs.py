"""The installation of all third-party programs that the tests run, in parallel, for `./dev setup`."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from tests.clients.packages import NotInstalled, go_programs, node_packages, python_programs
from tests.oracle.powerdns import Unavailable, of_suite


def install(step: Callable[[], object]) -> str:
    """Run the step. Return an error message, or "" on success. Tests that need the program report the error too."""
    try:
        step()
    except (NotInstalled, Unavailable) as exc:
        return str(exc)
    return ""


def main() -> None:
    steps: list[Callable[[], object]] = [partial(of_suite, suite) for suite in ("trixie", "sid")]
    steps += [
        partial(python_programs, name) for name in ("clients", "clients-ansible", "clients-certbot1", "clients-openapi")
    ]
    go_modules = ("go-powerdns", "oapi-codegen", "pebble", "terraform-dns", "terraform-record")
    steps += [partial(go_programs, name) for name in (*go_modules, "oidc-provider", "saml-provider")]
    steps += [partial(node_packages, name) for name in ("openapi-lint", "openapi-typescript")]
    with ThreadPoolExecutor(len(steps)) as pool:
        for problem in filter(None, pool.map(install, steps)):
            print(problem)  # noqa: T201


if __name__ == "__main__":
    main()
