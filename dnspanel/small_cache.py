"""Cache function results within a memory limit, for functions whose arguments are strings. Pure.

`functools.lru_cache` limits the number of entries, but not their size. For example, 65,536 strings of 64 KiB are four
gigabytes, and every editor of a zone can write such strings.
"""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, Protocol, TypeVar

_Answer = TypeVar("_Answer", covariant=True)
# The size of an entry without its strings: the key, the result, and the links between entries.
_OVERHEAD = 400


class Cached(Protocol[_Answer]):
    """A cached function. It uses at most `most_bytes` of memory if results aren't longer than the arguments."""

    most_bytes: int

    def __call__(self, *args: Any) -> _Answer: ...

    def cache_clear(self) -> None: ...


def small_cache(*, entries: int, longest: int) -> Callable[[Callable[..., _Answer]], Cached[_Answer]]:
    """Cache the last results of the decorated function, except for arguments with over `longest` characters.

    Arguments are strings, tuples of strings, and numbers.
    """

    def decorate(function: Callable[..., _Answer]) -> Cached[_Answer]:
        def call_measured(*args: Any) -> _Answer:
            answer = function(*args)
            # Only new strings are measured, because an import can look up one string a hundred thousand times.
            if sum(map(_length, args)) > longest:
                raise _NotKept(answer)
            return answer

        kept = lru_cache(maxsize=entries)(call_measured)

        @wraps(function)
        def call(*args: Any) -> _Answer:
            try:
                return kept(*args)
            except _NotKept as result:
                return result.answer  # type: ignore[no-any-return]

        call.most_bytes = entries * (2 * longest + _OVERHEAD)  # type: ignore[attr-defined]
        call.cache_clear = kept.cache_clear  # type: ignore[attr-defined]
        return call  # type: ignore[return-value]

    return decorate


class _NotKept(Exception):
    """An exception that bypasses `lru_cache` with a result, because `lru_cache` caches every returned value."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer


def _length(argument: Any) -> int:
    if isinstance(argument, str | bytes):
        return len(argument)
    return sum(map(len, argument)) + 60 * len(argument) if isinstance(argument, tuple) else 0
