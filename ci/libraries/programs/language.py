"""torchao, litgpt, bitsandbytes: language models, with weights of few bits and with adapters."""

import warnings

import torch
from common import fill, numbers, train
from torch import nn

DISTRIBUTIONS = ("torchao", "litgpt", "bitsandbytes")

warnings.simplefilter("ignore")


def _net():
    return fill(nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64)))


def _rounded(config):
    from torchao.quantization import quantize_

    net = _net()
    quantize_(net, config)
    return net


def eight_bits():
    from torchao.quantization import Int8WeightOnlyConfig

    net = _rounded(Int8WeightOnlyConfig())
    return net(numbers(3, 64)), type(net[0].weight).__name__


def eight_bits_of_both():
    from torchao.quantization import Int8DynamicActivationInt8WeightConfig

    return _rounded(Int8DynamicActivationInt8WeightConfig())(numbers(3, 64))


def four_bits_saved_and_loaded():
    import io

    from torchao.quantization import IntxWeightOnlyConfig, PerGroup

    net = _rounded(IntxWeightOnlyConfig(weight_dtype=torch.int4, granularity=PerGroup(32)))
    file = io.BytesIO()
    torch.save(net.state_dict(), file)
    file.seek(0)
    other = _net()
    other.load_state_dict(torch.load(file, weights_only=True), assign=True)
    return net(numbers(3, 64)), torch.equal(other(numbers(3, 64)), net(numbers(3, 64)))


def compiled():
    from torchao.quantization import Int8WeightOnlyConfig

    return torch.compile(_rounded(Int8WeightOnlyConfig()))(numbers(3, 64))


def trained_with_rounding():
    from torchao.quantization import Int8DynamicActivationIntxWeightConfig, PerGroup
    from torchao.quantization.qat import QATConfig

    base = Int8DynamicActivationIntxWeightConfig(weight_dtype=torch.int4, weight_granularity=PerGroup(32))
    net = _rounded(QATConfig(base, step="prepare"))
    net(numbers(3, 64)).square().mean().backward()
    return net[0].weight.grad


def linear_layers_of_bitsandbytes():
    import bitsandbytes as bnb

    layers = [bnb.nn.Linear4bit(64, 32, quant_type=kind, compute_dtype=torch.float32) for kind in ("nf4", "fp4")]
    x = numbers(3, 64).requires_grad_()
    results = [fill(layer).to("cpu")(x) for layer in layers]
    sum(r.sum() for r in results).backward()
    return results, x.grad, sorted(layers[0].state_dict())


def _gpt(name, **more):
    from litgpt import GPT, Config

    sizes = dict(n_layer=2, n_embd=32, n_head=4, head_size=8, padded_vocab_size=50, block_size=32, **more)
    return fill(GPT(Config.from_name(name, **sizes)))


TOKENS = (torch.arange(24) * 7 % 50).view(2, 12)


def gpt():
    net = _gpt("Llama-3.2-1B", n_query_groups=2, intermediate_size=64)
    return train(net, lambda: net(TOKENS).square().mean(), lambda p: torch.optim.AdamW(p, lr=0.01))


def mixture_of_experts():
    return _gpt("Mixtral-8x7B-v0.1", n_query_groups=2, intermediate_size=64)(TOKENS)


def generation():
    from litgpt.generate.base import generate

    net = _gpt("pythia-14m").eval()
    with torch.no_grad():
        net.set_kv_cache(batch_size=1)
        return generate(net, TOKENS[0], 20, temperature=0.0)


def adapters():
    from litgpt.lora import GPT, Config, mark_only_lora_as_trainable, merge_lora_weights

    sizes = {
        "n_layer": 2,
        "n_embd": 32,
        "n_head": 4,
        "head_size": 8,
        "padded_vocab_size": 50,
        "block_size": 32,
        "n_query_groups": 2,
    }
    lora = {"lora_r": 2, "lora_alpha": 4, "lora_dropout": 0.0, "lora_query": True, "lora_value": True, "lora_mlp": True}
    net = fill(GPT(Config.from_name("Llama-3.2-1B", intermediate_size=64, **sizes, **lora)))
    mark_only_lora_as_trainable(net)
    before = net(TOKENS)
    merge_lora_weights(net)
    return before, torch.allclose(before, net(TOKENS), atol=1e-5)
