"""Read all problem types of API v2, with the stable codes for clients, from the file beside this module.

A problem's `type` is a URL below `/api/v2/problems/` with an explanation. A published code never changes its meaning.
"""

import tomllib
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ProblemType:
    code: str
    status: int
    title: str
    cause: str  # what happened
    remedy: str  # what a client can do

    @property
    def meaning(self) -> str:
        """The cause and the remedy as one string."""
        return f"{self.cause} {self.remedy}"


_FILE = Path(__file__).with_suffix(".toml")
PROBLEM_TYPES = {code: ProblemType(code, **texts) for code, texts in tomllib.loads(_FILE.read_text()).items()}
