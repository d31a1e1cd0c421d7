"""Layers of papers: mixtures of experts, mixers, equivariant graphs, slots, implicit images, memories."""

import torch
from common import fill, gradients, numbers, whole

DISTRIBUTIONS = (
    "egnn-pytorch", "se3-transformer-pytorch", "siren-pytorch", "linear-attention-transformer", "sinkhorn-transformer", "routing-transformer",
    "memory-efficient-attention-pytorch", "st-moe-pytorch", "soft-moe-pytorch", "byol-pytorch", "slot-attention", "g-mlp-pytorch",
    "mlp-mixer-pytorch", "bottleneck-transformer-pytorch", "halonet-pytorch", "glom-pytorch", "timesformer-pytorch",
    "titans-pytorch", "iTransformer", "coca-pytorch", "rectified-flow-pytorch",
)  # fmt: skip


def _through(model, *inputs, scale=0.1, **options):
    """The result of a model whose weights are set, and its gradients."""
    result = fill(model, scale)(*inputs, **options)
    first = result if isinstance(result, torch.Tensor) else result[0]
    first.square().mean().backward()
    return result, {name: g for name, g in gradients(model).items() if g is not None and g.numel() < 2000}


def equivariant_graphs():
    from egnn_pytorch import EGNN, EGNN_Network

    first = _through(EGNN(dim=8), numbers(1, 6, 8), numbers(1, 6, 3, seed=1))
    network = EGNN_Network(num_tokens=5, num_positions=6, dim=8, depth=2, num_nearest_neighbors=3)
    return first, _through(network, whole(5, 1, 6), numbers(1, 6, 3))


def rotations_in_space():
    from se3_transformer_pytorch import SE3Transformer

    model = fill(SE3Transformer(dim=8, heads=2, depth=1, dim_head=4, num_degrees=2, valid_radius=10), 0.2)
    return model(numbers(1, 6, 8), numbers(1, 6, 3), torch.ones(1, 6, dtype=torch.bool), return_type=0)


def implicit_images():
    from siren_pytorch import SirenNet

    return _through(SirenNet(dim_in=2, dim_hidden=8, dim_out=3, num_layers=2), numbers(5, 2))


def linear_attention():
    from linear_attention_transformer import LinearAttentionTransformerLM

    model = LinearAttentionTransformerLM(
        num_tokens=9, dim=16, heads=2, depth=1, max_seq_len=8, causal=True, blindspot_size=1
    )
    return _through(model, whole(9, 1, 8))


def sorted_attention():
    from sinkhorn_transformer import SinkhornTransformerLM

    model = SinkhornTransformerLM(num_tokens=9, dim=16, heads=2, depth=1, max_seq_len=8, bucket_size=4, causal=False)
    return _through(model, whole(9, 1, 8))[0].shape


def attention_in_pieces():
    from memory_efficient_attention_pytorch import Attention

    model = Attention(dim=16, dim_head=8, heads=2, memory_efficient=True, q_bucket_size=4, k_bucket_size=4, causal=True)
    return _through(model, numbers(1, 12, 16))


def experts():
    from soft_moe_pytorch import SoftMoE
    from st_moe_pytorch import MoE

    soft = _through(SoftMoE(dim=8, seq_len=6, num_experts=2), numbers(1, 6, 8))
    torch.manual_seed(0)
    hard = fill(MoE(dim=8, num_experts=4, gating_top_n=2, threshold_train=0.2, threshold_eval=0.2).eval())
    return soft, hard(numbers(1, 6, 8))[0]


def own_views():
    from byol_pytorch import BYOL
    from torch import nn

    net = nn.Sequential(nn.Conv2d(3, 4, 3, 2), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(4 * 49, 6))
    plain = nn.Identity()
    learner = BYOL(
        net,
        image_size=16,
        hidden_layer=-1,
        projection_size=4,
        projection_hidden_size=8,
        augment_fn=plain,
        augment_fn2=plain,
    )
    fill(learner, 0.1)
    loss = learner(numbers(4, 3, 16, 16))
    loss.backward()
    learner.update_moving_average()
    return loss


def slots():
    from slot_attention import SlotAttention

    model = fill(SlotAttention(num_slots=3, dim=8, iters=2), 0.2)
    return model(numbers(2, 5, 8)).shape


def gates_and_mixers():
    from g_mlp_pytorch import gMLP
    from mlp_mixer_pytorch import MLPMixer

    gates = _through(
        gMLP(num_tokens=9, dim=8, depth=2, seq_len=6, circulant_matrix=True, act=torch.nn.Tanh()).eval(), whole(9, 1, 6)
    )
    mixer = fill(MLPMixer(image_size=8, channels=3, patch_size=4, dim=8, depth=2, num_classes=3))
    return gates, mixer(numbers(1, 3, 8, 8))


def attention_over_images():
    from bottleneck_transformer_pytorch import BottleStack
    from halonet_pytorch import HaloAttention

    stack = BottleStack(
        dim=8, fmap_size=8, dim_out=16, proj_factor=4, downsample=True, heads=2, dim_head=4, num_layers=2
    )
    halo = HaloAttention(dim=8, block_size=4, halo_size=2, dim_head=4, heads=2)
    return _through(stack.eval(), numbers(2, 8, 8, 8)), _through(halo, numbers(1, 8, 8, 8))


def columns():
    from glom_pytorch import Glom

    return _through(Glom(dim=8, levels=3, image_size=8, patch_size=4), numbers(1, 3, 8, 8), iters=3)


def films():
    from timesformer_pytorch import TimeSformer

    model = TimeSformer(dim=8, image_size=8, patch_size=4, num_frames=2, num_classes=3, depth=1, heads=2, dim_head=4)
    return _through(model, numbers(1, 2, 3, 8, 8))


def memories():
    from titans_pytorch import NeuralMemory

    memory = fill(NeuralMemory(dim=8, chunk_size=4), 0.1)
    result, _ = memory(numbers(1, 8, 8))
    return result


def series():
    from iTransformer import iTransformer

    model = fill(
        iTransformer(num_variates=3, lookback_len=8, dim=16, depth=1, heads=2, dim_head=8, pred_length=(2, 4)), 0.1
    )
    return model(numbers(1, 8, 3))


def captions():
    from coca_pytorch import CoCa
    from torch import nn

    encoder = nn.Sequential(nn.Flatten(2), nn.Linear(64, 16))
    model = CoCa(
        dim=16,
        img_encoder=encoder,
        image_dim=16,
        num_tokens=9,
        unimodal_depth=1,
        multimodal_depth=1,
        dim_head=8,
        heads=2,
    )
    return fill(model, 0.1)(text=whole(9, 2, 6), images=numbers(2, 3, 8, 8), return_loss=True)


def straight_flows():
    from rectified_flow_pytorch import RectifiedFlow

    torch.manual_seed(0)
    net = torch.nn.Conv2d(3, 3, 3, padding=1)

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.net = fill(net)

        def forward(self, x, times=None):
            return self.net(x)

    loss = RectifiedFlow(Model())(numbers(2, 3, 8, 8))
    loss.backward()
    return loss.shape, net.weight.grad.shape
