"""Every integer that a layer takes, given as what it should not be: an answer or a plain error, and soon."""

import inspect
import math
import signal

import pytest
import torch
from torch import nn

LINE, PLANE, SPACE = torch.ones(2, 4, 6), torch.ones(2, 4, 6, 6), torch.ones(2, 4, 6, 6, 6)
ROWS, STEPS, LABELS = torch.ones(3, 4), torch.ones(3, 2, 4), torch.tensor([0, 1, 2])
WINDOW = {"kernel_size": 2, "stride": 2, "padding": 1}


def layer_table():
    """Name: the arguments of a layer, all those that are integers among them, and of its call."""
    table = {}
    for n, x in ((1, LINE), (2, PLANE), (3, SPACE)):
        conv = {"kernel_size": 2, "stride": 1, "padding": 1, "dilation": 1, "groups": 1}
        both = {"in_channels": 4, "out_channels": 4, **conv}
        table |= {
            f"AdaptiveAvgPool{n}d": ({"output_size": 2}, (x,)),
            f"AdaptiveMaxPool{n}d": ({"output_size": 2}, (x,)),
            f"AvgPool{n}d": (WINDOW, (x,)),
            f"MaxPool{n}d": ({**WINDOW, "dilation": 1}, (x,)),
            f"LPPool{n}d": ({"norm_type": 2, "kernel_size": 2, "stride": 2}, (x,)),
            f"Conv{n}d": (both, (x,)),
            f"ConvTranspose{n}d": ({**both, "output_padding": 0}, (x,)),
            f"LazyConv{n}d": ({"out_channels": 4, **conv}, (x,)),
            f"LazyConvTranspose{n}d": ({"out_channels": 4, **conv, "output_padding": 0}, (x,)),
            f"BatchNorm{n}d": ({"num_features": 4}, (x,)),
            f"InstanceNorm{n}d": ({"num_features": 4, "affine": True}, (x,)),
            f"ConstantPad{n}d": ({"padding": 1, "value": 0.5}, (x,)),
            f"MaxUnpool{n}d": ({"kernel_size": 2, "stride": 2, "padding": 0},
                               getattr(nn, f"MaxPool{n}d")(2, return_indices=True)(x)),
        }  # fmt: skip
        for kind in ("Circular", "Reflection", "Replication", "Zero"):
            table[f"{kind}Pad{n}d"] = ({"padding": 1}, (x,))
    cell, width = {"input_size": 4, "hidden_size": 3}, {"d_model": 4, "nhead": 2, "dim_feedforward": 4}
    choice = ({"ignore_index": 1}, (ROWS, LABELS))
    return table | {
        "AdaptiveLogSoftmaxWithLoss": ({"in_features": 4, "n_classes": 6, "cutoffs": [2]}, (ROWS, LABELS)),
        "LinearCrossEntropyLoss": ({"in_features": 4, "num_classes": 6}, (ROWS, LABELS)),
        "Bilinear": ({"in1_features": 4, "in2_features": 4, "out_features": 2}, (ROWS, ROWS)),
        "CTCLoss": ({"blank": 0}, (torch.zeros(4, 1, 3), torch.ones(1, 2, dtype=torch.int64), LABELS[:1] + 4, LABELS[:1] + 2)),
        "ChannelShuffle": ({"groups": 2}, (PLANE,)),
        "CosineSimilarity": ({"dim": 1}, (ROWS, ROWS)),
        "CrossEntropyLoss": choice,
        "NLLLoss": choice,
        "CrossMapLRN2d": ({"size": 2}, (PLANE,)),
        "LocalResponseNorm": ({"size": 2}, (PLANE,)),
        "Embedding": ({"num_embeddings": 4, "embedding_dim": 2, "padding_idx": 1}, (LABELS,)),
        "EmbeddingBag": ({"num_embeddings": 4, "embedding_dim": 2, "padding_idx": 1}, (LABELS[None],)),
        "Flatten": ({"start_dim": 1, "end_dim": 2}, (PLANE,)),
        "Fold": ({"output_size": 4, "kernel_size": 2, "dilation": 1, "padding": 0, "stride": 1}, (torch.ones(1, 4, 9),)),
        "Unfold": ({"kernel_size": 2, "dilation": 1, "padding": 0, "stride": 1}, (PLANE,)),
        "FractionalMaxPool2d": ({"kernel_size": 2, "output_size": 3}, (PLANE,)),
        "FractionalMaxPool3d": ({"kernel_size": 2, "output_size": 3}, (SPACE,)),
        "RNNCell": (cell, (ROWS,)),
        "LSTMCell": (cell, (ROWS,)),
        "GRUCell": (cell, (ROWS,)),
        "RNN": ({**cell, "num_layers": 2}, (STEPS,)),
        "LSTM": ({**cell, "num_layers": 2, "proj_size": 2}, (STEPS,)),
        "GRU": ({**cell, "num_layers": 2}, (STEPS,)),
        "GLU": ({"dim": 1}, (ROWS,)),
        "GroupNorm": ({"num_groups": 2, "num_channels": 4}, (PLANE,)),
        "LayerNorm": ({"normalized_shape": 4}, (ROWS,)),
        "RMSNorm": ({"normalized_shape": 4}, (ROWS,)),
        "Linear": ({"in_features": 4, "out_features": 3}, (ROWS,)),
        "LazyLinear": ({"out_features": 3}, (ROWS,)),
        "LogSoftmax": ({"dim": 1}, (ROWS,)),
        "Softmax": ({"dim": 1}, (ROWS,)),
        "Softmin": ({"dim": 1}, (ROWS,)),
        "MultiMarginLoss": ({"p": 1}, (ROWS, LABELS)),
        "MultiheadAttention": ({"embed_dim": 4, "num_heads": 2, "kdim": 4, "vdim": 4}, (STEPS,) * 3),
        "PReLU": ({"num_parameters": 4}, (ROWS,)),
        "PixelShuffle": ({"upscale_factor": 2}, (PLANE,)),
        "PixelUnshuffle": ({"downscale_factor": 2}, (PLANE,)),
        "SyncBatchNorm": ({"num_features": 4}, (PLANE,)),
        "Transformer": ({"d_model": 4, "nhead": 2, "num_encoder_layers": 1, "num_decoder_layers": 1, "dim_feedforward": 4},
                        (STEPS, STEPS)),
        "TransformerEncoder": ({"encoder_layer": nn.TransformerEncoderLayer(4, 2, 4), "num_layers": 1}, (STEPS,)),
        "TransformerDecoder": ({"decoder_layer": nn.TransformerDecoderLayer(4, 2, 4), "num_layers": 1}, (STEPS, STEPS)),
        "TransformerEncoderLayer": (width, (STEPS,)),
        "TransformerDecoderLayer": (width, (STEPS, STEPS)),
        "Unflatten": ({"dim": 1, "unflattened_size": (2, 2)}, (PLANE,)),
        "Upsample": ({"size": 3}, (PLANE,)),
        "UpsamplingBilinear2d": ({"size": 3}, (PLANE,)),
        "UpsamplingNearest2d": ({"size": 3}, (PLANE,)),
    }  # fmt: skip


TABLE = layer_table()
VALUES = {
    "a tensor": torch.tensor(2),
    "a tensor of one dim": torch.tensor([2]),
    "several": torch.tensor([2, 2, 2]),
    "a float tensor": torch.tensor(2.0),
    "a large tensor": torch.tensor(2**50),
    "a float": 2.5,
    "nan": math.nan,
    "infinity": math.inf,
    "negative": -1,
    "very negative": -(2**63),
    "zero": 0,
    "2^50": 2**50,
    "2^62": 2**62,
    "2^70": 2**70,
    "True": True,
    "None": None,
    "text": "2",
    "a list": [2],
    "nothing": (),
}
EXPECTED = (TypeError, ValueError, RuntimeError, OverflowError, IndexError, AssertionError, ZeroDivisionError)


class TooLong(BaseException):
    pass


@pytest.fixture
def in_time():
    def end(*_):
        raise TooLong

    before = signal.signal(signal.SIGALRM, end)
    yield lambda: signal.alarm(20)
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def run(name, options):
    output = getattr(nn, name)(**options)(*TABLE[name][1])
    return output[0] if isinstance(output, tuple) else output


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", TABLE)
def test_an_integer_of_another_kind_gives_an_answer_or_a_plain_error(name, in_time):
    options = TABLE[name][0]
    assert isinstance(run(name, options), torch.Tensor)
    for argument, usual in options.items():
        if not isinstance(usual, int) or isinstance(usual, bool):
            continue
        for what, value in VALUES.items():
            in_time()
            try:
                output = run(name, {**options, argument: value})
            except EXPECTED as error:
                text = str(error)
                assert text and "has no attribute" not in text, (name, argument, what, error)
                continue
            except TooLong:
                pytest.fail(f"{name}({argument}={value}) does not end")
            assert isinstance(output, torch.Tensor), (name, argument, what)
            if what in ("a tensor", "True"):  # where it is taken, it is the number that it holds
                assert output.shape == run(name, {**options, argument: int(value)}).shape, (name, argument, what)


def test_the_table_has_every_layer_with_an_integer():
    words = (
        "size",
        "channels",
        "features",
        "groups",
        "num_",
        "dim",
        "padding",
        "stride",
        "dilation",
        "factor",
        "nhead",
    )
    lazy_norms = {f"Lazy{kind}{n}d" for kind in ("BatchNorm", "InstanceNorm") for n in (1, 2, 3)}
    for name in dir(nn):
        cls = getattr(nn, name)
        if not (isinstance(cls, type) and issubclass(cls, nn.Module)) or name in TABLE or name in lazy_norms:
            continue
        if issubclass(cls, nn.DataParallel) or name in ("RNNBase", "RNNCellBase", "NLLLoss2d"):
            continue
        parameters = set(inspect.signature(cls.__init__).parameters) - {"size_average", "keepdim"}
        assert not [p for p in parameters if any(word in p for word in words)], name


@pytest.mark.parametrize("count", [2**31, 2**62, torch.tensor(2**40)])
@pytest.mark.parametrize(
    "make",
    [
        lambda n: nn.LSTM(4, 3, n),
        lambda n: nn.GRU(4, 3, num_layers=n),
        lambda n: nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 4), n),
        lambda n: nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 4), n),
        lambda n: nn.Transformer(4, 2, n, 1, 4),
    ],
)
def test_more_layers_than_any_memory_holds_are_refused_before_the_first(make, count, in_time):
    in_time()
    with pytest.raises(torch.OutOfMemoryError, match=rf": num_layers={int(count)} layers need \d+ bytes"):
        make(count)


def test_more_layers_than_64_bits_count_are_refused(in_time):
    in_time()
    with pytest.raises(torch.OutOfMemoryError, match=rf": num_layers={2**70} layers need \d+ bytes"):
        nn.LSTM(4, 3, 2**70)
    for make in (nn.TransformerEncoder, nn.TransformerDecoder):
        layer = getattr(nn, f"{make.__name__}Layer")(4, 2, 4)
        with pytest.raises(ValueError, match=f"{make.__name__}: num_layers must fit into 64 bits, got {2**70}"):
            make(layer, 2**70)
    with pytest.raises(ValueError, match="Transformer: num_encoder_layers must fit into 64 bits"):
        nn.Transformer(4, 2, 2**70, 1, 4)


@pytest.mark.parametrize("count", [2.0, None, "2", torch.tensor(2.0)])
def test_a_count_of_layers_is_an_integer(count):
    for make in (
        lambda: nn.LSTM(4, 3, count),
        lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 4), count),
    ):
        with pytest.raises(TypeError, match="num_layers must be an int, got"):
            make()
    assert nn.LSTM(4, 3, torch.tensor(2)).num_layers == 2
    assert type(nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 4), torch.tensor([2])).num_layers) is int


def test_sizes_may_be_arrays_of_numpy():
    numpy = pytest.importorskip("numpy")
    assert nn.Conv2d(1, 1, numpy.array([3, 2])).weight.shape == (1, 1, 3, 2)
    assert nn.LayerNorm(numpy.array([3])).weight.shape == nn.LayerNorm(numpy.int64(3)).weight.shape == (3,)
