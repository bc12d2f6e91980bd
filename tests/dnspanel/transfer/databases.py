"""Fixtures that fill a SQL database of each supported kind with the zones of `powerdns_estate`."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote
from uuid import uuid4

import psycopg
import pytest
from django.conf import settings

from tests.dnspanel.transfer.powerdns_estate import EXTRAS, fill
from tests.dnspanel.transfer.running import SCHEMAS, MariaDB, PowerDNS, mariadb, run, sqlite_powerdns


def schema(backend: str, name: str) -> str:
    """Return PowerDNS's own SQL schema for a backend. Skip the test if that backend is not installed."""
    path = SCHEMAS / f"pdns-backend-{backend}/schema/schema.{name}.sql"
    if not path.exists():
        pytest.skip(f"pdns-backend-{backend} is not installed on this machine")
    return path.read_text()


@pytest.fixture(scope="session")
def sqlite_estate(tmp_path_factory: pytest.TempPathFactory) -> PowerDNS:
    """Return a PowerDNS whose database `pdns.sqlite` is filled."""
    powerdns = sqlite_powerdns(tmp_path_factory.mktemp("gsqlite3"))
    fill(powerdns)
    run("sqlite3", powerdns.directory / "pdns.sqlite", input=EXTRAS.format(true="1"))
    return powerdns


def postgres_options() -> dict[str, str]:
    """Return libpq options for the PostgreSQL server of the test settings."""
    database_settings = settings.DATABASES["default"]
    options = {
        "host": database_settings["HOST"],
        "port": database_settings["PORT"],
        "user": database_settings["USER"],
        "password": database_settings["PASSWORD"],
    }
    return {name: str(value) for name, value in options.items() if value}


def postgres_url(database: str) -> str:
    options = postgres_options()
    password = f":{quote(options['password'], safe='')}" if "password" in options else ""
    server = f"postgresql://{quote(options.get('user', ''))}{password}@"
    if options.get("host", "").startswith("/"):
        return f"{server}/{database}?host={quote(options['host'])}&port={options.get('port', 5432)}"
    return f"{server}{options.get('host', 'localhost')}:{options.get('port', 5432)}/{database}"


@pytest.fixture(scope="session")
def postgres_estate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Create and fill a PostgreSQL database for PowerDNS, and yield its URL."""
    database = f"pdns_{uuid4().hex[:12]}"
    with psycopg.connect(dbname="postgres", autocommit=True, **postgres_options()) as server:
        server.execute(f"CREATE DATABASE {database} TEMPLATE template0 ENCODING 'UTF8'")
        try:
            with psycopg.connect(dbname=database, **postgres_options()) as connection:
                connection.execute(schema("pgsql", "pgsql"))
            powerdns = PowerDNS(tmp_path_factory.mktemp("gpgsql"), {"launch": "gpgsql", "gpgsql-dnssec": "yes"})
            powerdns.settings |= {f"gpgsql-{name}": value for name, value in postgres_options().items()}
            powerdns.settings["gpgsql-dbname"] = database
            fill(powerdns)
            with psycopg.connect(dbname=database, **postgres_options()) as connection:
                connection.execute(EXTRAS.format(true="true"))
            yield postgres_url(database)
        finally:
            server.execute(f"DROP DATABASE {database} WITH (FORCE)")


@pytest.fixture(scope="session")
def mysql_estate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MariaDB]:
    """Run a MariaDB with a filled database `pdns`."""
    tables = schema("mysql", "mysql")
    with mariadb() as server:
        server.client("CREATE DATABASE pdns")
        server.client(tables, "pdns")
        options = {"launch": "gmysql", "gmysql-dnssec": "yes", "gmysql-dbname": "pdns", "gmysql-user": "root"}
        directory: Path = tmp_path_factory.mktemp("gmysql")
        fill(PowerDNS(directory, {**options, "gmysql-socket": server.socket, "gmysql-host": ""}))
        server.client(EXTRAS.format(true="1"), "--default-character-set=utf8mb4", "pdns")
        yield server
