"""What layers and containers do beside passing gradients: values, modes, sharing, copies, traversal, errors."""

import importlib
import io
import math
import pickle
import re

import pytest
import torch
from torch.legacy import nn


def test_a_network_learns_a_parabola():
    torch.manual_seed(0)
    x = torch.linspace(-1, 1, 64).view(64, 1)
    y = x * x
    net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
    loss = nn.MSECriterion()
    first = loss.forward(net.forward(x), y)
    for _ in range(1500):
        net.zeroGradParameters()
        value = loss.forward(net.forward(x), y)
        net.backward(x, loss.backward(net.output, y))
        net.updateParameters(0.2)
    assert value < 3e-3 < first


def test_modules_and_criterions_can_be_called():
    x = torch.tensor([1.0, -2.0])
    assert nn.Abs()(x).tolist() == [1, 2]
    output, gradient = nn.Abs()(x, torch.ones(2))
    assert output.tolist() == [1, 2] and gradient.tolist() == [1, -1]
    assert nn.L1Cost()(x, None) == nn.L1Cost().forward(x) == 3


def test_sequences_can_be_changed():
    net = nn.Sequential(nn.Abs()).add(nn.Sqrt())
    net.insert(nn.Square(), 0)
    assert [type(m).__name__ for m in net.modules] == ["Square", "Abs", "Sqrt"] and len(net) == net.size() == 3
    assert net.forward(torch.tensor([-3.0])).item() == 3 and net.get(0) is net.modules[0]
    net.remove()
    net.remove(0)
    assert net.forward(torch.tensor([-3.0])).item() == 3 and net.output is net.modules[0].output
    net.remove()
    assert net.size() == 0 and net.forward(torch.ones(1)).item() == 1
    assert repr(nn.Sequential(nn.Linear(2, 3), nn.Sequential(nn.Abs()))) == (
        "nn.Sequential {\n  (0): nn.Linear(2 -> 3)\n  (1): nn.Sequential {\n    (0): nn.Abs\n  }\n}"
    )


def test_containers_take_only_modules():
    for put in (nn.Sequential().add, nn.Concat(1).add, lambda one: nn.Sequential().insert(one, 0), nn.ParallelTable):
        with pytest.raises(TypeError, match="expected a module of torch.legacy.nn, got Tanh"):
            put(torch.nn.Tanh())


def test_a_layer_of_ones_own_needs_no_formula():
    class Twice(nn.Module):
        def updateOutput(self, input):
            self.output = 2 * input
            return self.output

        def updateGradInput(self, input, gradOutput):
            self.gradInput = 2 * gradOutput
            return self.gradInput

    for net in (
        nn.Sequential(Twice(), nn.Square()),
        nn.Sequential().add(nn.ConcatTable(Twice())).add(nn.SelectTable(0)).add(nn.Square()),
    ):
        assert net.forward(torch.tensor([3.0])).item() == 36
        assert net.backward(torch.tensor([3.0]), torch.ones(1)).item() == 24
    plain = nn.Module()
    assert (
        plain.forward(torch.ones(1)).numel() == 0 and plain.parameters() is None and plain.zeroGradParameters() is None
    )


def test_clones_share_what_is_named():
    layer = nn.Linear(2, 2)
    apart, together = layer.clone(), layer.clone("weight", "gradWeight")
    layer.weight.fill_(7)
    assert together.weight.eq(7).all() and not apart.weight.eq(7).all()
    assert together.bias.data_ptr() != layer.bias.data_ptr()
    pair = nn.Sequential(nn.Linear(2, 2)).share(nn.Sequential(layer), "bias")
    assert pair.get(0).bias is layer.bias and pair.get(0).weight is not layer.weight


def test_flat_parameters_are_the_memory_of_the_layers():
    torch.manual_seed(0)
    shared = nn.Linear(2, 2)
    net = nn.Sequential(shared, nn.Linear(2, 3), shared.clone("weight", "bias", "gradWeight", "gradBias"))
    values = [p.clone() for p in net.parameters()[0]]
    flat, slopes = net.flattenParameters()
    assert flat.numel() == slopes.numel() == 6 + 9
    assert all(torch.equal(p, v) for p, v in zip(net.parameters()[0], values))
    flat.fill_(0.5)
    slopes.fill_(1)
    assert all(p.eq(0.5).all() for p in net.parameters()[0]) and all(g.eq(1).all() for g in net.parameters()[1])
    net.updateParameters(0.5)
    assert shared.weight.eq(-0.5).all()  # twice: it stands there twice
    assert flat[:4].eq(-0.5).all() and flat[6:].eq(0).all()
    assert nn.Abs().getParameters()[0].numel() == 0


def test_shared_parameters_stay_shared_through_a_change_of_type():
    layer = nn.Linear(2, 2)
    net = nn.Sequential(layer, layer.clone("weight"))
    net.double()
    assert net.get(0).weight is net.get(1).weight and net.get(0).weight.dtype == torch.float64
    assert net.type() == net.get(1).type() == "torch.DoubleTensor"
    criterion = nn.ClassNLLCriterion(torch.ones(2)).double()
    assert criterion.weights.dtype == torch.float64 and criterion.type() == "torch.DoubleTensor"


def test_modules_are_found_applied_and_replaced():
    net = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.Tanh(), nn.Linear(2, 1)))
    found, around = net.findModules(nn.Linear)
    assert found == [net.get(0), net.get(1).get(1)] and around == [net, net.get(1)]
    assert len(net.listModules()) == 5
    net.apply(lambda m: setattr(m, "seen", True))
    assert all(m.seen for m in net.listModules())
    net = net.replace(lambda m: nn.Sigmoid() if isinstance(m, nn.Tanh) else m)
    assert isinstance(net.get(1).get(0), nn.Sigmoid)
    net.forward(torch.ones(3, 2))
    net.clearState()
    assert all(m.output.numel() == 0 for m in net.listModules())


@pytest.mark.skipif(not hasattr(torch, "save"), reason="torch.save comes with torch-serialize; `stack` runs this")
def test_modules_are_saved_whole():
    net = nn.Sequential(nn.SpatialConvolution(1, 2, 3, 3), nn.ReLU(True), nn.SpatialMaxPooling(2, 2))
    file = io.BytesIO()
    torch.save(net, file)
    file.seek(0)
    again = torch.load(file, weights_only=False)
    x = torch.randn(2, 1, 6, 6)
    assert torch.equal(again.forward(x), net.forward(x))
    for method in ("write", "read"):
        with pytest.raises(NotImplementedError, match="torch\\.(save|load)"):
            getattr(net, method)(file)


def test_modes_reach_all_modules():
    net = nn.Sequential(nn.Dropout(0.5), nn.Sequential(nn.Dropout(0.5)))
    x = torch.ones(1000)
    net.evaluate()
    assert torch.equal(net.forward(x), x) and not net.get(1).get(0).train
    net.training()
    kept = net.forward(x)
    assert set(kept.tolist()) == {0.0, 4.0} and abs(kept.mean().item() - 1) < 0.35


def test_dropped_planes_are_whole():
    torch.manual_seed(0)
    x = torch.ones(20, 10, 3, 3)
    layer = nn.SpatialDropout(0.3)
    planes = layer.forward(x).view(200, 9)
    assert ((planes == 0).all(1) | (planes == 1).all(1)).all() and abs(planes.mean().item() - 0.7) < 0.15
    layer.evaluate()
    assert torch.allclose(layer.forward(x), 0.7 * x)


def test_batch_normalisation_keeps_running_statistics():
    torch.manual_seed(0)
    layer = nn.BatchNormalization(3, momentum=0.5, affine=False)
    x = torch.randn(50, 3) * 2 + 1
    y = layer.forward(x)
    assert torch.allclose(y.mean(0), torch.zeros(3), atol=1e-5) and torch.allclose(
        y.var(0, unbiased=False), torch.ones(3), atol=1e-3
    )
    assert torch.allclose(layer.running_mean, x.mean(0) / 2) and torch.allclose(layer.running_var, 0.5 + x.var(0) / 2)
    before = layer.running_mean.clone()
    layer.backward(x, y)
    assert torch.equal(layer.running_mean, before)
    layer.evaluate()
    assert torch.allclose(layer.forward(x), (x - layer.running_mean) / (layer.running_var + 1e-5).sqrt())
    with pytest.raises(RuntimeError, match=r"2 dims with 3 features, got shape \(5, 4\)"):
        layer.forward(torch.ones(5, 4))


def test_rows_of_a_table_are_kept_short():
    layer = nn.LookupTable(4, 2, maxNorm=1)
    layer.weight.fill_(3)
    assert torch.allclose(layer.forward(torch.tensor([1, 3])).norm(dim=1), torch.ones(2), atol=1e-4)
    assert layer.weight[0].tolist() == [3, 3]


def test_layers_whose_backward_is_not_that_of_their_forward():
    x, g = torch.tensor([1.0, -2.0]), torch.tensor([10.0, 20.0])
    layer = nn.GradientReversal(0.5)
    assert torch.equal(layer.forward(x), x) and layer.backward(x, g).tolist() == [-5, -10]
    layer = nn.L1Penalty(3)
    assert layer.forward(x) is x and layer.loss == 9 and layer.backward(x, g).tolist() == [13, 17]
    assert nn.L1Penalty(3, True, False).backward(x, g).tolist() == [1.5, -1.5]
    layer = nn.Copy("torch.FloatTensor", "torch.DoubleTensor")
    assert layer.forward(x).dtype == torch.float64 and layer.backward(x, g.double()).dtype == torch.float32


def test_a_part_of_the_outputs_is_computed():
    layer = nn.PartialLinear(3, 5)
    x = torch.randn(2, 3)
    whole = layer.forward(x)
    layer.setPartition([4, 1])
    assert torch.allclose(layer.forward(x), whole[:, [4, 1]])
    layer.zeroGradParameters()
    layer.backward(x, torch.ones(2, 2))
    assert layer.gradBias.tolist() == [0, 2, 0, 0, 2]
    layer.resetPartition()
    assert torch.equal(layer.forward(x), whole)


def test_depth_concatenation_centres_the_smaller_ones():
    net = nn.DepthConcat(0).add(nn.Narrow(1, 0, 4)).add(nn.Narrow(1, 1, 2))
    assert net.forward(torch.ones(1, 4)).tolist() == [[1, 1, 1, 1], [0, 1, 1, 0]]


def test_values_in_closed_form():
    assert nn.Sqrt().backward(torch.tensor([0.0, 4.0]), torch.ones(2)).tolist() == [0, 0.25]
    assert nn.Power(3).forward(torch.tensor([2.0])).item() == 8
    padded = nn.Padding(0, -2, 9.0, 1).forward(torch.tensor([1.0, 2.0, 3.0]))
    assert padded.tolist() == [1, 9, 9, 2, 3]
    assert nn.Padding(0, 1, 9.0).forward(torch.tensor([1.0])).tolist() == [1, 9]
    assert nn.SpatialSubSampling(1, 2, 2, 2, 2).forward(torch.ones(1, 4, 4)).shape == (1, 2, 2)
    lp = nn.SpatialLPPooling(1, 2, 2, 2).forward(torch.tensor([[[3.0, 4.0], [0.0, 0.0]]]))
    assert lp.item() == pytest.approx(5)
    corners = nn.ClassSimplexCriterion(4).simplex
    assert torch.allclose(corners @ corners.mT, torch.eye(4) * 4 / 3 - 1 / 3, atol=1e-6)
    assert nn.ClassSimplexCriterion(4).getTopPrediction(corners).tolist() == [0, 1, 2, 3]
    x = torch.tensor([[0.5, -0.5]])
    assert nn.CrossEntropyCriterion().forward(x, torch.tensor([0])) == pytest.approx(math.log(1 + math.exp(-1)))
    local = nn.SpatialConvolutionLocal(1, 1, 3, 3, 2, 2)
    local.weight.copy_(torch.arange(4.0).view(2, 2, 1, 1, 1, 1).expand_as(local.weight))
    local.bias.zero_()
    assert local.forward(torch.ones(1, 3, 3)).tolist() == [[[0, 4], [8, 12]]]


def test_connections_between_planes():
    maps = nn.SpatialConvolutionMap.maps
    assert maps.full(2, 2).tolist() == [[0, 0], [1, 0], [0, 1], [1, 1]] and maps.oneToOne(2).tolist() == [
        [0, 0],
        [1, 1],
    ]
    torch.manual_seed(0)
    table = maps.random(5, 8, 3)
    assert len(set(map(tuple, table.tolist()))) == 24 and torch.bincount(table[:, 1]).tolist() == [3] * 8
    full, dense = nn.SpatialConvolutionMap(maps.full(2, 3), 2, 2), nn.SpatialConvolution(2, 3, 2, 2)
    dense.weight.copy_(full.weight.view(3, 2, 2, 2))
    dense.bias.copy_(full.bias)
    x = torch.randn(2, 2, 4, 4)
    assert torch.allclose(full.forward(x), dense.forward(x), atol=1e-6)


def test_unpooling_puts_values_back():
    pooling = nn.SpatialMaxPooling(2, 2)
    with pytest.raises(RuntimeError, match="has not been run forward"):
        nn.SpatialMaxUnpooling(pooling).forward(torch.ones(1, 1, 1))
    x = torch.tensor([[[1.0, 2.0], [4.0, 3.0]]])
    assert nn.SpatialMaxUnpooling(pooling).forward(pooling.forward(x)).tolist() == [[[0, 0], [4, 0]]]


def test_random_windows_can_be_kept():
    layer = nn.SpatialFractionalMaxPooling(2, 2, 0.7, 0.7).fixPoolingRegions()
    x = torch.randn(1, 1, 20, 20)
    assert torch.equal(layer.forward(x), layer.forward(x)) and layer.output.shape == (1, 1, 14, 14)
    layer.fixPoolingRegions(False)
    assert not all(torch.equal(layer.forward(x), layer.forward(x)) for _ in range(5))


def test_functions_of_tables():
    a, b = [torch.ones(2), [torch.ones(3)]], [torch.ones(2), [torch.ones(3)]]
    nn.recursiveAdd(a, 2, b)
    assert a[1][0].tolist() == [3, 3, 3]
    nn.recursiveAdd(a, b)
    assert a[0].tolist() == [4, 4]
    nn.recursiveFill(a, 7)
    assert a[0].tolist() == [7, 7]
    copy, _ = nn.recursiveCopy([], a)
    assert copy[1][0].tolist() == [7, 7, 7] and copy[0] is not a[0]
    shaped, _ = nn.recursiveResizeAs([torch.ones(9), torch.ones(1), torch.ones(1)], [torch.ones(2, 2)])
    assert len(shaped) == 1 and shaped[0].shape == (2, 2)
    with pytest.raises(RuntimeError, match="recursiveResizeAs: expected tensors"):
        nn.recursiveResizeAs(1, 2)
    typed = nn.recursiveType([torch.ones(2), {"a": torch.ones(1)}, 3, torch.ones(2).long()], "torch.DoubleTensor")
    assert typed[0].dtype == typed[1]["a"].dtype == torch.float64 and typed[3].dtype == torch.int64
    assert nn.addSingletondimension(torch.ones(2), 1).shape == (2, 1)
    out = torch.Tensor()
    assert nn.addSingletondimension(out, torch.ones(2), 0) is out and out.shape == (1, 2)
    with pytest.raises(RuntimeError, match="dim must be from 0 to 1, got 2"):
        nn.addSingletondimension(torch.ones(2), 2)
    assert nn.contiguousView(None, torch.ones(2, 3).t(), 6).shape == (6,)

    class Thing:
        output, parts, other = torch.ones(2), [1], "x"

    thing = nn.clear(Thing(), "output", "parts", "other")
    assert thing.output.numel() == 0 and thing.parts == [] and thing.other is None


@pytest.mark.parametrize(
    "call, error, text",
    [
        (lambda: nn.Linear(2, 2).forward(torch.ones(1, 1, 2)), RuntimeError, r"1 or 2 dims, got shape \(1, 1, 2\)"),
        (lambda: nn.SpatialConvolution(1, 1, 1, 1).forward(torch.ones(2)), RuntimeError, r"3 or 4 dims, got shape \(2,\)"),
        (lambda: nn.MM().forward([torch.ones(2), torch.ones(2)]), RuntimeError, r"got \(2,\) and \(2,\)"),
        (lambda: nn.MV().forward([torch.ones(2, 2), torch.ones(2, 2)]), RuntimeError, r"got \(2, 2\) and \(2, 2\)"),
        (lambda: nn.Parallel(0, 0).add(nn.Abs()).forward(torch.ones(2, 2)), RuntimeError, "1 modules need as many slices"),
        (lambda: nn.Dropout(1), ValueError, "below 1, got 1"),
        (lambda: nn.RReLU(0.5, 0.1), ValueError, "lower <= upper, got 0.5 and 0.1"),
        (lambda: nn.HardTanh(1, 1), ValueError, "got 1 and 1"),
        (lambda: nn.Replicate(0), ValueError, "at least 1, got 0"),
        (lambda: nn.Normalize(0), ValueError, "p > 0, got 0"),
        (lambda: nn.Normalize(2).forward(torch.ones(1, 1, 1)), RuntimeError, "1 or 2 dims"),
        (lambda: nn.PairwiseDistance(1.5), ValueError, "whole number for p, got 1.5"),
        (lambda: nn.SoftMax().forward(torch.ones(1, 1, 1, 1, 1)), RuntimeError, "1 to 4 dims"),
        (lambda: nn.SpatialFullConvolution(1, 1, 2, 2, adjW=1), ValueError, "got 1, 0 and 1, 1"),
        (lambda: nn.SpatialFractionalMaxPooling(1, 2, 2, 2), ValueError, "at least 2 x 2"),
        (lambda: nn.SpatialFractionalMaxPooling(2, 2, 0.5, 2), ValueError, "got 0.5 and 2"),
        (lambda: nn.SpatialUpSamplingNearest(1.5), ValueError, "whole number for scale, got 1.5"),
        (lambda: nn.SpatialConvolutionLocal(1, 1, 2, 2, 3, 3), ValueError, "3x3 do not fit into images 2x2"),
        (lambda: nn.SpatialConvolutionLocal(1, 1, 3, 3, 2, 2).forward(torch.ones(1, 4, 3)), RuntimeError, r"images \(1, 3, 3\)"),
        (lambda: nn.SpatialSubtractiveNormalization(1, torch.ones(4)), ValueError, r"odd size, got shape \(4,\)"),
        (lambda: nn.MultiMarginCriterion(3), ValueError, "1 or 2, got 3"),
        (lambda: nn.ClassSimplexCriterion(1), ValueError, "at least 2 classes, got 1"),
        (lambda: nn.SpatialConvolutionMap.maps.random(2, 2, 3), ValueError, "nto=3 different planes, there are 2"),
        (lambda: nn.SplitTable(0).backward(torch.ones(2, 2), [torch.ones(2)]), RuntimeError, "2 tensors, gradOutput 1"),
        (lambda: nn.Criterion().forward(1, 2), NotImplementedError, "define updateOutput"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_pickles_of_2016_know_each_layer_by_a_file_of_its_name():
    torch.manual_seed(0)
    net = (
        nn.Sequential()
        .add(nn.Linear(3, 4))
        .add(nn.Tanh())
        .add(nn.ConcatTable().add(nn.Linear(4, 2)).add(nn.Identity()))
    )
    del net.train  # what layers of then had not, and had
    net.get(0).addBuffer = torch.ones(1)
    net.get(0)._backend = "THNN"
    text = pickle.dumps(net, 2)
    for module, name in set(re.findall(rb"(torch\.legacy\.nn\.\w+)\n(\w+)\n", text)):
        text = text.replace(module + b"\n" + name, b"torch.legacy.nn." + name + b"\n" + name)
    assert b"torch.legacy.nn.Linear\nLinear" in text
    old = pickle.loads(text)
    x = torch.randn(2, 3)
    for a, b in zip(old.forward(x), net.forward(x), strict=True):
        assert torch.equal(a, b)
    assert old.train
    assert not hasattr(old.get(0), "_backend")
    assert isinstance(nn.Linear, type)
    assert importlib.import_module("torch.legacy.nn.Linear").Linear is nn.Linear
    assert isinstance(torch.legacy.nn.Linear, type)
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("torch.legacy.nn.NoSuchLayer")
