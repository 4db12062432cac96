import numpy as np
import lookback

q, k, v = np.random.default_rng(0).standard_normal((3, 8, 1000, 64)).astype(np.float32)
out = lookback.attend(q, k, v, causal=True)
print(out.shape, lookback.align(q, k, top=3, causal=True).top_index[0, -1])
