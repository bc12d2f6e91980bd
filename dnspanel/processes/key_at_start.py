"""Web processes, workers and beat do not start with a master key that is not the database's."""

import logging

from django.db import connection

from dnspanel.accounts.secrets.database_key import refuse_another_key
from dnspanel.accounts.secrets.master_keys import WrongMasterKey

logger = logging.getLogger(__name__)


def stop_with_another_key() -> None:
    """End this process, with the reason in its log, if PANEL_MASTER_KEY is not the database's key.

    Commands of manage.py ask the same by a check, E017. The connection is closed, because this process may fork next.
    """
    try:
        refuse_another_key()
    except WrongMasterKey as exc:
        logger.critical("not started: %s", exc)
        raise SystemExit(1) from exc
    finally:
        connection.close()
