"""Calls the shared library through ctypes, with what the C header says and nothing else.

    ctypes_test.py LIBRARY VERSION
"""
import ctypes as c
import math
import sys

FLOAT32, FLOAT64 = 0, 1
Extents = c.c_int64 * 4


class Tensor(c.Structure):
    _fields_ = [("data", c.c_void_p), ("type", c.c_int32), ("reserved", c.c_int32),
                ("extent", Extents), ("stride", Extents)]


class List(c.Structure):
    _fields_ = [("data", c.c_void_p), ("count", c.c_int64)]


class Position(c.Structure):
    _fields_ = [("anchor", c.c_int32), ("offset", c.c_int64), ("offsets", List)]


class Window(c.Structure):
    _fields_ = [("has_left", c.c_int32), ("has_right", c.c_int32),
                ("left", c.c_int64), ("right", c.c_int64)]


class Documents(c.Structure):
    _fields_ = [("queries", List), ("keys", List)]


class Blocks(c.Structure):
    _fields_ = [("visible", c.c_void_p), ("rows", c.c_int64), ("keys", c.c_int64)]


class Tile(c.Structure):
    _fields_ = [("scores", c.c_void_p), ("is_float64", c.c_int32), ("reserved", c.c_int32)] + [
        (name, c.c_int64) for name in ("row_stride", "key_stride", "rows", "keys", "sequence",
                                       "head", "first_row", "first_position", "first_key")]


Hook = c.CFUNCTYPE(None, c.POINTER(Tile), c.c_void_p)
Progress = c.CFUNCTYPE(c.c_int32, c.c_double, c.c_void_p)


class Options(c.Structure):
    _fields_ = [("struct_size", c.c_size_t),
                ("has_scale", c.c_int32), ("scale", c.c_double),
                ("has_temperature", c.c_int32), ("temperature", c.c_double),
                ("has_softcap", c.c_int32), ("softcap", c.c_double),
                ("alibi", List), ("bias", c.POINTER(Tensor)),
                ("hook", Hook), ("hook_user", c.c_void_p), ("sinks", List),
                ("causal", c.c_int32), ("window", Window),
                ("has_prefix", c.c_int32), ("prefix", c.c_int64),
                ("position", Position), ("lengths", List), ("documents", Documents),
                ("blocks", Blocks), ("mask", c.POINTER(Tensor)),
                ("q_bounds", List), ("k_bounds", List),
                ("has_threads", c.c_int32), ("threads", c.c_int32),
                ("progress", Progress), ("progress_user", c.c_void_p)]


library = c.CDLL(sys.argv[1])
library.lookback_last_error.restype = c.c_char_p
library.lookback_version.restype = c.c_char_p
library.lookback_heads_first.restype = Tensor
library.lookback_heads_first.argtypes = [c.c_void_p, c.c_int32] + [c.c_int64] * 4
library.lookback_attend.argtypes = [c.POINTER(Tensor)] * 5 + [c.POINTER(Options)]

n_q, n_k, d = 5, 8, 3


def numbers(count, seed):
    return (c.c_double * count)(*[math.sin(seed + 7 * i) for i in range(count)])


q, k, v = numbers(n_q * d, 1), numbers(n_k * d, 2), numbers(n_k * d, 3)
out, lse = (c.c_double * (n_q * d))(), (c.c_double * n_q)()


def attend(options):
    return library.lookback_attend(
        library.lookback_heads_first(q, FLOAT64, 1, 1, n_q, d),
        library.lookback_heads_first(k, FLOAT64, 1, 1, n_k, d),
        library.lookback_heads_first(v, FLOAT64, 1, 1, n_k, d),
        library.lookback_heads_first(out, FLOAT64, 1, 1, n_q, d),
        library.lookback_heads_first(lse, FLOAT64, 1, 1, n_q, 1), options)


def check(holds, text):
    if not holds:
        sys.exit(f"failed: {text}; {library.lookback_last_error().decode()}")


def check_results(shift):
    """Against plain loops: causal at offset 3, and 'shift' per key added to the scores."""
    for i in range(n_q):
        keys = range(min(n_k, i + 3 + 1))
        scores = [sum(q[i * d + f] * k[j * d + f] for f in range(d)) / math.sqrt(d) + shift * j
                  for j in keys]
        weights = [math.exp(s) for s in scores]
        check(abs(lse[i] - math.log(sum(weights))) < 1e-12, f"lse of row {i}")
        for f in range(d):
            blend = sum(w * v[j * d + f] for j, w in zip(keys, weights)) / sum(weights)
            check(abs(out[i * d + f] - blend) < 1e-12, f"out[{i}, {f}]")


@Hook
def add_to_keys(tile, user):
    t = tile.contents
    check(t.is_float64 == 1, "the hook is called with float64 tiles")
    scores = c.cast(t.scores, c.POINTER(c.c_double))
    for r in range(t.rows):
        for j in range(t.keys):
            scores[r * t.row_stride + j * t.key_stride] += 0.125 * (t.first_key + j)


fractions = []


@Progress
def remember(fraction, user):
    fractions.append(fraction)
    return 1


@Progress
def stop(fraction, user):
    return 0


check(library.lookback_version().decode() == sys.argv[2], "the version")
options = Options(struct_size=c.sizeof(Options), causal=1, progress=remember)
options.position.anchor, options.position.offset = 3, 3
check(attend(options) == 0, "attend")
check_results(0)
check(fractions[-1] == 1, "progress ends at 1")
options.hook = add_to_keys
check(attend(options) == 0, "attend with a hook")
check_results(0.125)
options.progress = stop
check(attend(options) == 3 and b"cancel" in library.lookback_last_error(), "cancelling")
options.causal = 7
check(attend(options) == 1 and b"causal is 7" in library.lookback_last_error(), "a wrong flag")
check(attend(None) == 0, "no options")
print("ctypes: all as it should be")
