"""One or more calls of every layer and criterion, for the generated tests."""

import torch
from torch.legacy import nn

F64 = torch.float64


def r(*shape, low=-1.0, high=1.0):
    """Numbers that are the same in every run, and of which no two are equal."""
    g = torch.Generator()
    g.manual_seed(sum(shape) + len(shape))
    return torch.rand(shape, generator=g, dtype=F64) * (high - low) + low


def pos(*shape):
    return r(*shape, low=0.3, high=2.0)


def away(*shape):
    """Away from 0 and from each other: for kinks."""
    x = r(*shape)
    return x + 0.2 * x.sign()


def spread(*shape):
    """No two nearer than 0.05: for maxima."""
    n = torch.Size(shape).numel()
    g = torch.Generator()
    g.manual_seed(n)
    return (torch.randperm(n, generator=g).to(F64) * 0.05 - n * 0.025 + 0.01).view(shape)


def trained(module):
    module.training()
    return module


def evaluated(module):
    module.evaluate()
    return module


def pooled(pooling, *shape):
    """An unpooling module after its pooling, and an input of its size."""
    pooling.double()
    out = pooling.forward(spread(*shape))
    cls = nn.VolumetricMaxUnpooling if len(shape) == 5 else nn.SpatialMaxUnpooling
    return cls(pooling), r(*out.shape)


CON = nn.SpatialConvolutionMap.maps
MASK = torch.tensor([[1, 0, 1, 1], [0, 1, 0, 1], [1, 1, 0, 0]])

#: (module, input); the module is converted to double by the tests
LAYERS = [
    *((getattr(nn, name)(), away(3, 4)) for name in ("Abs", "Contiguous", "Exp", "LogSigmoid", "Sigmoid", "SoftSign", "Square", "Tanh", "TanhShrink")),
    *((getattr(nn, name)(), away(3, 4)) for name in ("ReLU", "ReLU6", "LeakyReLU", "ELU", "HardTanh", "Threshold", "HardShrink", "SoftShrink")),
    *((getattr(nn, name)(), away(3, 4)) for name in ("SoftPlus", "SoftMax", "SoftMin", "LogSoftMax", "PReLU", "Mul", "Identity")),
    (nn.Log(), pos(3, 4)), (nn.Sqrt(), pos(3, 4)), (nn.Sqrt(0.5), pos(3, 4)), (nn.Power(2.5), pos(3, 4)), (nn.Clamp(-0.5, 0.5), away(3, 4)),
    (nn.AddConstant(2.0), r(3, 4)), (nn.MulConstant(-3.0), r(3, 4)), (nn.ELU(0.5), away(5)), (nn.HardTanh(-0.7, 0.4), away(5)),
    (nn.PReLU(4), away(3, 4)), (nn.PReLU(3), away(3, 2, 2)), (nn.SoftMax(0), r(3, 4)), (nn.SoftMax(), r(3, 2, 2)), (nn.LogSoftMax(), r(5)),
    (nn.SpatialSoftMax(), r(2, 3, 2, 2)), (nn.SoftPlus(2, 1), r(3, 4)), (nn.Threshold(0.1, -7), away(3, 4)),
    (nn.Linear(4, 3), r(2, 4)), (nn.Linear(4, 3), r(4)), (nn.Linear(4, 3, False), r(2, 4)), (nn.PartialLinear(4, 3), r(2, 4)),
    (nn.Bilinear(4, 3, 2), [r(5, 4), r(5, 3)]), (nn.Bilinear(4, 3, 2, False), [r(5, 4), r(5, 3)]), (nn.Add(4), r(3, 4)), (nn.Add(4, True), r(3, 4)),
    (nn.CMul(4), r(3, 4)), (nn.CMul(3, 1), r(2, 3, 4)), (nn.CMul(1, 3, 1, 1), r(2, 3, 2, 2)), (nn.Cosine(4, 3), r(2, 4)), (nn.Cosine(4, 3), r(4)),
    (nn.Euclidean(4, 3), r(2, 4)), (nn.WeightedEuclidean(4, 3), r(2, 4)), (nn.WeightedEuclidean(4, 3), r(4)),
    (nn.LookupTable(5, 3), torch.tensor([[0, 4], [4, 2]])), (nn.LookupTable(5, 3, 4), torch.tensor([0, 4, 4, 2])),
    (nn.BatchNormalization(4), r(5, 4)), (evaluated(nn.BatchNormalization(4)), r(5, 4)), (nn.BatchNormalization(4, affine=False), r(5, 4)),
    (nn.SpatialBatchNormalization(3), r(2, 3, 2, 2)), (nn.VolumetricBatchNormalization(3), r(2, 3, 2, 2, 2)),
    (nn.Dropout(), r(3, 4)), (evaluated(nn.Dropout()), r(3, 4)), (nn.SpatialDropout(), r(2, 3, 2, 2)), (nn.SpatialDropout(), r(3, 2, 2)),
    (evaluated(nn.SpatialDropout()), r(2, 3, 2, 2)), (nn.VolumetricDropout(), r(2, 3, 2, 2, 2)), (nn.RReLU(), away(3, 4)),
    (evaluated(nn.RReLU()), away(3, 4)),
    (nn.Reshape(2, 2), r(3, 4)), (nn.Reshape(4, 3), r(3, 4)), (nn.Reshape((2, 2)), r(1, 4)), (nn.View(-1, 6), r(3, 4)), (nn.View(12), r(3, 4)),
    (nn.Transpose((0, 1), (1, 2)), r(2, 3, 4)), (nn.Unsqueeze(1), r(2, 3)), (nn.Squeeze(), r(2, 1, 3, 1)), (nn.Squeeze(1), r(2, 1, 3, 1)),
    (nn.Replicate(3), r(2, 4)), (nn.Replicate(3, 1), r(2, 4)), (nn.Select(1, 2), r(2, 3)), (nn.Narrow(1, 1, 2), r(2, 4)), (nn.Narrow(0, 1, -1), r(4, 2)),
    (nn.Padding(1, 2), r(2, 3)), (nn.Padding(0, -2, 0.5), r(2, 3)), (nn.Padding(0, -1, 1.5, 1, 1), r(2, 3)), (nn.Padding(0, 2, 0, 1), r(3)),
    (nn.Sum(), r(2, 3)), (nn.Sum(1, True), r(2, 3)), (nn.Mean(1), r(2, 3)), (nn.Max(), spread(3, 4)), (nn.Max(1), spread(3, 4)), (nn.Min(1), spread(3, 4)),
    (nn.Normalize(2), r(3, 4)), (nn.Normalize(3), away(4)), (nn.Normalize(1), away(3, 4)), (nn.Normalize(float("inf")), spread(3, 4)),
    (nn.CAddTable(), [r(3), r(3) * 2, r(3) + 1]), (nn.CSubTable(), [r(3), pos(3)]), (nn.CMulTable(), [r(3), pos(3), r(3)]), (nn.CDivTable(), [r(3), pos(3)]),
    (nn.JoinTable(1), [r(2, 3), r(2, 4)]), (nn.SplitTable(1), r(2, 3)), (nn.SelectTable(1), [r(2), r(3)]), (nn.SelectTable(0), [[r(2), r(1)], r(3)]),
    (nn.NarrowTable(1, 2), [r(1), r(2), r(3)]), (nn.FlattenTable(), [r(1), [r(2), [r(3)]]]), (nn.Index(0), [r(3, 2), torch.tensor([2, 0, 2])]),
    (nn.MaskedSelect(), [r(3, 4), MASK]), (nn.MM(), [r(2, 3), r(3, 4)]), (nn.MM(True, True), [r(2, 3, 2), r(2, 4, 3)]), (nn.MV(), [r(2, 3), r(3)]),
    (nn.MV(True), [r(2, 3, 4), r(2, 3)]), (nn.DotProduct(), [r(3, 4), pos(3, 4)]), (nn.DotProduct(), [r(4), pos(4)]),
    (nn.CosineDistance(), [r(3, 4), pos(3, 4)]), (nn.CosineDistance(), [r(4), pos(4)]), (nn.PairwiseDistance(2), [r(3, 4), pos(3, 4) + 1]),
    (nn.PairwiseDistance(1), [r(3, 4), pos(3, 4) + 1]), (nn.MixtureTable(), [pos(2, 3), [r(2, 4), pos(2, 4), r(2, 4)]]),
    (nn.MixtureTable(), [pos(2, 3), r(2, 3, 4)]), (nn.MixtureTable(), [pos(2), [r(4), pos(4)]]), (nn.MixtureTable(2), [pos(2, 3), r(2, 4, 3)]),
    (nn.SpatialConvolution(2, 3, 3, 2, 2, 1, 1, 0), r(2, 2, 5, 4)), (nn.SpatialConvolution(2, 3, 3, 2), r(2, 5, 4)),
    (nn.SpatialDilatedConvolution(2, 3, 2, 2, dilationH=2), r(2, 2, 5, 4)), (nn.SpatialFullConvolution(2, 3, 3, 2, 2, 2, 1, 0, 1, 1), r(2, 2, 3, 2)),
    (nn.SpatialFullConvolution(2, 3, 3, 2), r(2, 3, 2)), (nn.SpatialConvolutionLocal(2, 3, 5, 4, 3, 2, 2, 1, 1), r(2, 2, 4, 5)),
    (nn.SpatialConvolutionMap(CON.random(3, 4, 2), 2, 2), r(2, 3, 4, 3)), (nn.SpatialConvolutionMap(CON.full(2, 3), 2, 3), r(2, 4, 3)),
    (nn.SpatialFullConvolutionMap(CON.full(2, 3), 2, 2), r(2, 2, 3, 3)), (nn.SpatialFullConvolutionMap(CON.oneToOne(2), 2, 2, 2, 1), r(2, 3, 3)),
    (nn.SpatialSubSampling(2, 2, 2, 2, 1), r(2, 2, 4, 4)), (nn.TemporalConvolution(2, 3, 2, 2), r(2, 5, 2)), (nn.TemporalConvolution(2, 3, 2), r(5, 2)),
    (nn.TemporalSubSampling(2, 3, 2), r(2, 7, 2)), (nn.VolumetricConvolution(2, 3, 2, 2, 2), r(2, 2, 3, 4, 3)),
    (nn.VolumetricConvolution(2, 3, 2, 3, 1, 1, 2, 1, 0, 1), r(2, 3, 4, 3)), (nn.VolumetricFullConvolution(2, 3, 2, 2, 2, 2, adjT=1), r(2, 2, 2, 2, 2)),
    (nn.SpatialAveragePooling(2, 2, 2, 2), r(2, 2, 4, 4)), (nn.SpatialAveragePooling(3, 2, 1, 1, 1, 1), r(2, 4, 4)),
    (nn.SpatialMaxPooling(2, 2), spread(2, 2, 4, 4)), (nn.SpatialMaxPooling(3, 2, 2, 1, 1).ceil(), spread(2, 5, 4)),
    (nn.SpatialAdaptiveMaxPooling(3, 2), spread(2, 2, 5, 4)), (nn.SpatialFractionalMaxPooling(2, 2, 3, 3), spread(2, 2, 7, 7)),
    (nn.SpatialFractionalMaxPooling(2, 2, 0.5, 0.6), spread(2, 7, 7)), (nn.SpatialLPPooling(2, 2, 2, 2), r(2, 2, 4, 4)),
    (nn.SpatialLPPooling(2, 3, 2, 2, 1, 1), pos(2, 4, 4)), pooled(nn.SpatialMaxPooling(2, 2), 2, 2, 4, 4),
    pooled(nn.VolumetricMaxPooling(2, 2, 2), 2, 2, 4, 4, 2), (nn.SpatialZeroPadding(1, -1, 2), r(2, 2, 4, 4)), (nn.SpatialReflectionPadding(1), r(2, 4, 4)),
    (nn.SpatialReplicationPadding(1, 2, 0, 1), r(2, 2, 4, 4)), (nn.VolumetricReplicationPadding(1), r(2, 2, 2, 3, 2)),
    (nn.SpatialUpSamplingNearest(2), r(2, 2, 3, 2)), (nn.SpatialCrossMapLRN(3, 0.5), r(2, 5, 2, 2)), (nn.SpatialCrossMapLRN(3), r(5, 2, 2)),
    (nn.SpatialSubtractiveNormalization(2, torch.ones(3)), r(2, 2, 4, 4)), (nn.SpatialDivisiveNormalization(2, torch.ones(3, 3)), r(2, 2, 4, 4)),
    (nn.SpatialContrastiveNormalization(1, torch.ones(3)), r(1, 4, 4)), (nn.TemporalMaxPooling(2), spread(2, 5, 2)),
    (nn.TemporalMaxPooling(3, 1), spread(5, 2)), (nn.VolumetricAveragePooling(2, 2, 2), r(2, 2, 4, 4, 2)), (nn.VolumetricMaxPooling(2, 2, 2), spread(2, 4, 4, 2)),
    # containers
    (nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2)), r(5, 4)),
    (nn.ConcatTable(nn.Linear(4, 3), nn.Tanh()), r(5, 4)), (nn.ParallelTable(nn.Linear(4, 3), nn.Tanh()), [r(5, 4), r(2)]),
    (nn.Concat(1).add(nn.Linear(4, 3)).add(nn.Tanh()), r(5, 4)), (nn.Parallel(0, 0).add(nn.Linear(4, 3)).add(nn.Linear(4, 2)), r(2, 4)),
    (nn.DepthConcat(0).add(nn.SpatialConvolution(2, 3, 3, 3)).add(nn.SpatialConvolution(2, 2, 1, 1)), r(2, 5, 5)),
    (nn.Sequential(nn.ConcatTable(nn.Linear(4, 3), nn.Linear(4, 3)), nn.CAddTable(), nn.Sequential(nn.Tanh())), r(4)),
]  # fmt: skip

SIGNS = torch.tensor([1.0, -1.0, 1.0, -1.0], dtype=F64)
#: (criterion, input, target)
CRITERIA = [
    (nn.AbsCriterion(), away(3, 4), r(3, 4) * 0.1), (nn.MSECriterion(), r(3, 4), pos(3, 4)), (nn.MSECriterion(False), r(3, 4), pos(3, 4)),
    (nn.WeightedMSECriterion(pos(4)), r(3, 4), pos(3, 4)), (nn.SmoothL1Criterion(), 3 * r(3, 4), pos(3, 4)),
    (nn.DistKLDivCriterion(), r(3, 4), pos(3, 4)), (nn.SoftMarginCriterion(), r(4), SIGNS), (nn.MarginCriterion(0.7), away(4), SIGNS),
    (nn.MarginCriterion(0.7, False), away(4), SIGNS), (nn.HingeEmbeddingCriterion(), pos(4), SIGNS), (nn.L1Cost(), away(3, 4), None),
    (nn.L1HingeEmbeddingCriterion(20), [r(3), pos(3) + 1], 1), (nn.L1HingeEmbeddingCriterion(20), [r(3), pos(3) + 1], -1),
    (nn.MarginRankingCriterion(0.1), [r(4), pos(4)], SIGNS), (nn.MarginRankingCriterion(9, False), [r(4), pos(4)], 1),
    (nn.CosineEmbeddingCriterion(-0.9), [r(4, 3), pos(4, 3)], SIGNS), (nn.CosineEmbeddingCriterion(), [r(3), pos(3)], 1),
    (nn.BCECriterion(), r(3, 4, low=0.1, high=0.9), (r(3, 4) > 0).to(F64)), (nn.BCECriterion(pos(4), False), r(3, 4, low=0.1, high=0.9), pos(3, 4) / 2),
    (nn.ClassNLLCriterion(), r(3, 4), torch.tensor([0, 3, 1])), (nn.ClassNLLCriterion(), r(4), torch.tensor([2])),
    (nn.ClassNLLCriterion(pos(4), True, 3), r(3, 4), torch.tensor([0, 3, 1])), (nn.SpatialClassNLLCriterion(), r(2, 3, 2, 2), torch.tensor([[[0, 2], [1, 1]]] * 2)),
    (nn.CrossEntropyCriterion(), r(3, 4), torch.tensor([0, 3, 1])), (nn.MultiLabelMarginCriterion(), away(2, 4), torch.tensor([[3, 0, -1, 1]] * 2)),
    (nn.MultiLabelSoftMarginCriterion(), r(3, 4), (r(3, 4) > 0).to(F64)), (nn.MultiMarginCriterion(), away(3, 4), torch.tensor([0, 3, 1])),
    (nn.MultiMarginCriterion(2, pos(4), 0.7), away(3, 4), torch.tensor([0, 3, 1])), (nn.ClassSimplexCriterion(4), r(3, 4), torch.tensor([0, 3, 1])),
    (nn.MultiCriterion().add(nn.MSECriterion(), 0.5).add(nn.AbsCriterion(), 2), away(3), torch.zeros(3, dtype=F64)),
    (nn.ParallelCriterion().add(nn.MSECriterion(), 0.5).add(nn.ClassNLLCriterion()), [r(3), r(2, 3)], [pos(3), torch.tensor([0, 2])]),
    (nn.ParallelCriterion(True).add(nn.MSECriterion(), 0.5).add(nn.MSECriterion()), [r(3), pos(3)], torch.zeros(3, dtype=F64)),
]  # fmt: skip
