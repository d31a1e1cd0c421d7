"""x-transformers, performer, reformer, local attention, rotary embeddings, lucidrains' layers."""

import torch
from common import fill, gradients, numbers, reload, size, train, whole
from ema_pytorch import EMA
from local_attention import LocalAttention
from performer_pytorch import SelfAttention
from rotary_embedding_torch import RotaryEmbedding
from torch import nn
from torch_ema import ExponentialMovingAverage
from x_transformers import AutoregressiveWrapper, Decoder, Encoder, TransformerWrapper

DISTRIBUTIONS = (
    "x-transformers",
    "performer-pytorch",
    "local-attention",
    "rotary-embedding-torch",
    "ema-pytorch",
    "torch-ema",
)


def _decoder(**more):
    return TransformerWrapper(num_tokens=40, max_seq_len=32, attn_layers=Decoder(dim=16, depth=2, heads=2, **more))


def decoder():
    net = fill(_decoder())
    return size(net), net(whole(40, 2, 9))


def decoder_with_rotation_and_gates():
    return fill(_decoder(rotary_pos_emb=True, ff_glu=True, use_rmsnorm=True, attn_kv_heads=1))(whole(40, 2, 9))


def encoder():
    net = fill(TransformerWrapper(num_tokens=40, max_seq_len=32, attn_layers=Encoder(dim=16, depth=1, heads=2)))
    mask = torch.ones(2, 9, dtype=torch.bool)
    mask[1, 4:] = False
    return net(whole(40, 2, 9), mask=mask, return_embeddings=True)[0]


def training():
    net = AutoregressiveWrapper(fill(_decoder()))
    return train(net, lambda: net(whole(40, 2, 9)))[0]


def greedy_text():
    net = AutoregressiveWrapper(fill(_decoder()).eval())
    return net.generate(whole(40, 1, 3), 5, temperature=0.0)


def performer():
    torch.manual_seed(0)
    layer = fill(SelfAttention(dim=16, heads=2, dim_head=8, generalized_attention=True, causal=False, nb_features=8))
    for _, buffer in layer.named_buffers():
        buffer.copy_(numbers(*buffer.shape))
    return layer(numbers(2, 6, 16))


def local_windows():
    attend = LocalAttention(dim=8, window_size=4, causal=True, look_backward=1, autopad=True)
    return attend(numbers(2, 10, 8), numbers(2, 10, 8, seed=1), numbers(2, 10, 8, seed=2))


def rotary_embedding():
    rotary = RotaryEmbedding(dim=8)
    return rotary.rotate_queries_or_keys(numbers(1, 2, 6, 8))


def moving_averages():
    net = fill(nn.Linear(3, 2))
    first, second = (
        EMA(net, beta=0.9, update_after_step=0, update_every=1),
        ExponentialMovingAverage(net.parameters(), 0.9),
    )
    for _ in range(3):
        with torch.no_grad():
            for p in net.parameters():
                p.add_(1)
        first.update()
        second.update()
    with second.average_parameters():
        inside = net(numbers(2, 3))
    return first.ema_model, inside, net


def saved_and_loaded():
    return reload(fill(_decoder()), _decoder())(whole(40, 1, 5))


def gradient():
    net = fill(_decoder())
    net(whole(40, 1, 6)).square().mean().backward()
    return gradients(net)
