"""Check that web processes, workers and beat start with the master keys that the database's secrets need."""

import logging

from django.db import connection

from dnspanel.accounts.secrets.database_key import refuse_another_key
from dnspanel.accounts.secrets.master_keys import WrongMasterKey

logger = logging.getLogger(__name__)


def stop_with_another_key() -> None:
    """Exit this process if a master key that the database's secrets need is missing. Log the reason.

    Commands of manage.py use the system check E017 for this. The database connection is closed, because this process
    can fork next.
    """
    try:
        refuse_another_key()
    except WrongMasterKey as exc:
        logger.critical("not started: %s", exc)
        raise SystemExit(1) from exc
    finally:
        connection.close()
