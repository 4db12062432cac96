"""The shapes that are timed, and the arrays of one."""
from dataclasses import dataclass

import numpy as np

# How far two may be apart, both having rounded in their own order. With 16-bit storage the others
# round their weights to 16 bits as well, and every output is rounded to 11 or 8 bits.
TOLERANCE = {"float32": 1e-4, "float16": 1e-3, "bfloat16": 8e-3}

# Random numbers after which an array repeats, for they take long to make; a prime, so that no two
# rows are the same.
PERIOD = 4_194_301


@dataclass(frozen=True)
class Case:
    name: str
    B: int
    H: int
    n_q: int
    n_k: int
    d: int
    kv_heads: int = 0  # 0: as many as H
    causal: bool = False
    bias: bool = False
    dtype: str = "float32"
    quick: bool = False  # part of --quick

    @property
    def H_kv(self):
        return self.kv_heads or self.H

    @property
    def decode(self):
        return self.n_q == 1

    @property
    def flops(self):
        """Useful work: 2 (d + d_v) per visible pair."""
        pairs = self.n_q * (self.n_q + 1) // 2 if self.causal else self.n_q * self.n_k
        return self.B * self.H * pairs * 4 * self.d

    @property
    def bytes(self):
        """K and V once."""
        return 2 * self.B * self.H_kv * self.n_k * self.d * (4 if self.dtype == "float32" else 2)

    def speed(self, seconds):
        """In the unit that bounds it: arithmetic, or when decoding the reading of K and V."""
        if self.decode:
            return f"{self.bytes / seconds / 1e9:.1f} GB/s"
        return f"{self.flops / seconds / 1e9:.0f} GFLOP/s"


def all_cases():
    cases = []
    for H, n in ((8, 512), (4, 2048), (1, 8192)):
        for d in (64, 128):
            for causal in (False, True):
                name = f"prefill H={H} n={n} d={d}" + (" causal" if causal else "")
                cases.append(Case(name, 1, H, n, n, d, causal=causal, quick=n == 512 and d == 64))
    for d in (64, 128):
        cases.append(Case(f"bias H=4 n=2048 d={d}", 1, 4, 2048, 2048, d, bias=True))
    cases.append(Case("grouped H=8 on 1 n=1024 d=128", 1, 8, 1024, 1024, 128, kv_heads=1))
    cases.append(Case("short B=8 H=12 n=128 d=32", 8, 12, 128, 128, 32, quick=True))
    cases.append(Case("short B=32 H=12 n=32 d=64", 32, 12, 32, 32, 64))
    for n_k in (4096, 16384):
        for H_kv in (32, 8):
            for dtype in TOLERANCE:
                heads = "H=32" if H_kv == 32 else f"H=32 on {H_kv}"
                cases.append(Case(f"decode {heads} n_k={n_k} d=128 {dtype}", 1, 32, 1, n_k, 128,
                                  kv_heads=H_kv, dtype=dtype, quick=n_k == 4096))
    return cases


def tiny_cases():
    """For the test of this program itself."""
    return [Case("tiny", 2, 3, 5, 7, 8),
            Case("tiny causal", 1, 2, 9, 9, 4, causal=True),
            Case("tiny bias", 2, 2, 4, 6, 8, bias=True),
            Case("tiny grouped", 1, 4, 6, 6, 8, kv_heads=2),
            Case("tiny decode", 1, 4, 1, 33, 16, kv_heads=2),
            Case("tiny decode float16", 1, 2, 1, 17, 8, dtype="float16"),
            Case("tiny decode bfloat16", 1, 2, 1, 17, 8, dtype="bfloat16")]


def store(x, dtype):
    """float32 numbers as dtype; bfloat16, which numpy has not, as its bit patterns."""
    if dtype == "bfloat16":
        bits = x.view(np.uint32)
        to_even = 0x7FFF + ((bits >> 16) & 1)
        return ((bits + to_even) >> 16).astype(np.uint16)
    return x.astype(dtype, copy=False)


def load(x, dtype):
    """What store made, as float32."""
    if dtype == "bfloat16":
        return (x.astype(np.uint32) << 16).view(np.float32)
    return x.astype(np.float32, copy=False)


class Problem:
    """Normal numbers: q [B, H, n_q, d], k and v [B, H_kv, n_k, d], bias [1, H, n_q, n_k] or None.
    """

    def __init__(self, case, seed=1):
        random = np.random.default_rng(seed)

        def normal(*shape, dtype=case.dtype):
            count = min(int(np.prod(shape)), PERIOD)
            return np.resize(store(random.standard_normal(count, dtype=np.float32), dtype), shape)

        self.case = case
        self.q = normal(case.B, case.H, case.n_q, case.d)
        self.k = normal(case.B, case.H_kv, case.n_k, case.d)
        self.v = normal(case.B, case.H_kv, case.n_k, case.d)
        self.bias = normal(1, case.H, case.n_q, case.n_k, dtype="float32") if case.bias else None


def reference(problem):
    """softmax(q k^T / sqrt(d) + bias) v in float64, as the formula stands."""
    case = problem.case
    q, k, v = (load(x, case.dtype).astype(np.float64) for x in (problem.q, problem.k, problem.v))
    k, v = (np.repeat(x, case.H // case.H_kv, axis=1) for x in (k, v))
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(case.d)
    if problem.bias is not None:
        scores += problem.bias
    if case.causal:
        scores[..., np.triu(np.ones((case.n_q, case.n_k), bool), 1)] = -np.inf
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ v
