"""Errors: their types, and that their text names the argument and the numbers."""

import numpy as np
import pytest

import lookback


def bad(change):
    """Arguments that fit, changed."""
    q, k, v = (np.zeros((2, 4, 7, 16), np.float32) for _ in range(3))
    arguments = dict(q=q, k=k, v=v)
    arguments.update(change)
    return arguments


F = np.zeros
TYPE_ERRORS = {
    "q is a list": dict(q=[[1.0]]),
    "q is a NoneType": dict(q=None),
    "k is int32; it must be float32, float64": dict(k=F((2, 4, 7, 16), np.int32)),
    "v is boolean": dict(v=F((2, 4, 7, 16), bool)),
    "k is complex64": dict(k=F((2, 4, 7, 16), np.complex64)),
    "q has elements of format '>f'": dict(q=F((2, 4, 7, 16), ">f4")),
    "mask is float32; it must be boolean": dict(mask=F((7, 7), np.float32)),
    "mask is uint8": dict(mask=F((7, 7), np.uint8)),
    "mask is a list": dict(mask=[[True]]),
    "bias is boolean; it must be floating-point": dict(bias=F((7, 7), bool)),
    "bias is int64": dict(bias=F((7, 7), np.int64)),
    "blocks is float64": dict(blocks=(F((1, 1)), (7, 7))),
    "blocks is a ndarray": dict(blocks=F((1, 1), bool)),
    "scale is a str": dict(scale="2"),
    "window is a int": dict(window=3),
    "window.left is a float": dict(window=(1.0, 2)),
    "prefix is a float": dict(prefix=1.5),
    "lengths is float64; it must hold integers": dict(lengths=[1.5, 2.5]),
    "lengths is no list of integers": dict(lengths=["a", "b"]),
    "documents.queries is boolean": dict(documents=F(7, bool)),
    "sinks is complex128": dict(sinks=F(4, complex)),
    "causal is a NoneType|causal is a dict": dict(causal={}),
    "threads is a str": dict(threads="2"),
    "progress must be callable": dict(progress=3),
    "hook is a str": dict(hook="f"),
    "layout is a int": dict(layout=3),
    "unexpected keyword argument 'scales'": dict(scales=1),
}
VALUE_ERRORS = {
    "v has 6 positions but k has 7": dict(v=F((2, 4, 6, 16), np.float32)),
    "k is float64 but q is float32": dict(k=F((2, 4, 7, 16))),
    "k has 3 axes but q has 4": dict(k=F((4, 7, 16), np.float32)),
    "q has 1 axes": dict(q=F(16, np.float32)),
    "q has 5 axes": dict(q=F((1, 1, 1, 1, 16), np.float32)),
    "mask has extents": dict(mask=F((3, 7), bool)),
    "temperature is 0": dict(temperature=0),
    "scale is nan": dict(scale=float("nan")),
    "window.left is -1": dict(window=(-1, None)),
    r"lengths\[1\] is 8": dict(lengths=[7, 8]),
    "lengths holds 3 numbers": dict(lengths=[1, 2, 3]),
    "position holds 3 offsets": dict(causal=[0, 1, 2]),
    "causal is 'left'": dict(causal="left"),
    "layout is 'nbhd'": dict(layout="nbhd"),
    "alibi holds 3 numbers": dict(alibi=[1, 2, 3]),
    r"sinks has extents \[4, 2\]": dict(sinks=F((4, 2))),
    "documents.queries has 7 rows": dict(documents=F((7, 2), int)),
    "threads is 0": dict(threads=0),
    "prefix is 1e400|prefix is 1000": dict(prefix=10**30),
    "k_bounds is given without q_bounds": dict(
        q=F((7, 4, 16), np.float32),
        k=F((7, 4, 16), np.float32),
        v=F((7, 4, 16), np.float32),
        k_bounds=[0, 7],
    ),
    "q has 4 axes; it must have .tokens": dict(q_bounds=[0, 7]),
    "hook has a null function": dict(hook=0),
    "out has 6 positions": dict(out=F((2, 4, 6, 16), np.float32)),
}


@pytest.mark.parametrize("text", TYPE_ERRORS)
def test_type_errors(text):
    with pytest.raises(TypeError, match=text):
        lookback.attend(**bad(TYPE_ERRORS[text]))


@pytest.mark.parametrize("text", VALUE_ERRORS)
def test_value_errors(text):
    with pytest.raises(ValueError, match=text):
        lookback.attend(**bad(VALUE_ERRORS[text]))


def test_out_that_is_also_an_input():
    arguments = bad({})
    with pytest.raises(ValueError, match="out at .* shares memory with q"):
        lookback.attend(**arguments, out=arguments["q"])


def test_merge():
    out, lse = F((1, 2, 3, 4), np.float32), F((1, 2, 3), np.float32)
    for arguments, text in (
        (([], []), "outs is empty"),
        (([out], []), "lses holds 0 arrays but outs 1"),
        (([out], [lse[0]]), r"lses\[0\] has 2 axes"),
        (([out, out[..., :3]], [lse, lse]), r"parts\[1\].out has extents"),
        (([out], [lse.astype(float)]), "lse is float64"),
    ):
        with pytest.raises(ValueError, match=text):
            lookback.merge(*arguments)


def test_targets():
    names = [target.name for target in lookback.targets() if target.supported]
    assert lookback.info()["target"] in names
    with pytest.raises(ValueError, match="'mmx'"):
        lookback.set_target("mmx")
    before = lookback.info()["target"]
    for name in names:
        lookback.set_target(name)
        assert lookback.info()["target"] == name
    lookback.set_target(before)
