"""lookback through its C interface, by ctypes."""
import ctypes as c

import numpy as np

from problem import load
from ways import Way

TYPES = {"float32": 0, "bfloat16": 2, "float16": 3}


class Tensor(c.Structure):  # lookback_tensor, and lookback_output
    _fields_ = [("data", c.c_void_p), ("type", c.c_int32), ("reserved", c.c_int32),
                ("extent", c.c_int64 * 4), ("stride", c.c_int64 * 4)]


def words(count):
    return c.c_int64 * count  # a nested struct that stays zero, which is absent


class Options(c.Structure):  # lookback_options
    _fields_ = [("struct_size", c.c_size_t),
                ("has_scale", c.c_int32), ("scale", c.c_double),
                ("has_temperature", c.c_int32), ("temperature", c.c_double),
                ("has_softcap", c.c_int32), ("softcap", c.c_double),
                ("alibi", words(2)), ("bias", c.c_void_p), ("hook", words(2)), ("sinks", words(2)),
                ("causal", c.c_int32), ("window", words(3)),
                ("has_prefix", c.c_int32), ("prefix", c.c_int64),
                ("position", words(4)), ("lengths", words(2)), ("documents", words(4)),
                ("blocks", words(3)), ("mask", c.c_void_p),
                ("q_bounds", words(2)), ("k_bounds", words(2)),
                ("has_threads", c.c_int32), ("threads", c.c_int32), ("progress", words(2))]


def tensor(x, dtype):
    strides = tuple(s // x.itemsize for s in x.strides)
    return Tensor(x.ctypes.data, TYPES[dtype], 0, x.shape, strides)


class Ours:
    name = "lookback"

    def __init__(self, path):
        self.library = c.CDLL(path)
        for function in ("version", "last_error"):
            getattr(self.library, "lookback_" + function).restype = c.c_char_p
        self.attend = self.library.lookback_attend
        self.attend.argtypes = [c.POINTER(Tensor)] * 5 + [c.POINTER(Options)]
        self.version = self.library.lookback_version().decode()

    def target(self):
        name = c.c_char_p()
        self.check(self.library.lookback_active_target(c.byref(name)))
        return name.value.decode()

    def check(self, status):
        if status != 0:
            raise RuntimeError("lookback: " + self.library.lookback_last_error().decode())

    def ways(self, problem, threads):
        return [("C interface", lambda: self.way(problem, threads))]

    def way(self, problem, threads):
        case = problem.case
        out = np.zeros_like(problem.q)
        views = [tensor(x, case.dtype) for x in (problem.q, problem.k, problem.v, out)]
        options = Options(struct_size=c.sizeof(Options), causal=case.causal, has_threads=1,
                          threads=threads)
        if problem.bias is not None:
            views.append(tensor(problem.bias, "float32"))
            options.bias = c.addressof(views[-1])
        q, k, v, o = map(c.byref, views[:4])
        attend, given = self.attend, c.byref(options)

        def call():
            self.check(attend(q, k, v, o, None, given))

        call.keep = (problem, views)  # options has their addresses only
        return Way("C interface", call, lambda: load(out, case.dtype))
