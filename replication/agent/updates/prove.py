"""Purge PowerDNS's caches, then prove over DNS that it serves the store's data."""

import time
from collections.abc import Callable, Collection

from replication import verify
from replication.agent.updates.purge import Purger
from replication.agent.updates.touched import Touched, no_zone
from replication.errors import NotServed
from replication.store.store import Store
from replication.verify_names import MOST_PLAIN, prove_names
from replication.verify_signatures import verify_signatures
from replication.wire.position import Position

VERIFY_SECONDS = 1.5
# Up to this many plain rows, all names are queried: by nodes that clients use, and for a push to the canary that
# changes many zones. A thousand queries cost each node as much as the rest of such a push.
MOST_PLAIN_OF_NODES = 200
MOST_PLAIN_OF_IMPORTS = 2_500
# If the first query finds something else, it is repeated after this pause, this many times.
ATTEMPTS = 2
PAUSE_SECONDS = 0.05


class Prover:
    """A verifier that purges stale data from one PowerDNS's caches, then checks its answers. Not thread-safe."""

    def __init__(
        self, store: Store, purger: Purger, *, dns_address: str, dns_port: int, clock: Callable[[], float] = time.time
    ) -> None:
        self._store, self._purger, self._clock = store, purger, clock
        self._dns_address, self._dns_port = dns_address, dns_port
        # Zones whose signatures are not queried, because they were bad before this push or are bad on other nodes.
        self.unproven: Collection[str] = ()

    def prove(self, touched: Touched, *, without: Callable[[bytes], bool] = no_zone, learn: bool = True) -> Position:
        """Purge the changes and verify PowerDNS's answers, at most ATTEMPTS times. Return the store's position.

        Zones whose key prefix matches `without` are not queried. Use `learn=False` if PowerDNS already has all new
        zones in its list. Raise NotServed if the answers are still wrong after the last attempt.
        """
        position = self._store.position()
        assert position is not None  # something was applied, now or earlier
        for attempt in range(1, ATTEMPTS + 1):
            try:
                self.purge(touched, position, by_names=attempt == 1, learn=learn)
                marks, rows = touched.selection(without)
                expected = list(verify.expectations(self._store, marks, rows))
                verify.verify(expected, self._dns_address, self._dns_port, seconds=VERIFY_SECONDS)
                prove_names(
                    self._store,
                    touched.changed_names(self._most_plain(touched), without),
                    self._dns_address,
                    self._dns_port,
                    seconds=VERIFY_SECONDS,
                    known={expectation.name for expectation in expected},
                    may_transfer=not self._purger.has_caches(),
                )
                to_validate = {mark.name: mark for mark in (*touched.signed, *marks) if mark.name not in self.unproven}
                verify_signatures(
                    self._store,
                    to_validate.values(),
                    rows,
                    self._dns_address,
                    self._dns_port,
                    now=self._clock(),
                    seconds=VERIFY_SECONDS,
                )
            except NotServed:
                if attempt == ATTEMPTS:
                    raise
                time.sleep(PAUSE_SECONDS)
            else:
                break
        self._store.release_pages()
        return position

    def _most_plain(self, touched: Touched) -> int:
        """Return the largest number of plain rows for a query of every changed name. Above it, a sample is queried.

        Nodes don't wait for the canary after a large push, so the canary can query everything that one person
        publishes. A change of many zones at once is an import, which has too many names for that.
        """
        if self._purger.has_caches():
            return MOST_PLAIN_OF_NODES
        return MOST_PLAIN_OF_IMPORTS if touched.everything else MOST_PLAIN

    def purge(self, touched: Touched, position: Position | None, *, by_names: bool, learn: bool = True) -> None:
        appeared = touched.appeared if learn else ()
        if touched.everything:
            self._purger.purge_everything(position, appeared=bool(appeared))
            return
        zones, names = touched.stale(self._store) if by_names else (touched.zones, set[str]())
        self._purger.purge_zones(zones, position, names=names, appeared=appeared)
