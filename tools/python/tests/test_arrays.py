"""What may be passed as an array, and what comes back."""

import numpy as np
import pytest
import reference

import lookback


@pytest.mark.parametrize("rank", [2, 3, 4])
def test_ranks(qkv, rank):
    full = qkv(1, 1 if rank == 2 else 3, 5, 6)
    q, k, v = (a[0, 0] if rank == 2 else a[0] if rank == 3 else a for a in full)
    out, lse = lookback.attend(q, k, v, return_lse=True)
    want, want_lse = reference.attend(*full)
    assert out.shape == q.shape and lse.shape == q.shape[:-1]
    np.testing.assert_allclose(out, want.reshape(out.shape), atol=1e-6)
    np.testing.assert_allclose(lse, want_lse.reshape(lse.shape), atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_types(qkv, dtype):
    q, k, v = qkv(dtype=dtype)
    out, lse = lookback.attend(q, k, v, return_lse=True)
    want, _ = reference.attend(q, k, v)
    assert out.dtype == dtype
    assert lse.dtype == (np.float64 if dtype == np.float64 else np.float32)
    np.testing.assert_allclose(out, want, atol=2e-3 if dtype == np.float16 else 1e-6)


def test_bfloat16_of_ml_dtypes(qkv):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    q, k, v = (a.astype(ml_dtypes.bfloat16) for a in qkv())
    exact = lookback.attend(*(a.astype(np.float32) for a in (q, k, v)))
    out = lookback.attend(q, k, v)
    assert out.dtype == ml_dtypes.bfloat16
    np.testing.assert_array_equal(out, exact.astype(ml_dtypes.bfloat16))
    turned = q.swapaxes(2, 3).copy().swapaxes(2, 3)
    np.testing.assert_array_equal(out, lookback.attend(turned, k, v))


def strided(a):
    """The same numbers: reversed heads, every third position, features apart."""
    B, H, n, d = a.shape
    memory = np.full((d, n * 3, H, B, 2), np.nan, a.dtype)
    view = memory[..., 0].transpose(3, 2, 1, 0)[:, ::-1, ::3]
    view[...] = a
    return view


def test_strides_change_no_bit(qkv):
    q, k, v = qkv()
    mask = np.random.default_rng(1).random((2, 4, 7, 7)) < 0.5
    plain = lookback.attend(q, k, v, mask=mask)
    views = lookback.attend(*map(strided, (q, k, v)), mask=strided(mask.astype(bool)))
    np.testing.assert_array_equal(plain, views)
    shared = lookback.attend(q, np.broadcast_to(k[:1, :1], k.shape), v)
    np.testing.assert_array_equal(
        shared, lookback.attend(q, k[:1, :1].repeat(4, 1).repeat(2, 0), v)
    )


def test_read_only_arrays(qkv):
    q, k, v = qkv()
    out = lookback.attend(q, k, v)
    for a in (q, k, v):
        a.flags.writeable = False
    np.testing.assert_array_equal(out, lookback.attend(q, k, v))
    with pytest.raises(ValueError, match="out is read-only"):
        lookback.attend(q, k, v, out=q)


def test_memoryviews_give_numpy(qkv):
    q, k, v = (a[0, 0] for a in qkv())
    out = lookback.attend(*map(memoryview, (q, k, v)))
    assert isinstance(out, np.ndarray) and out.dtype == np.float32
    np.testing.assert_array_equal(out, lookback.attend(q, k, v))


class OnlyDlpack:
    """A stranger's array; of the old kind, or of the kind that knows versions."""

    def __init__(self, array, old):
        self.array, self.old = array, old

    def __dlpack__(self, **arguments):
        if self.old and arguments:
            raise TypeError("no such argument")
        return self.array.__dlpack__(**arguments)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


@pytest.mark.parametrize("old", [True, False])
def test_dlpack(qkv, old):
    arrays = qkv()
    if not old:
        for a in arrays:
            a.flags.writeable = False  # which only the new kind can say
    out = lookback.attend(*(OnlyDlpack(a, old) for a in arrays))
    assert isinstance(out, np.ndarray)
    np.testing.assert_array_equal(out, lookback.attend(*arrays))


def test_jax(qkv):
    jax = pytest.importorskip("jax")
    arrays = qkv()
    out = lookback.attend(*map(jax.numpy.asarray, arrays))
    assert isinstance(out, np.ndarray)
    np.testing.assert_array_equal(out, lookback.attend(*arrays))
    narrow = [jax.numpy.asarray(a, jax.numpy.bfloat16) for a in arrays]
    assert lookback.attend(*narrow).dtype == jax.numpy.bfloat16


def test_out(qkv):
    q, k, v = qkv()
    want = lookback.attend(q, k, v)
    for dtype in (np.float32, np.float16):
        out = np.full(q.shape, 9, dtype)
        assert lookback.attend(q, k, v, out=out) is out
        np.testing.assert_array_equal(out, want.astype(dtype))
    slot = np.zeros((*q.shape[:3], 2, q.shape[3]), np.float32)
    lookback.attend(q, k, v, out=slot[..., 1, :])
    np.testing.assert_array_equal(slot[..., 1, :], want)
    assert not slot[..., 0, :].any()


def test_sizes_of_zero(qkv):
    q, k, v = qkv(2, 4, 3, 5)
    assert lookback.attend(q[:0], k[:0], v[:0]).shape == (0, 4, 3, 16)
    assert lookback.attend(q[:, :, :0], k, v).shape == (2, 4, 0, 16)
    out, lse = lookback.attend(q, k[:, :, :0], v[:, :, :0], return_lse=True)
    assert not out.any() and np.isneginf(lse).all()
    out, lse = lookback.attend(q, k, v[..., :0], return_lse=True)
    assert out.shape == (2, 4, 3, 0) and np.isfinite(lse).all()
    np.testing.assert_allclose(
        lookback.attend(q[..., :0], k[..., :0], v, scale=1.0),
        np.broadcast_to(v.mean(axis=2, keepdims=True), q.shape),
        atol=1e-6,
    )


def test_the_same_bits_alone_and_in_company(qkv):
    q, k, v = qkv(3, 4, 70, 600, d=32)
    whole = lookback.attend(q, k, v, causal="bottom-right", threads=2)
    alone = lookback.attend(
        q[1:2, 2:3, 69:], k[1:2, 2:3], v[1:2, 2:3], causal="bottom-right", threads=1
    )
    np.testing.assert_array_equal(whole[1:2, 2:3, 69:], alone)
