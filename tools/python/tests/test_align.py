"""Every view against the whole matrix."""

import numpy as np
import pytest
import reference

import lookback

B, H, N_Q, N_K = 2, 4, 7, 9
OPTIONS = dict(causal=3, softcap=2.0, alibi=[0.1, 0.2, 0.3, 0.4])
P = np.arange(N_Q)[:, None] + 3
J = np.arange(N_K)


@pytest.fixture
def problem(qkv):
    q, k, _ = qkv(B, H, N_Q, N_K)
    scaled, capped, final = reference.scores(q, k, **OPTIONS)
    w, lse = reference.weights(final)
    return q, k, dict(scaled=scaled, capped=capped, final=final, weights=w), lse


def close(got, want):
    np.testing.assert_allclose(got, want, atol=3e-6, rtol=1e-5)


@pytest.mark.parametrize("stage", ["scaled", "capped", "final", "weights"])
def test_rows(problem, stage):
    q, k, stages, _ = problem
    view = lookback.align(q, k, rows=[5, 0, 5], stage=stage, **OPTIONS)
    assert list(view) == ["rows"]
    close(view.rows, stages[stage][:, :, [5, 0, 5]])
    for rows in (2, np.int64(2), range(2, 3)):
        close(lookback.align(q, k, rows=rows, **OPTIONS).rows, stages["weights"][:, :, [2]])


def test_top(problem):
    q, k, stages, _ = problem
    view = lookback.align(q, k, top=5, **OPTIONS)
    order = np.argsort(-stages["weights"], axis=-1, kind="stable")[..., :5]
    weight = np.take_along_axis(stages["weights"], order, -1)
    assert view.top_index.dtype == np.int64
    close(view.top_weight, weight)
    np.testing.assert_array_equal(view.top_index, np.where(weight > 0, order, -1))


def test_summary(problem):
    q, k, stages, lse = problem
    w = stages["weights"]
    view = lookback.align(q, k, summary=True, **OPTIONS)
    close(view.entropy, -(w * np.log(np.where(w > 0, w, 1))).sum(-1))
    close(view.largest, w.max(-1))
    close(view.position, (w * J).sum(-1))
    close(view.distance, (w * np.abs(P - J)).sum(-1))
    close(view.lse, lse)


def test_received(problem):
    q, k, stages, _ = problem
    w = stages["weights"]
    view = lookback.align(q, k, received=True, **OPTIONS)
    close(view.received_sum, w.sum(2))
    close(view.received_max, w.max(2))
    close(lookback.align(q, k, received=True, last=2, **OPTIONS).received_sum, w[:, :, -2:].sum(2))


def pool(w, R, C, reduce):
    rows = [w.shape[-2] * r // R for r in range(R + 1)]
    columns = [w.shape[-1] * c // C for c in range(C + 1)]
    cells = [
        [reduce(w[..., r0:r1, c0:c1], axis=(-2, -1)) for c0, c1 in zip(columns, columns[1:])]
        for r0, r1 in zip(rows, rows[1:])
    ]
    return np.moveaxis(np.array(cells), (0, 1), (-2, -1))


def test_pooled(problem):
    q, k, stages, _ = problem
    w = stages["weights"]
    close(lookback.align(q, k, pooled=(3, 4), **OPTIONS).pooled, pool(w, 3, 4, np.mean))
    close(lookback.align(q, k, pooled=(3, 4, "max"), **OPTIONS).pooled, pool(w, 3, 4, np.max))
    part = lookback.align(q, k, pooled=(2, 3), region=((1, 6), (2, 9)), **OPTIONS).pooled
    close(part, pool(w[:, :, 1:6, 2:9], 2, 3, np.mean))


def test_distances(problem):
    q, k, stages, _ = problem
    w = stages["weights"]
    near = np.minimum(np.abs(P - J), 3)
    want = np.stack([(w * (near == x)).sum((2, 3)) for x in range(4)], -1)
    close(lookback.align(q, k, distances=4, **OPTIONS).mass, want)
    signed = np.clip(P - J, -2, 2)
    want = np.stack([(w * (signed == x)).sum((2, 3)) for x in range(-2, 3)], -1)
    close(lookback.align(q, k, distances=(5, "signed"), **OPTIONS).mass, want)


@pytest.mark.parametrize("heads", ["mean", "max"])
def test_heads(problem, heads):
    q, k, stages, lse = problem
    w = getattr(stages["weights"], heads)(axis=1, keepdims=True)
    view = lookback.align(q, k, rows=[1, 6], summary=True, pooled=(2, 2), heads=heads, **OPTIONS)
    close(view.rows, w[:, :, [1, 6]])
    close(view.largest, w.max(-1))
    close(view.pooled, pool(w, 2, 2, np.mean))
    close(view.lse, lse)


@pytest.mark.parametrize("rank", [2, 3])
def test_ranks(problem, rank):
    q, k, stages, _ = problem
    at = (0, 0) if rank == 2 else (0,)
    options = dict(OPTIONS, alibi=[0.1] if rank == 2 else OPTIONS["alibi"])
    view = lookback.align(q[at], k[at], rows=[1], top=2, summary=True, received=True, **options)
    close(view.rows, stages["weights"][at][..., [1], :])
    assert view.top_index.shape == (*q[at].shape[:-1], 2)
    assert view.entropy.shape == q[at].shape[:-1]
    assert view.received_sum.shape == k[at].shape[:-1]


def test_layout_of_views_is_heads_first(problem):
    q, k, stages, _ = problem
    view = lookback.align(q.swapaxes(1, 2), k.swapaxes(1, 2), rows=[1], layout="bnhd", **OPTIONS)
    close(view.rows, stages["weights"][:, :, [1]])


def test_packed_sequences_equal_their_own_calls(qkv):
    q, k = (a[0].swapaxes(0, 1) for a in qkv(1, H, 10, 10)[:2])
    wanted = dict(top=3, summary=True, received=True, causal=True)
    view = lookback.align(q, k, q_bounds=[0, 3, 3, 10], rows=[1, 4], **wanted)
    for first, end, row in ((0, 3, 0), (3, 10, 1)):
        part = lookback.align(
            q[first:end], k[first:end], layout="bnhd", rows=[[1, 4][row] - first], **wanted
        )
        for name in set(view) - {"rows"}:
            np.testing.assert_array_equal(view[name][:, first:end], part[name])
        np.testing.assert_array_equal(view.rows[:, row, : end - first], part.rows[:, 0])
        assert not view.rows[:, row, end - first :].any()


def test_only_what_was_asked_for(problem):
    q, k, *_ = problem
    view = lookback.align(q, k, top=1, **OPTIONS)
    assert list(view) == ["top_index", "top_weight"] and not hasattr(view, "entropy")
    with pytest.raises(AttributeError, match="entropy was not asked for.*summary=True"):
        view.entropy
    assert view["top_weight"] is view.top_weight
    assert repr(view) == "Alignment(top_index (2, 4, 7, 1), top_weight (2, 4, 7, 1))"


@pytest.mark.parametrize(
    "options, error, text",
    [
        (dict(rows=[7]), ValueError, r"rows\[0\] is 7"),
        (dict(rows=[1.5]), TypeError, "rows is float64"),
        (dict(rows=[1], stage="best"), ValueError, "stage is 'best'"),
        (dict(rows=[1], stage="final", heads="mean"), ValueError, "scores are given per head"),
        (dict(top=65), ValueError, "top is 65"),
        (dict(last=2), ValueError, "last is given without received"),
        (dict(region=((0, 1), (0, 1))), ValueError, "region is given without pooled"),
        (dict(pooled=4), TypeError, "pooled must be"),
        (dict(pooled=(8, 9)), ValueError, "8 rows of cells for 7 rows"),
        (dict(pooled=(2, 2, "min")), ValueError, "'mean' or 'max'"),
        (dict(distances=(4, "signed")), ValueError, "odd number if signed"),
        (dict(heads="sum"), ValueError, "heads is 'sum'"),
        (dict(stage="final"), ValueError, "stage is given without rows"),
        (dict(values=1), TypeError, "unexpected keyword argument 'values'"),
    ],
)
def test_errors(problem, options, error, text):
    q, k, *_ = problem
    with pytest.raises(error, match=text):
        lookback.align(q, k, causal=3, **options)


def test_notebook_display(problem):
    q, k, *_ = problem
    text = lookback.align(q, k, rows=[1], pooled=(3, 3), summary=True, **OPTIONS)._repr_html_()
    assert text.count("data:image/png;base64,") == 2 * B * H and "entropy" in text
    hidden = lookback.align(q, k, rows=[0], stage="final", mask=np.zeros((1, N_K), bool))
    assert "data:image/png" in hidden._repr_html_()  # a picture of nothing but -inf


def test_plot(problem):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    q, k, *_ = problem
    view = lookback.align(
        q, k, rows=[1], pooled=(3, 3), summary=True, received=True, top=2, distances=3, **OPTIONS
    )
    figure = view.plot()
    assert [axes.get_title() for axes in figure.axes if axes.get_title()] == list(view)
    with pytest.raises(ValueError, match="nothing to plot"):
        lookback.align(q, k, causal=3).plot()
