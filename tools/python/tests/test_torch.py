"""The drop-in against PyTorch's own."""

import contextlib
import random
import warnings

import numpy as np
import pytest

import lookback

torch = pytest.importorskip("torch")

import lookback.torch as drop_in  # noqa: E402

theirs = torch.nn.functional.scaled_dot_product_attention
ours = drop_in.scaled_dot_product_attention


@contextlib.contextmanager
def no_fallback():
    """Falling back is an error here."""
    drop_in._said.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def compare(q, k, v, **options):
    want = theirs(q, k, v, **options)
    with no_fallback():
        got = ours(q, k, v, **options)
    assert got.shape == want.shape and got.dtype == want.dtype
    assert got.stride() == want.stride()
    tolerance = {torch.float32: 1e-5, torch.float64: 1e-12}.get(want.dtype, 2e-2)
    torch.testing.assert_close(got, want, atol=tolerance, rtol=tolerance)


class Draw:
    """Random arguments that fit together."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.generator = torch.Generator().manual_seed(seed)

    def choice(self, *choices):
        return self.random.choice(choices)

    def numbers(self, shape, dtype=torch.float32):
        """Random numbers, lying in memory in one of several ways."""
        order = list(range(len(shape)))
        kind = self.choice("plain", "plain", "permuted", "gaps", "features apart")
        if kind == "permuted":
            outer = order[:-1]
            self.random.shuffle(outer)
            order = outer + order[-1:]
        if kind == "features apart":
            order = order[:-2] + order[:-3:-1]
        factor = 2 if kind == "gaps" else 1
        memory = torch.randn(
            [shape[axis] * factor for axis in order], generator=self.generator, dtype=dtype
        )
        view = memory.permute([order.index(axis) for axis in range(len(shape))])
        return view[tuple(slice(0, extent) for extent in shape)]

    def expanded(self, tensor, axis):
        """The first entry of an axis, repeated without a copy."""
        return tensor.narrow(axis, 0, 1).expand(tensor.shape)

    def problem(self):
        rank = self.choice(2, 3, 4, 4, 4, 4, 5)
        batch = [self.choice(1, 2, 3) for _ in range(max(0, rank - 3))]
        groups, heads = self.choice(1, 1, 2, 3), self.choice(1, 2, 4)
        n_q, n_k = self.choice(0, 1, 5, 17, 40), self.choice(0, 1, 6, 17, 33)
        if self.choice(True, True, False):
            n_q, n_k = max(n_q, 1), max(n_k, 1)
        d = self.choice(1, 8, 16, 33)
        d_v = self.choice(d, d, d, 4, 0)
        if self.choice(*[False] * 11, True):
            batch = [0] * len(batch)
        query_heads = [groups * heads] if rank > 2 else []
        key_heads = [heads] if rank > 2 else []
        q = self.numbers([*batch, *query_heads, n_q, d])
        k = self.numbers([*batch, *key_heads, n_k, d])
        v = self.numbers([*batch, *key_heads, n_k, d_v])
        options = {}
        if groups > 1 and rank > 2:
            options["enable_gqa"] = True
        for axis in range(rank - 2):
            if k.shape[axis] > 0 and self.choice(*[False] * 5, True):
                k, v = self.expanded(k, axis), self.expanded(v, axis)
            if q.shape[axis] > 0 and self.choice(*[False] * 5, True):
                q = self.expanded(q, axis)
        if "enable_gqa" not in options and rank == 4 and self.choice(*[False] * 7, True):
            k, v = k[:1], v[:1]  # the batch broadcasts
        kind = self.choice("none", "causal", "mask", "mask", "mask")
        if kind == "causal":
            options["is_causal"] = True
        if kind == "mask":
            options["attn_mask"] = self.mask([*batch, *query_heads, n_q, n_k])
        # PyTorch's causal rows are NaN when the scale is 0.
        scale = self.choice(None, None, 0.3, 1, 0.3 if kind == "causal" else 0.0, -0.5)
        if scale is not None:
            options["scale"] = scale
        return q, k, v, options

    def mask(self, full):
        axes = self.random.randint(2, len(full))
        shape = [self.choice(1, n) for n in full[-axes:]]
        if self.choice(True, False):
            density = self.choice(0.0, 0.3, 0.7, 1.0)
            mask = torch.rand(shape, generator=self.generator) < density
        else:
            mask = self.numbers(shape)
            if self.choice(True, False):
                mask = mask.masked_fill(mask < 0, -torch.inf)
        if self.choice(True, False) and mask.dim() > 2 and mask.shape[0] > 0:
            mask = self.expanded(mask, 0)
        return mask


@pytest.mark.parametrize("seed", range(300))
def test_sweep(seed):
    q, k, v, options = Draw(seed).problem()
    compare(q, k, v, **options)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16])
def test_types(dtype):
    draw = Draw(1)
    q, k, v = (draw.numbers((2, 3, 9, 16), dtype) for _ in range(3))
    compare(q, k, v)
    compare(q, k, v, is_causal=True)
    compare(q, k, v, attn_mask=torch.randn(9, 9, dtype=dtype))
    compare(q, k, v, attn_mask=torch.randn(9, 9))


def test_rows_that_see_nothing():
    q, k, v = (torch.randn(2, 3, 5, 8) for _ in range(3))
    mask = torch.ones(5, 5, dtype=torch.bool)
    mask[2] = False
    compare(q, k, v, attn_mask=mask)
    assert not ours(q, k, v, attn_mask=mask)[:, :, 2].any()
    compare(q, k, v, attn_mask=torch.zeros(5, 5).masked_fill(~mask, -torch.inf))


ERRORS = {
    "mask and is_causal": dict(attn_mask=torch.ones(5, 6, dtype=torch.bool), is_causal=True),
    "mask of int": dict(attn_mask=torch.ones(5, 6, dtype=torch.int32)),
    "mask of double": dict(attn_mask=torch.ones(5, 6, dtype=torch.float64)),
    "mask that does not fit": dict(attn_mask=torch.ones(5, 7, dtype=torch.bool)),
    "mask of one axis": dict(attn_mask=torch.ones(6, dtype=torch.bool)),
    "mask of five axes": dict(attn_mask=torch.ones(1, 1, 1, 5, 6, dtype=torch.bool)),
    "features": dict(k=torch.randn(2, 3, 6, 7)),
    "batch": dict(k=torch.randn(3, 3, 6, 8)),
    "heads": dict(q=torch.randn(2, 6, 5, 8)),
    "groups": dict(q=torch.randn(2, 4, 5, 8), enable_gqa=True),
    "one axis": dict(q=torch.randn(8)),
    "types": dict(k=torch.randn(2, 3, 6, 8, dtype=torch.float64)),
    "integers": dict(zip("qkv", (torch.ones(2, 3, 5, 8, dtype=torch.int64),) * 3)),
    "dropout above 1": dict(dropout_p=2.0),
    "no tensor": dict(q=[1.0]),
    "scale of text": dict(scale="1"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_errors_here_too(name):
    arguments = dict(
        q=torch.randn(2, 3, 5, 8), k=torch.randn(2, 3, 6, 8), v=torch.randn(2, 3, 6, 8)
    )
    arguments.update(ERRORS[name])
    q, k, v = (arguments.pop(x) for x in "qkv")
    with pytest.raises(Exception) as want:
        theirs(q, k, v, **arguments)
    with pytest.raises(type(want.value)) as got:
        ours(q, k, v, **arguments)
    assert str(got.value).splitlines()[0] == str(want.value).splitlines()[0]


def test_gradients_are_left_to_pytorch_and_said_once():
    q, k, v = (torch.randn(2, 3, 5, 8, requires_grad=True) for _ in range(3))
    drop_in._said.clear()
    with pytest.warns(UserWarning, match="leaves gradients to torch"):
        out = ours(q, k, v)
    out.sum().backward()
    assert q.grad is not None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ours(q, k, v)
    with torch.no_grad():
        compare(q, k, v)
    with torch.inference_mode():
        compare(q, k, v)


def test_what_is_left_to_pytorch():
    q = torch.randn(2, 3, 5, 8)
    drop_in._said.clear()
    with pytest.warns(UserWarning, match="dropout"):
        ours(q, q, q, dropout_p=0.5)
    with pytest.warns(UserWarning, match="on meta"):
        assert ours(*(q.to("meta") for _ in range(3))).device.type == "meta"
    with pytest.warns(UserWarning, match="torch.func"):
        torch.testing.assert_close(torch.vmap(ours)(q, q, q), theirs(q, q, q))


def test_autocast_and_negative_views():
    q = torch.randn(2, 3, 5, 8)
    with torch.autocast("cpu"):
        compare(q, q, q)
        assert ours(q, q, q).dtype == torch.bfloat16
    negative = torch.complex(q, q).conj().imag
    assert negative.is_neg()
    compare(negative, q, negative)


@pytest.mark.parametrize("seed", range(200))
def test_the_rule_for_the_layout_when_compiling(seed):
    q, k, v, options = Draw(seed).problem()
    mask, gqa = options.get("attn_mask"), options.get("enable_gqa", False)
    choice = torch._fused_sdp_choice(q, k, v, mask, 0.0, False, enable_gqa=gqa)
    assert drop_in._is_fused(q, k, v, mask, gqa) == (choice == 1)


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compile(backend):
    def layer(x, mask):
        heads = x.view(2, 5, 3, 8).transpose(1, 2)
        return ours(heads * 2, heads, heads, attn_mask=mask).transpose(1, 2).reshape(2, 5, 24) + 1

    x, mask = torch.randn(2, 5, 24), torch.rand(2, 1, 1, 5) < 0.7
    compiled = torch.compile(layer, fullgraph=True, backend=backend)
    with torch.no_grad():
        try:
            got = compiled(x, mask)
        except Exception as error:
            if backend == "inductor" and "compiler" in str(error).lower():
                pytest.skip("inductor finds no compiler here")
            raise
        torch.testing.assert_close(got, layer(x, mask), atol=1e-5, rtol=1e-5)


def test_operator():
    q, k, v = (torch.randn(2, 3, 5, 8) for _ in range(3))
    for memory in ("contiguous", "positions_first", "like_query"):
        torch.library.opcheck(
            drop_in.attend, (q, k, v), dict(causal=True, memory=memory), test_utils="test_schema"
        )
        torch.library.opcheck(
            drop_in.attend, (q, k, v), dict(left=2, memory=memory), test_utils="test_faketensor"
        )


# lookback.attend() itself on tensors.


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
def test_tensors_in_tensors_out(dtype):
    q, k, v = (torch.randn(2, 3, 5, 8).to(dtype) for _ in range(3))
    out, lse = lookback.attend(q, k, v, return_lse=True)
    assert isinstance(out, torch.Tensor) and out.dtype == dtype
    assert lse.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
    exact = lookback.attend(*(t.to(lse.dtype).numpy() for t in (q, k, v)))
    torch.testing.assert_close(out, torch.from_numpy(exact).to(dtype), atol=0, rtol=0)
    assert lookback.attend(q, k, v, out=out) is out
    merged, _ = lookback.merge([out], [lse])
    assert isinstance(merged, torch.Tensor) and torch.equal(merged, out)
    view = lookback.align(q, k, top=2, summary=True)
    assert view.top_index.dtype == torch.int64 and view.entropy.shape == (2, 3, 5)


def test_options_as_tensors():
    q, k, v = (torch.randn(2, 3, 5, 8) for _ in range(3))
    options = dict(
        lengths=torch.tensor([3, 5], dtype=torch.int32),
        mask=torch.rand(3, 5, 5) < 0.5,
        bias=torch.randn(5, 5).bfloat16(),
        sinks=torch.randn(3).bfloat16(),
        causal=torch.tensor(1),
    )
    assert torch.equal(
        lookback.attend(q, k, v, causal=torch.tensor(True)), lookback.attend(q, k, v, causal=True)
    )
    plain = dict(
        lengths=options["lengths"].numpy(),
        mask=options["mask"].numpy(),
        bias=options["bias"].float().numpy(),
        sinks=options["sinks"].float().numpy(),
        causal=1,
    )
    out = lookback.attend(q, k, v, **options)
    np.testing.assert_array_equal(
        out.numpy(), lookback.attend(q.numpy(), k.numpy(), v.numpy(), **plain)
    )


def test_tensors_that_are_refused():
    q = torch.randn(2, 3, 5, 8)
    needs_grad = q.clone().requires_grad_()
    with pytest.raises(TypeError, match="k requires grad.*k.detach()"):
        lookback.attend(q, needs_grad, q)
    lookback.attend(q, needs_grad.detach(), q)
    with torch.no_grad():
        lookback.attend(q, needs_grad, q)
    with pytest.raises(TypeError, match="q is a Tensor"):
        lookback.attend(q.to("meta"), q, q)
    negative = torch.complex(q, q).conj().imag
    with pytest.raises(ValueError, match="k is a negative view"):
        lookback.attend(q, negative, q)
    with pytest.raises(TypeError, match="v is a Tensor|v"):
        lookback.attend(q, q, q.to_sparse())
