"""Short turns of ours and of a peer, one after the other, so that the moods of the machine fall on
both."""
import gc
import time
from dataclasses import dataclass
from statistics import median, quantiles

import numpy as np

from problem import TOLERANCE
from ways import Unsupported

TURN = 0.025   # seconds, or one call where that is longer
REST = 0.008   # before a turn: threads that have finished spin on for some ms (OpenMP's)
PROBE = 0.025  # seconds in which to guess how long a call takes


@dataclass
class Plan:
    """How long to measure: as many pairs as fit into seconds, from least to most."""
    seconds: float = 1.2
    least: int = 7
    most: int = 15


@dataclass
class Pairing:
    """Ours beside one peer; times in seconds per call."""
    how: str
    ours: float
    theirs: float
    ratios: list  # theirs / ours, pair by pair
    difference: float
    tolerance: float

    @property
    def ratio(self):
        return median(self.ratios)

    @property
    def quartiles(self):
        if len(self.ratios) < 2:
            return self.ratios[0], self.ratios[0]
        low, _, high = quantiles(self.ratios, n=4, method="inclusive")
        return low, high

    @property
    def agrees(self):
        return self.difference <= self.tolerance  # a NaN does not


def turn(way, calls):
    """Seconds per call."""
    time.sleep(REST)
    with way.within():
        if calls > 1:
            way.call()  # wakes its threads
        start = time.perf_counter()
        for _ in range(calls):
            way.call()
        return (time.perf_counter() - start) / calls


def once(way):
    """About the seconds of a call."""
    seconds = turn(way, 1)
    return seconds if seconds > PROBE else turn(way, max(1, int(PROBE / seconds)))


def fastest(ways):
    """The fastest of a peer's ways, and its seconds per call. What fails is passed over."""
    found, reasons = [], []
    for label, build in ways:
        try:
            way = build()
            turn(way, 1)  # the first call may allocate and compile
            found.append((once(way), way))
        except Exception as error:  # whatever a peer throws
            text = (str(error).strip().splitlines() or [type(error).__name__])[0]
            reasons.append(f"{label}: {text[:100]}")
    if not found:
        raise Unsupported("; ".join(reasons))
    best = min(seconds for seconds, _ in found)
    close = [(seconds, way) for seconds, way in found if seconds < 1.5 * best]
    for _ in range(2 if len(close) > 1 else 0):
        close = [(min(seconds, once(way)), way) for seconds, way in close]
    seconds, way = min(close, key=lambda entry: entry[0])
    return way, seconds


def pair(ours, ways, dtype, plan):
    """Ours, as fastest() gives it, beside the fastest of a peer's ways."""
    both = [ours, fastest(ways)]
    ours, theirs = both[0][0], both[1][0]
    calls = [max(1, round(TURN / seconds)) for _, seconds in both]
    length = sum(n * seconds + REST for n, (_, seconds) in zip(calls, both))
    count = min(plan.most, max(plan.least, int(plan.seconds / length)))
    times = ([], [])
    gc.collect()
    gc.disable()
    for i in range(count):
        for which in (0, 1) if i % 2 == 0 else (1, 0):
            times[which].append(turn(both[which][0], calls[which]))
    gc.enable()
    difference = float(np.max(np.abs(ours.result() - theirs.result()), initial=0))
    return Pairing(theirs.label, median(times[0]), median(times[1]),
                   [b / a for a, b in zip(*times)], difference, TOLERANCE[dtype])
