"""Layers written elsewhere, from the bases that other libraries import: convolutions, pools, pads, dropout, norms."""

import importlib
import inspect

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.modules import batchnorm, conv, dropout, instancenorm, padding, pooling, transformer
from torch.nn.modules.conv import _ConvNd, _ConvTransposeNd, _pair, _single, _triple

TUPLES = {1: _single, 2: _pair, 3: _triple}


def standardised(n):
    """Weight standardisation (Qiao 2019) as a convolution of 2018 is written: tuples, and no padding mode."""
    make = TUPLES[n]

    class Standardised(_ConvNd):
        def __init__(
            self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True
        ):
            super().__init__(in_channels, out_channels, make(kernel_size), make(stride), make(padding), make(dilation),
                             False, make(0), groups, bias)  # fmt: skip

        def forward(self, x):
            mean = self.weight.reshape(self.out_channels, -1).mean(1).reshape(-1, *[1] * (n + 1))
            function = getattr(F, f"conv{n}d")
            return function(x, self.weight - mean, self.bias, self.stride, self.padding, self.dilation, self.groups)

    return Standardised


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("options", [{}, {"stride": 2, "padding": 1}, {"groups": 2, "bias": False}])
def test_a_convolution_of_ones_own(n, options):
    layer, plain = standardised(n)(4, 6, 3, **options), getattr(nn, f"Conv{n}d")(4, 6, 3, **options)
    assert list(layer.state_dict()) == list(plain.state_dict())
    plain.load_state_dict(layer.state_dict())
    with torch.no_grad():
        plain.weight -= plain.weight.reshape(6, -1).mean(1).reshape(-1, *[1] * (n + 1))
    x = torch.randn(2, 4, *[7] * n)
    assert torch.allclose(layer(x), plain(x), atol=1e-6)
    assert repr(layer).removeprefix("Standardised") == repr(plain).removeprefix(f"Conv{n}d")
    assert layer.transposed is False


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_transposed_convolution_of_ones_own(n):
    make = TUPLES[n]

    class Upscaling(_ConvTransposeNd):
        def __init__(self, inputs, outputs, size):
            super().__init__(inputs, outputs, make(size), make(2), make(1), make(1), True, make(0), 1, True, "zeros")

        def forward(self, x, output_size=None):
            extra = self._output_padding(x, output_size, self.stride, self.padding, self.kernel_size, n, self.dilation)
            function = getattr(F, f"conv_transpose{n}d")
            return function(x, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation)

    layer, plain = Upscaling(4, 6, 3), getattr(nn, f"ConvTranspose{n}d")(4, 6, 3, stride=2, padding=1)
    plain.load_state_dict(layer.state_dict())
    x = torch.randn(2, 4, *[5] * n)
    for size in (None, [9] * n, [10] * n):
        assert torch.equal(layer(x, size), plain(x, size))


@pytest.mark.parametrize("mode", ["zeros", "reflect", "replicate", "circular"])
def test_the_inner_forward_of_a_convolution_may_be_called_and_replaced(mode):
    class Doubled(nn.Conv2d):
        def forward(self, x):
            return self._conv_forward(x, self.weight * 2, self.bias)

    class Watched(nn.Conv2d):
        def _conv_forward(self, input, weight, bias):
            return super()._conv_forward(input, weight, bias) + 1

    x = torch.randn(1, 2, 6, 6)
    for cls, change in ((Doubled, lambda y, b: 2 * y - b), (Watched, lambda y, b: y + 1)):
        layer, plain = cls(2, 3, 3, padding=1, padding_mode=mode), nn.Conv2d(2, 3, 3, padding=1, padding_mode=mode)
        plain.load_state_dict(layer.state_dict())
        assert torch.allclose(layer(x), change(plain(x), plain.bias.reshape(1, -1, 1, 1)), atol=1e-6)


def test_the_padding_of_a_convolution_in_the_order_of_pad():
    layer = nn.Conv2d(1, 1, 3, padding=(1, 2))
    assert tuple(layer._reversed_padding_repeated_twice) == (2, 2, 1, 1)
    layer.padding = (3, 4)
    assert tuple(layer._reversed_padding_repeated_twice) == (4, 4, 3, 3)
    layer._reversed_padding_repeated_twice = (0, 0, 0, 0)
    assert layer._reversed_padding_repeated_twice == (0, 0, 0, 0)
    assert tuple(nn.Conv2d(1, 1, 4, padding="same")._reversed_padding_repeated_twice) == (1, 2, 1, 2)


BASES = {
    pooling: {"_MaxPoolNd": "MaxPool", "_AvgPoolNd": "AvgPool", "_LPPoolNd": "LPPool", "_MaxUnpoolNd": "MaxUnpool",
              "_AdaptiveAvgPoolNd": "AdaptiveAvgPool", "_AdaptiveMaxPoolNd": "AdaptiveMaxPool"},
    padding: {"_ConstantPadNd": "ConstantPad", "_ReflectionPadNd": "ReflectionPad", "_ReplicationPadNd": "ReplicationPad",
              "_CircularPadNd": "CircularPad"},
    dropout: {"_DropoutNd": "Dropout"},
    conv: {"_ConvNd": "Conv", "_ConvTransposeNd": "ConvTranspose"},
    batchnorm: {"_BatchNorm": "BatchNorm"},
    instancenorm: {"_InstanceNorm": "InstanceNorm"},
}  # fmt: skip
ALSO = {
    "_ConstantPadNd": ["ZeroPad"],
    "_ConvNd": ["ConvTranspose"],
    "_DropoutNd": ["AlphaDropout", "FeatureAlphaDropout"],
}


def test_each_base_is_that_of_its_layers_and_of_no_others():
    layers = [cls for _, cls in inspect.getmembers(nn, inspect.isclass) if issubclass(cls, nn.Module)]
    for module, names in BASES.items():
        for base, prefix in names.items():
            kinds = {
                cls.__name__ for cls in layers if issubclass(cls, getattr(module, base)) and "Lazy" not in cls.__name__
            }
            wanted = [prefix, *ALSO.get(base, ())]
            numbered = {f"{name}{n}d" for name in wanted for n in (1, 2, 3)} & set(dir(nn))
            whole = {name for name in wanted if name in dir(nn) and inspect.isclass(getattr(nn, name))}
            assert kinds == numbered | whole | ({"SyncBatchNorm"} if base == "_BatchNorm" else set()), base


def test_pads_of_ones_own_set_their_padding_themselves():
    class Frame(padding._ConstantPadNd):
        def __init__(self, width):
            super().__init__(7.0)
            self.padding = padding._quadruple(width)

    class Mirror(padding._ReflectionPadNd):
        def __init__(self):
            super().__init__()
            self.padding = (1, 1)

    assert Frame(1)(torch.zeros(1, 1)).sum().item() == 8 * 7.0
    assert Mirror()(torch.tensor([[1.0, 2.0, 3.0]])).tolist() == [[2.0, 1.0, 2.0, 3.0, 2.0]]


@pytest.mark.parametrize("kind", ["Reflection", "Replication", "Circular", "Zero", "Constant"])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_pads_ask_for_their_padding(kind, n):
    with pytest.raises(TypeError, match="padding"):
        getattr(nn, f"{kind}Pad{n}d")()


def test_names_of_types_that_annotations_use():
    types = importlib.import_module("torch.nn.common_types")
    for n in range(1, 7):
        assert {*getattr(types, f"_size_{n}_t").__args__} == {int, tuple[(int,) * n]}
    for name in ("_size_any_t", "_size_2_opt_t", "_size_3_opt_t", "_size_any_opt_t", "_ratio_2_t", "_ratio_3_t", "_ratio_any_t",
                 "_tensor_list_t", "_maybe_indices_t"):  # fmt: skip
        assert hasattr(types, name), name

    def annotated(size: types._size_2_t = 3) -> None:
        pass

    assert annotated.__annotations__["size"] is types._size_2_t


def test_copies_and_activations_of_a_transformer_of_ones_own():
    layer = nn.Linear(2, 2)
    clones = transformer._get_clones(layer, 3)
    assert isinstance(clones, nn.ModuleList)
    assert len({id(clone.weight) for clone in [layer, *clones]}) == 4
    assert all(torch.equal(clone.weight, layer.weight) for clone in clones)
    assert transformer._get_activation_fn("gelu") is F.gelu
    with pytest.raises(RuntimeError, match="activation should be relu/gelu, not tanh"):
        transformer._get_activation_fn("tanh")


def test_text_of_children_is_moved_to_the_right():
    from torch.nn.modules.module import _addindent

    assert _addindent("a\nb\nc", 2) == "a\n  b\n  c"
    assert _addindent("a", 4) == "a"


def test_the_dicts_of_hooks_of_all_modules_are_live():
    from torch.nn.modules import module

    seen = []
    module._global_forward_hooks[-1] = lambda m, args, output: seen.append("forward")
    module._global_forward_pre_hooks[-1] = lambda m, args: seen.append("pre")
    try:
        nn.Identity()(1)
    finally:
        module._global_forward_hooks.clear()
        module._global_forward_pre_hooks.clear()
    nn.Identity()(1)
    assert seen == ["pre", "forward"]


def test_blocks_of_transformer_layers_are_overridden():
    class Seen(nn.TransformerEncoderLayer):
        def _sa_block(self, x, attn_mask, key_padding_mask, is_causal=False):
            out, self.weights = self.self_attn(x, x, x, key_padding_mask, attn_mask=attn_mask, need_weights=True)
            return self.dropout1(out)

        def _ff_block(self, x):
            return super()._ff_block(x) * 2

    class Reader(nn.TransformerDecoderLayer):
        def _mha_block(self, x, mem, attn_mask, key_padding_mask, is_causal=False):
            return 0 * super()._mha_block(x, mem, attn_mask, key_padding_mask, is_causal)

    torch.manual_seed(0)
    layer, plain = (
        Seen(8, 2, 16, dropout=0.0, norm_first=True),
        nn.TransformerEncoderLayer(8, 2, 16, 0.0, norm_first=True),
    )
    plain.load_state_dict(layer.state_dict())
    x = torch.randn(5, 3, 8)
    middle = x + plain._sa_block(plain.norm1(x), None, None)
    expected = middle + 2 * plain.linear2(plain.linear1(plain.norm2(middle)).relu())
    torch.testing.assert_close(layer(x), expected)
    assert layer.weights.shape == (3, 5, 5)
    reader = Reader(8, 2, 16, dropout=0.0)
    assert torch.equal(reader(x, torch.zeros(4, 3, 8)), reader(x, torch.ones(4, 3, 8)))


def test_a_recurrent_layer_with_a_forward_of_its_own_asks_what_layers_ask():
    class Checked(nn.LSTM):
        def forward(self, input, hx, order=None):
            self.check_forward_args(input, hx, None)
            return super().forward(input, self.permute_hidden(hx, order))

    layer = Checked(3, 4, 2, bidirectional=True, proj_size=2, batch_first=True)
    x = torch.randn(5, 6, 3)
    assert layer.get_expected_hidden_size(x, None) == (4, 5, 2) and layer.get_expected_cell_size(x, None) == (4, 5, 4)
    assert layer.get_expected_hidden_size(x[0], torch.tensor([6, 1])) == (4, 6, 2)
    h, c, order = torch.randn(4, 5, 2), torch.randn(4, 5, 4), torch.tensor([4, 3, 2, 1, 0])
    out, _ = layer(x, (h, c), order)
    assert torch.equal(out, nn.LSTM.forward(layer, x, (h.flip(1), c.flip(1)))[0])
    with pytest.raises(RuntimeError, match=r"Expected hidden\[1\] size \(4, 5, 4\), got \[4, 5, 2\]"):
        layer(x, (h, h))
    with pytest.raises(RuntimeError, match="input must have 3 dimensions, got 2"):
        layer(x[0], (h, c))
    with pytest.raises(RuntimeError, match="Expected 3, got 6"):
        layer(x.mT, (h, c))
    rnn = nn.GRU(3, 4)
    rnn.check_forward_args(x, torch.zeros(1, 6, 4), None)
    assert rnn.permute_hidden(h, None) is h and torch.equal(rnn.permute_hidden(h, order), h.flip(1))


def test_a_class_with_a_call_of_its_own_calls_as_modules_do():
    class Counted(nn.Linear):
        calls = 0

        def __call__(self, *args, **kwargs):
            self.calls += 1
            return self._call_impl(*args, **kwargs)

    layer, seen = Counted(2, 1), []
    layer.register_forward_hook(lambda module, args, output: seen.append(output.shape))
    layer(torch.ones(3, 2))
    assert layer.calls == 1 and seen == [(3, 1)]


def test_members_are_gathered_by_a_function():
    net = nn.Sequential(nn.Linear(1, 2), nn.BatchNorm1d(2))
    found = list(net._named_members(lambda module: module._buffers.items()))
    assert [name for name, _ in found] == ["1.running_mean", "1.running_var", "1.num_batches_tracked"]


def test_small_parts_of_layers_are_called_by_subclasses():
    class Scaled(nn.Embedding):
        def reset_parameters(self):
            nn.init.ones_(self.weight)
            self._fill_padding_idx_with_zero()

    assert Scaled(3, 2, padding_idx=-1).weight.tolist() == [[1, 1], [1, 1], [0, 0]]
    layers = nn.ModuleList([nn.ReLU(), nn.Tanh()])
    assert layers._get_abs_string_index(-1) == "1"
    assert nn.Sequential(*layers)._get_item_by_idx(iter("ab"), -2) == "a"
    softmax, x = nn.AdaptiveLogSoftmaxWithLoss(4, 10, [3]), torch.randn(2, 4)
    assert torch.equal(softmax._get_full_log_prob(x, softmax.head(x)), softmax.log_prob(x))
    net = nn.Transformer(4, 2, 1, 1, 8)
    nn.init.zeros_(net.encoder.layers[0].linear1.weight)
    net._reset_parameters()
    assert net.encoder.layers[0].linear1.weight.abs().sum() > 0


def test_steps_of_data_parallel_are_overridden():
    class Noted(nn.DataParallel):
        def scatter(self, inputs, kwargs, device_ids):
            pieces = inputs[0].chunk(len(device_ids))
            return [(piece,) for piece in pieces], [kwargs] * len(pieces)

        def gather(self, outputs, output_device):
            return outputs

        def parallel_apply(self, replicas, inputs, kwargs):
            return [replica(*given) for replica, given in zip(replicas, inputs, strict=True)]

    net = Noted(nn.Linear(2, 1), device_ids=[])
    net.device_ids = ["cpu", "cpu"]  # in place of two GPUs
    x = torch.randn(4, 2)
    first, second = net(x)
    assert torch.equal(torch.cat([first, second]), net.module(x))


class Marked(torch.Tensor):
    """A tensor that is told from others by its class."""


def test_a_tensor_of_a_class_stays_one_as_a_parameter():
    layer = nn.Linear(2, 2, bias=False)
    layer.weight = nn.Parameter(torch.ones(2, 2).as_subclass(Marked))
    assert type(layer.weight) is Marked and isinstance(layer.weight, nn.Parameter) and layer.weight.requires_grad
    assert [name for name, _ in layer.named_parameters()] == ["weight"]
    layer(torch.ones(1, 2)).sum().backward()
    torch.optim.SGD(layer.parameters(), 0.5).step() if hasattr(torch, "optim") else None
    assert repr(nn.Parameter(torch.ones(1).as_subclass(Marked))) == "Parameter(Marked([1.], requires_grad=True))"
    layer.double()
    assert type(layer.weight) is Marked and layer.weight.dtype == torch.float64
    assert type(layer.state_dict()["weight"]) is Marked
    assert type(nn.Parameter(layer.weight)) is Marked and type(nn.Parameter(nn.Buffer(torch.ones(1)))) is nn.Parameter
