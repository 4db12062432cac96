"""Every option of attend() against the formula."""

import ctypes

import numpy as np
import pytest
import reference

import lookback

B, H, N_Q, N_K = 2, 4, 7, 9
RNG = np.random.default_rng(7)
MASK = RNG.random((B, H, N_Q, N_K)) < 0.6
BIAS = RNG.standard_normal((B, 1, N_Q, N_K)).astype(np.float32)

OPTIONS = {
    "plain": {},
    "scale": dict(scale=-0.3),
    "temperature": dict(temperature=2.5),
    "softcap": dict(softcap=1.5),
    "causal top-left": dict(causal=True, position="top-left"),
    "causal bottom-right": dict(causal="bottom-right"),
    "causal by offset": dict(causal=-2),
    "causal per sequence": dict(causal=[3, -1]),
    "position per sequence": dict(causal=True, position=np.array([0, 5], np.int16)),
    "window": dict(window=(2, 1), position="bottom-right"),
    "window, left open": dict(window=(None, 1), position=0),
    "prefix": dict(causal="top-left", prefix=3),
    "lengths": dict(lengths=[0, 5]),
    "lengths, bottom-right": dict(lengths=[8, 5], causal="bottom-right"),
    "documents": dict(documents=([0, 0, 1, 1, 2, 2, 2], np.arange(N_K) // 3)),
    "documents per sequence": dict(
        documents=(RNG.integers(0, 3, (B, N_Q)), RNG.integers(0, 3, (B, N_K)))
    ),
    "blocks": dict(blocks=(RNG.random((B, 1, 4, 3)) < 0.5, (2, 3))),
    "mask": dict(mask=MASK),
    "mask of keys": dict(mask=MASK[0, 0, 0]),
    "mask of rows": dict(mask=MASK[0, 0, :, :1]),
    "mask of heads": dict(mask=MASK[0]),
    "bias": dict(bias=BIAS),
    "bias that hides": dict(bias=np.where(MASK, 0, -np.inf).astype(np.float16)),
    "alibi": dict(alibi=[0.5, 0.25, 0.1, 0.0], position="bottom-right"),
    "alibi per sequence": dict(alibi=RNG.random((B, H)), position=1),
    "sinks": dict(sinks=np.array([0, 1.5, -1, -np.inf], np.float32)),
    "sinks per sequence": dict(sinks=RNG.standard_normal((B, H))),
    "all": dict(
        scale=0.2,
        temperature=0.5,
        softcap=2.0,
        causal=1,
        window=(6, None),
        prefix=1,
        lengths=[9, 8],
        mask=MASK,
        bias=BIAS,
        alibi=[0.1] * H,
        sinks=[0.0] * H,
        documents=([0] * 4 + [1] * 3, [0] * 5 + [1] * 4),
    ),
}


def expected(q, k, v, options):
    return reference.attend(q, k, v, **options)


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("H_kv", [4, 2])
def test_option(qkv, name, H_kv):
    q, k, v = qkv(B, H, N_Q, N_K, H_kv=H_kv, d_v=5)
    out, lse = lookback.attend(q, k, v, return_lse=True, **OPTIONS[name])
    want, want_lse = expected(q, k, v, OPTIONS[name])
    assert out.dtype == np.float32 and lse.dtype == np.float32 and lse.shape == (B, H, N_Q)
    np.testing.assert_allclose(out, want, atol=2e-6, rtol=1e-5)
    np.testing.assert_allclose(lse, want_lse, atol=4e-6, rtol=1e-5)


@pytest.mark.parametrize("name", OPTIONS)
def test_option_float64(qkv, name):
    q, k, v = qkv(B, H, N_Q, N_K, dtype=np.float64)
    out, lse = lookback.attend(q, k, v, return_lse=True, **OPTIONS[name])
    want, want_lse = expected(q, k, v, OPTIONS[name])
    assert out.dtype == np.float64 and lse.dtype == np.float64
    np.testing.assert_allclose(out, want, atol=1e-13)
    np.testing.assert_allclose(lse, want_lse, atol=1e-13)


@pytest.mark.parametrize("name", OPTIONS)
def test_layout_changes_no_bit(qkv, name):
    q, k, v = qkv(B, H, N_Q, N_K)
    turned = [np.ascontiguousarray(a.swapaxes(1, 2)) for a in (q, k, v)]
    out, lse = lookback.attend(q, k, v, return_lse=True, **OPTIONS[name])
    other, other_lse = lookback.attend(*turned, layout="bnhd", return_lse=True, **OPTIONS[name])
    assert other.flags.c_contiguous
    np.testing.assert_array_equal(out, other.swapaxes(1, 2))
    np.testing.assert_array_equal(lse, other_lse)


def test_causal_spellings(qkv):
    q, k, v = qkv(B, H, N_Q, N_Q)
    square = lookback.attend(q, k, v, causal=True)
    for causal in ("top-left", "bottom-right", 0, np.int64(0), [0, 0], np.zeros(B, int), np.True_):
        np.testing.assert_array_equal(square, lookback.attend(q, k, v, causal=causal))
    np.testing.assert_array_equal(
        lookback.attend(q, k, v), lookback.attend(q, k, v, causal=False, position="top-left")
    )


def test_positions_said_twice_must_agree(qkv):
    q, k, v = qkv(B, H, N_Q, N_K)
    same = [("bottom-right", N_K - N_Q), ("top-left", 0), (0, [0, 0]), ([1, 2], np.array([1, 2]))]
    for causal, position in same:
        lookback.attend(q, k, v, causal=causal, position=position)
    for causal, position in [("bottom-right", 0), (1, 2), ([1, 2], 1), ("top-left", [0, 1])]:
        with pytest.raises(ValueError, match="causal and position"):
            lookback.attend(q, k, v, causal=causal, position=position)


def test_packed_sequences_equal_their_own_calls(qkv):
    q, k, v = (a[0].swapaxes(0, 1) for a in qkv(1, H, 10, 10))
    bounds = [0, 3, 3, 10]
    out, lse = lookback.attend(q, k, v, causal=True, q_bounds=bounds, return_lse=True)
    assert out.shape == (10, H, 16) and lse.shape == (H, 10)
    for first, end in ((0, 3), (3, 10)):
        part = lookback.attend(
            *(a[first:end] for a in (q, k, v)), causal=True, layout="bnhd", return_lse=True
        )
        np.testing.assert_array_equal(out[first:end], part[0])
        np.testing.assert_array_equal(lse[:, first:end], part[1])


def test_packed_results_merge(qkv):
    q, k, v = (a[0].swapaxes(0, 1) for a in qkv(1, H, 10, 10))
    out, lse = lookback.attend(q, k, v, q_bounds=[0, 3, 10], return_lse=True)
    merged, merged_lse = lookback.merge([out, 0 * out], [lse, lse - np.inf], layout="bnhd")
    np.testing.assert_array_equal(merged, out)
    np.testing.assert_array_equal(merged_lse, lse)


def test_packed_queries_with_other_keys(qkv):
    q, k, v = (a[0].swapaxes(0, 1) for a in qkv(1, H, 6, 11, H_kv=2))
    q_bounds, k_bounds = np.array([0, 2, 6], np.int32), [0, 4, 11]
    sinks = RNG.standard_normal((2, H))
    out = lookback.attend(
        q, k, v, causal="bottom-right", q_bounds=q_bounds, k_bounds=k_bounds, sinks=sinks
    )
    for s in range(2):
        part = lookback.attend(
            q[q_bounds[s] : q_bounds[s + 1]],
            k[k_bounds[s] : k_bounds[s + 1]],
            v[k_bounds[s] : k_bounds[s + 1]],
            causal="bottom-right",
            layout="bnhd",
            sinks=sinks[s],
        )
        np.testing.assert_array_equal(out[q_bounds[s] : q_bounds[s + 1]], part)


class Tile(ctypes.Structure):
    """lookback_score_tile."""

    _fields_ = [("scores", ctypes.c_void_p), ("is_float64", ctypes.c_int32)]
    _fields_ += [("reserved", ctypes.c_int32)]
    _fields_ += [
        (name, ctypes.c_int64)
        for name in "row_stride key_stride rows keys sequence head "
        "first_row first_position first_key".split()
    ]


Hook = ctypes.CFUNCTYPE(None, ctypes.POINTER(Tile), ctypes.c_void_p)


@Hook
def add_product(tile, user):
    """Adds user[head] * row * key."""
    t = tile.contents
    factor = ctypes.cast(user, ctypes.POINTER(ctypes.c_double))[t.head]
    scores = ctypes.cast(t.scores, ctypes.POINTER(ctypes.c_float))
    for r in range(t.rows):
        for c in range(t.keys):
            where = r * t.row_stride + c * t.key_stride
            scores[where] += factor * (t.first_row + r) * (t.first_key + c)


@pytest.mark.parametrize("threads", [1, 2])
def test_hook(qkv, threads):
    q, k, v = qkv(B, H, N_Q, N_K)
    factors = np.array([0.0, 0.01, -0.02, 0.03])
    bias = factors[:, None, None] * np.arange(N_Q)[:, None] * np.arange(N_K)
    want, _ = reference.attend(q, k, v, bias=bias)
    address = ctypes.cast(add_product, ctypes.c_void_p).value
    for hook in (
        (add_product, factors),
        (address, factors.ctypes.data),
        (add_product, factors.ctypes.data_as(ctypes.POINTER(ctypes.c_double))),
    ):
        out = lookback.attend(q, k, v, hook=hook, threads=threads)
        np.testing.assert_allclose(out, want, atol=2e-6)


def test_hook_of_cffi(qkv):
    cffi = pytest.importorskip("cffi")
    ffi = cffi.FFI()
    called = []

    @ffi.callback("void(void *, void *)")
    def hook(tile, user):
        called.append(int(ffi.cast("intptr_t", user)))

    q, k, v = qkv()
    np.testing.assert_array_equal(
        lookback.attend(q, k, v, hook=(hook, ffi.cast("void *", 5)), threads=1),
        lookback.attend(q, k, v),
    )
    assert set(called) == {5}


def test_hook_of_numba(qkv):
    numba = pytest.importorskip("numba")

    @numba.cfunc("void(CPointer(int64), CPointer(int64))")
    def count_scores(tile, user):
        user[0] += tile[4] * tile[5]  # rows * keys

    q, k, v = qkv(1, 2, 5, 9)
    counted = np.zeros(1, np.int64)
    lookback.attend(q, k, v, hook=(count_scores, counted), threads=1)
    assert counted[0] >= 2 * 5 * 9


def test_merge_joins_disjoint_keys(qkv):
    q, k, v = qkv(B, H, N_Q, N_K)
    parts = [
        lookback.attend(q, k[:, :, part], v[:, :, part], return_lse=True)
        for part in (slice(0, 4), slice(4, 4), slice(4, None))
    ]
    out, lse = lookback.merge(*zip(*parts))
    want, want_lse = reference.attend(q, k, v)
    np.testing.assert_allclose(out, want, atol=1e-6)
    np.testing.assert_allclose(lse, want_lse, atol=1e-6)
    turned = [part[0].swapaxes(1, 2) for part in parts]
    other, other_lse = lookback.merge(turned, [part[1] for part in parts], layout="bnhd")
    np.testing.assert_array_equal(other.swapaxes(1, 2), out)
    np.testing.assert_array_equal(other_lse, lse)
