"""A decoder's loop with NumPy alone: keys and values grow by one row a step, and each step gives
the same bits as the whole sequence in one call.
"""

import numpy as np

import lookback

HEADS, KV_HEADS, FEATURES, STEPS = 8, 2, 64, 1200


def main():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((STEPS, HEADS * FEATURES), dtype=np.float32)
    width = FEATURES * (HEADS + 2 * KV_HEADS)
    projection = rng.standard_normal((HEADS * FEATURES, width), dtype=np.float32)
    q, k, v = np.split(x @ projection / 20, [FEATURES * HEADS, FEATURES * (HEADS + KV_HEADS)], 1)
    # (position, head, feature), as a projection leaves it
    q = q.reshape(STEPS, HEADS, FEATURES)
    k, v = (a.reshape(STEPS, KV_HEADS, FEATURES) for a in (k, v))

    whole = lookback.attend(q, k, v, causal=True, layout="bnhd")

    # The cache has room for all; each step sees the rows that are filled.
    k_cache, v_cache = np.empty_like(k), np.empty_like(v)
    for step in range(STEPS):
        k_cache[step], v_cache[step] = k[step], v[step]
        filled = slice(0, step + 1)
        row = lookback.attend(
            q[step : step + 1],
            k_cache[filled],
            v_cache[filled],
            causal="bottom-right",
            layout="bnhd",
        )
        if not np.array_equal(row[0], whole[step]):
            raise SystemExit(f"step {step} differs")
    print(f"{STEPS} steps of one row: the same bits as one call of {STEPS} rows")


if __name__ == "__main__":
    main()
