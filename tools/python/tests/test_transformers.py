"""The attention implementation "lookback" against transformers' own, on small random models."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

import lookback.transformers as ours  # noqa: E402

ours.register()

SMALL = dict(
    hidden_size=32,
    intermediate_size=64,
    num_hidden_layers=2,
    num_attention_heads=4,
    vocab_size=50,
    max_position_embeddings=128,
    pad_token_id=0,
)
CONFIGS = {
    "bert": lambda: transformers.BertConfig(**SMALL),
    "llama": lambda: transformers.LlamaConfig(**SMALL, num_key_value_heads=2),
    "mistral": lambda: transformers.MistralConfig(**SMALL, num_key_value_heads=2, sliding_window=5),
    "gemma2": lambda: transformers.Gemma2Config(
        **SMALL, num_key_value_heads=2, head_dim=8, sliding_window=4, attn_logit_softcapping=2.0
    ),
    "modernbert": lambda: transformers.ModernBertConfig(**SMALL, local_attention=6),
    "gpt_oss": lambda: transformers.GptOssConfig(
        **SMALL,
        num_key_value_heads=2,
        head_dim=8,
        sliding_window=4,
        num_local_experts=2,
        num_experts_per_tok=1,
        layer_types=["sliding_attention", "full_attention"],
    ),
    "qwen2_moe": lambda: transformers.Qwen2MoeConfig(
        **SMALL,
        num_key_value_heads=2,
        num_experts=2,
        num_experts_per_tok=1,
        moe_intermediate_size=16,
        shared_expert_intermediate_size=16,
        use_sliding_window=True,
        sliding_window=4,
        max_window_layers=1,
    ),
    "t5": lambda: transformers.T5Config(
        d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, vocab_size=50
    ),
}


def build(name):
    """The same random model twice: with "eager" and with "lookback"."""
    torch.manual_seed(0)
    config = CONFIGS[name]()
    make = transformers.AutoModel
    eager = make.from_config(config, attn_implementation="eager").eval()
    other = make.from_config(config, attn_implementation="lookback").eval()
    other.load_state_dict(eager.state_dict())
    for model in (eager, other):
        for parameter in model.parameters():
            torch.manual_seed(parameter.numel())
            parameter.data.normal_(0, 0.3)
    return eager, other


def inputs(name, padding):
    ids = torch.randint(1, 50, (3, 12), generator=torch.Generator().manual_seed(1))
    mask = torch.ones_like(ids)
    if padding == "right":
        mask[0, 7:] = mask[2, 11:] = 0
    if padding == "left":
        mask[0, :5] = mask[2, :1] = 0
    arguments = dict(input_ids=ids, attention_mask=mask)
    if name == "t5":
        arguments["decoder_input_ids"] = ids[:, :5]
    return arguments


def compare(got, want, mask):
    seen = mask.bool() if got.shape[1] == mask.shape[1] else slice(None)
    torch.testing.assert_close(got[seen], want[seen], atol=2e-5, rtol=2e-5)


@pytest.mark.parametrize("padding", ["none", "right", "left"])
@pytest.mark.parametrize("name", CONFIGS)
def test_models(name, padding):
    eager, other = build(name)
    arguments = inputs(name, padding)
    with torch.no_grad():
        want = eager(**arguments).last_hidden_state
        got = other(**arguments).last_hidden_state
    compare(got, want, arguments["attention_mask"])


@pytest.mark.parametrize("padding", ["right", "left"])
@pytest.mark.parametrize("name", CONFIGS)
def test_no_mask_of_n_by_n_is_made(name, padding, monkeypatch):
    """Of masks of 12 x 12 numbers, not even one."""
    _, other = build(name)
    made = []
    call = ours.drop_in.attend

    def watched(*tensors, **options):
        made.extend(options[kind] for kind in ("mask",) if options.get(kind) is not None)
        return call(*tensors, **options)

    monkeypatch.setattr(ours.drop_in, "attend", watched)
    monkeypatch.setattr(ours.Visibility, "dense", lambda self: pytest.fail("stored"))
    with torch.no_grad():
        other(**inputs(name, padding))
    assert all(mask.shape[2] == 1 for mask in made)
    assert padding == "left" or not made


@pytest.mark.parametrize("name", ["llama", "mistral", "gemma2", "gpt_oss"])
@pytest.mark.parametrize("cache", [None, "static"])
def test_generate(name, cache):
    torch.manual_seed(0)
    config = CONFIGS[name]()
    models = [
        transformers.AutoModelForCausalLM.from_config(config, attn_implementation=kind).eval()
        for kind in ("eager", "lookback")
    ]
    models[1].load_state_dict(models[0].state_dict())
    arguments = inputs(name, "left")
    texts = [
        model.generate(**arguments, max_new_tokens=10, do_sample=False, cache_implementation=cache)
        for model in models
    ]
    assert torch.equal(*texts)


def test_chunked_prefill():
    """Several new rows against a past."""
    eager, other = build("mistral")
    ids = inputs("mistral", "none")["input_ids"]
    outs = []
    with torch.no_grad():
        for model in (eager, other):
            first = model(input_ids=ids[:, :7], use_cache=True)
            cache = first.get("past_key_values", first.get("cache"))
            name = "past_key_values" if "past_key_values" in first else "cache"
            outs.append(model(input_ids=ids[:, 7:], **{name: cache}).last_hidden_state)
    compare(outs[1], outs[0], torch.ones(3, 5))


@pytest.mark.parametrize("name", ["llama", "mistral"])
def test_packed_by_positions(name):
    eager, other = build(name)
    ids = inputs(name, "none")["input_ids"][:1]
    positions = torch.tensor([[0, 1, 2, 3, 4, 0, 1, 0, 1, 2, 3, 4]])
    with torch.no_grad():
        want = eager(input_ids=ids, position_ids=positions, use_cache=False).last_hidden_state
        got = other(input_ids=ids, position_ids=positions, use_cache=False).last_hidden_state
    compare(got, want, torch.ones(1, 12))


@pytest.mark.parametrize("name", ["bert", "llama"])
def test_packed_by_bounds(name):
    eager, other = build(name)
    ids = inputs(name, "none")["input_ids"][:1]
    bounds = torch.tensor([0, 5, 7, 12], dtype=torch.int32)
    positions = torch.cat([torch.arange(n) for n in bounds.diff()])[None]
    with torch.no_grad():
        got = other(
            input_ids=ids,
            position_ids=positions,
            cu_seq_lens_q=bounds,
            cu_seq_lens_k=bounds,
            max_length_q=5,
            max_length_k=5,
        ).last_hidden_state
        for first, end in zip(bounds, bounds[1:]):
            want = eager(input_ids=ids[:, first:end]).last_hidden_state
            compare(got[:, first:end], want, torch.ones(1, end - first))


def test_packed_with_a_past_is_refused():
    _, other = build("llama")
    q, k = torch.randn(1, 4, 3, 8), torch.randn(1, 2, 5, 8)
    bounds = dict(cu_seq_lens_q=torch.tensor([0, 3]), cu_seq_lens_k=torch.tensor([0, 5]))
    with pytest.raises(NotImplementedError, match="as many keys as queries"):
        ours.attention(other, q, k, k, None, **bounds)


def test_gradients_are_those_of_sdpa():
    _, other = build("llama")
    arguments = inputs("llama", "right")
    ours.drop_in._said.clear()
    with pytest.warns(UserWarning, match="gradients"):
        got = other(**arguments).last_hidden_state
    other.set_attn_implementation("sdpa")
    want = other(**arguments).last_hidden_state
    torch.testing.assert_close(got, want)
    got.sum().backward()


def test_visibility_is_a_mask():
    options = dict(causal=True, left=1, position=2, lengths=torch.tensor([4, 5]))
    visibility = ours.Visibility((2, 1, 3, 5), options)
    assert visibility.shape == (2, 1, 3, 5) and visibility.dtype == torch.bool
    want = np.array([[[[0, 1, 1, 0, 0], [0, 0, 1, 1, 0], [0, 0, 0, 1, last]]] for last in (0, 1)])
    np.testing.assert_array_equal((visibility & True).numpy(), want.astype(bool))
    assert visibility[..., :2].shape == (2, 1, 3, 2)


def test_compile():
    _, other = build("llama")
    arguments = inputs("llama", "right")
    with torch.no_grad():
        want = other(**arguments, use_cache=False).last_hidden_state
        compiled = torch.compile(other, backend="aot_eager")
        got = compiled(**arguments, use_cache=False).last_hidden_state
    compare(got, want, arguments["attention_mask"])
