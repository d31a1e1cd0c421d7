"""Layers over sequences: state spaces, liquid networks, kinds of attention, experts."""

import torch
from block_recurrent_transformer_pytorch import BlockRecurrentTransformer
from common import fill, numbers, train, whole
from electra_pytorch import Electra
from invariant_point_attention import IPABlock
from mambapy.mamba import Mamba, MambaConfig
from MEGABYTE_pytorch import MEGABYTE
from mixture_of_experts import MoE
from ncps.torch import LTC, CfC
from ncps.wirings import AutoNCP
from nystrom_attention import NystromAttention
from reformer_pytorch import ReformerLM
from ring_attention_pytorch import RingAttention

DISTRIBUTIONS = (
    "mambapy", "ncps", "nystrom-attention", "MEGABYTE-pytorch", "block-recurrent-transformer-pytorch", "ring-attention-pytorch",
    "electra-pytorch", "reformer-pytorch", "mixture-of-experts", "invariant-point-attention",
)  # fmt: skip


def mamba():
    net = fill(Mamba(MambaConfig(d_model=16, n_layers=2)), 0.1)
    x = numbers(2, 8, 16)
    return net(x), train(net, lambda: net(x).pow(2).mean())


def liquid():
    found = []
    for net in CfC(4, 8, batch_first=True), LTC(4, AutoNCP(12, 3), batch_first=True):
        fill(net, 0.3)
        found.append(net(numbers(2, 5, 4)))
        found[-1][0].sum().backward()
        found.append(next(net.parameters()).grad)
    return found


def nystrom():
    x = numbers(1, 16, 16).requires_grad_()
    result = fill(NystromAttention(dim=16, dim_head=8, heads=2, num_landmarks=4))(x, mask=torch.ones(1, 16).bool())
    result.sum().backward()
    return result, x.grad


def megabyte():
    sizes = {"dim": (16, 8), "max_seq_len": (8, 4), "depth": (1, 1), "dim_head": 8, "heads": 2}
    loss = fill(MEGABYTE(num_tokens=50, **sizes))(whole(50, 2, 8, 4), return_loss=True)
    loss.backward()
    return loss


def block_recurrent():
    sizes = {"dim": 16, "depth": 2, "dim_head": 8, "heads": 2, "max_seq_len": 16, "block_width": 8}
    more = {"num_state_vectors": 4, "recurrent_layers": (2,), "use_flash_attn": False}
    result, memories, _ = fill(BlockRecurrentTransformer(num_tokens=50, **sizes, **more))(whole(50, 1, 16))
    result.sum().backward()
    return result, memories


def ring():
    sizes = {"dim": 16, "dim_head": 8, "heads": 2}
    net = RingAttention(**sizes, causal=True, auto_shard_seq=False, ring_attn=False, use_cuda_kernel=False)
    result = fill(net)(numbers(1, 16, 16))
    result.sum().backward()
    return result


def electra():
    torch.manual_seed(0)
    sizes = {"num_tokens": 50, "dim": 16, "heads": 2, "depth": 1, "max_seq_len": 16, "bucket_size": 4}
    generator, net = ReformerLM(**sizes, emb_dim=8, ff_mult=1, n_hashes=1), ReformerLM(**sizes)
    tokens = {"mask_token_id": 2, "pad_token_id": 0, "mask_ignore_token_ids": []}
    found = Electra(generator, net, discr_dim=16, discr_layer="reformer", mask_prob=0.15, **tokens)(
        whole(47, 1, 16) + 3
    )
    found.loss.backward()
    return found.loss.shape


def experts():
    result, loss = fill(MoE(dim=8, num_experts=4)).eval()(numbers(1, 16, 8))
    (result.sum() + loss).backward()
    return result.shape, loss.shape


def points():
    sizes = {"scalar_key_dim": 4, "scalar_value_dim": 4, "point_key_dim": 2, "point_value_dim": 2}
    net = fill(IPABlock(dim=16, heads=2, pairwise_repr_dim=16, **sizes))
    turned = {"rotations": torch.eye(3).expand(1, 6, 3, 3).clone(), "translations": numbers(1, 6, 3)}
    result = net(numbers(1, 6, 16), pairwise_repr=numbers(1, 6, 6, 16), mask=torch.ones(1, 6).bool(), **turned)
    result.sum().backward()
    return result
