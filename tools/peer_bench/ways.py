"""What every engine, ours included, gives the clock."""
import contextlib
from dataclasses import dataclass
from typing import Any, Callable


class Unsupported(Exception):
    """An engine has no way to compute a case; says why."""


@dataclass
class Way:
    """One way in which an engine computes a problem: everything allocated, compiled and bound."""
    label: str
    call: Callable[[], Any]    # one attention
    result: Callable[[], Any]  # what the last call gave: [B, H, n_q, d], as float32
    within: Callable[[], Any] = contextlib.nullcontext  # what is set around a run of calls
