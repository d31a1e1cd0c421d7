# ruff: noqa
"""Every kind of layer of torch.nn, with arguments."""

import torch
from torch import nn


def R(*shape):
    count = int(torch.tensor(shape).prod())
    return torch.arange(float(count)).reshape(shape) / count - 0.4


LAYERS = {
    "Linear": (lambda: nn.Linear(4, 3), [R(2, 4)]),
    "Bilinear": (lambda: nn.Bilinear(4, 3, 2), [R(2, 4), R(2, 3)]),
    "Conv1d": (lambda: nn.Conv1d(2, 3, 3, padding="same"), [R(1, 2, 8)]),
    "Conv1dc": (lambda: nn.Conv1d(2, 3, 3, padding=1, padding_mode="circular"), [R(1, 2, 8)]),
    "Conv2dr": (lambda: nn.Conv2d(2, 3, 3, padding=1, padding_mode="reflect"), [R(1, 2, 8, 8)]),
    "Conv3d": (lambda: nn.Conv3d(2, 3, 2), [R(1, 2, 4, 4, 4)]),
    "CT1": (lambda: nn.ConvTranspose1d(2, 3, 3), [R(1, 2, 8)]),
    "CT2": (lambda: nn.ConvTranspose2d(2, 3, 3, 2, 1, 1), [R(1, 2, 4, 4)]),
    "BN1": (lambda: nn.BatchNorm1d(4), [R(5, 4)]),
    "BN3": (lambda: nn.BatchNorm3d(2), [R(2, 2, 2, 2, 2)]),
    "BNm": (lambda: nn.BatchNorm1d(4, momentum=None), [R(5, 4)]),
    "BNn": (lambda: nn.BatchNorm1d(4, affine=False, track_running_stats=False), [R(5, 4)]),
    "IN": (lambda: nn.InstanceNorm1d(3, affine=True, track_running_stats=True), [R(2, 3, 5)]),
    "LN": (lambda: nn.LayerNorm([3, 4]), [R(2, 3, 4)]),
    "RMS": (lambda: nn.RMSNorm(4), [R(2, 4)]),
    "GN": (lambda: nn.GroupNorm(2, 4), [R(2, 4, 3)]),
    "LRN": (lambda: nn.LocalResponseNorm(2), [R(2, 4, 3, 3)]),
    "MaxPool1d": (lambda: nn.MaxPool1d(2), [R(1, 2, 8)]),
    "MaxPool2di": (lambda: nn.MaxPool2d(2, return_indices=True), [R(1, 2, 8, 8)]),
    "MaxPool3d": (lambda: nn.MaxPool3d(2), [R(1, 2, 4, 4, 4)]),
    "AvgPool2d": (lambda: nn.AvgPool2d(2, 1), [R(1, 2, 4, 4)]),
    "AvgPool3d": (lambda: nn.AvgPool3d(2), [R(1, 2, 4, 4, 4)]),
    "AAP1": (lambda: nn.AdaptiveAvgPool1d(2), [R(1, 2, 8)]),
    "AAP2": (lambda: nn.AdaptiveAvgPool2d((2, None)), [R(1, 2, 8, 8)]),
    "AAP3": (lambda: nn.AdaptiveAvgPool3d(1), [R(1, 2, 4, 4, 4)]),
    "AMP2": (lambda: nn.AdaptiveMaxPool2d(2), [R(1, 2, 8, 8)]),
    "LPP": (lambda: nn.LPPool2d(2, 2), [R(1, 2, 8, 8)]),
    "ZeroPad": (lambda: nn.ZeroPad2d((1, 2, 0, 1)), [R(1, 2, 3, 3)]),
    "ReflectionPad": (lambda: nn.ReflectionPad2d(1), [R(1, 2, 3, 3)]),
    "ReplicationPad": (lambda: nn.ReplicationPad1d(1), [R(1, 2, 3)]),
    "ConstantPad": (lambda: nn.ConstantPad1d(1, 2.0), [R(1, 2, 3)]),
    "CircularPad": (lambda: nn.CircularPad2d(1), [R(1, 2, 3, 3)]),
    "Embedding": (lambda: nn.Embedding(5, 3), [torch.tensor([1, 2])]),
    "EmbeddingBag": (lambda: nn.EmbeddingBag(5, 3, mode="sum"), [torch.tensor([[1, 2], [3, 4]])]),
    "RNN": (lambda: nn.RNN(3, 4, 2), [R(5, 2, 3)]),
    "LSTM": (lambda: nn.LSTM(3, 4, 2, batch_first=True, bidirectional=True), [R(2, 5, 3)]),
    "GRU": (lambda: nn.GRU(3, 4), [R(5, 2, 3), R(1, 2, 4)]),
    "LSTMh": (lambda: nn.LSTM(3, 4), [R(5, 2, 3), (R(1, 2, 4), R(1, 2, 4))]),
    "LSTMCell": (lambda: nn.LSTMCell(3, 4), [R(2, 3)]),
    "GRUCell": (lambda: nn.GRUCell(3, 4), [R(2, 3), R(2, 4)]),
    "RNNCell": (lambda: nn.RNNCell(3, 4), [R(2, 3)]),
    "MHA": (lambda: nn.MultiheadAttention(4, 2), [R(3, 2, 4), R(3, 2, 4), R(3, 2, 4)]),
    "TEL": (lambda: nn.TransformerEncoderLayer(4, 2, 8), [R(3, 2, 4)]),
    "TE": (lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8), 2), [R(3, 2, 4)]),
    "TDL": (lambda: nn.TransformerDecoderLayer(4, 2, 8), [R(3, 2, 4), R(3, 2, 4)]),
    "Transformer": (lambda: nn.Transformer(4, 2, 1, 1, 8), [R(3, 2, 4), R(3, 2, 4)]),
    "Upsample": (lambda: nn.Upsample(scale_factor=2), [R(1, 2, 3, 3)]),
    "Upsampleb": (lambda: nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False), [R(1, 2, 3, 3)]),
    "PixelShuffle": (lambda: nn.PixelShuffle(2), [R(1, 4, 3, 3)]),
    "ChannelShuffle": (lambda: nn.ChannelShuffle(2), [R(1, 4, 3, 3)]),
    "Fold": (lambda: nn.Fold((4, 4), 2), [R(1, 8, 9)]),
    "Unfold": (lambda: nn.Unfold(2), [R(1, 2, 4, 4)]),
    "Flatten": (lambda: nn.Flatten(), [R(2, 3, 4)]),
    "Unflatten": (lambda: nn.Unflatten(1, (3, 4)), [R(2, 12)]),
    "CosSim": (lambda: nn.CosineSimilarity(), [R(2, 3), R(2, 3)]),
    "PD": (lambda: nn.PairwiseDistance(), [R(2, 3), R(2, 3) + 1]),
}
for n in "ReLU ReLU6 GELU SELU CELU ELU SiLU Mish Hardswish Hardsigmoid Sigmoid Tanh LogSigmoid Softsign Softplus Softshrink Hardshrink Tanhshrink LeakyReLU Hardtanh PReLU RReLU Dropout Dropout1d Dropout2d AlphaDropout FeatureAlphaDropout Identity Softmin GLU Threshold Softmax LogSoftmax Softmax2d".split():
    a = {"Threshold": (0.1, 20.0), "Softmax": (1,), "LogSoftmax": (1,), "Softmin": (1,)}.get(n, ())
    LAYERS[n] = (lambda n=n, a=a: getattr(nn, n)(*a), [R(2, 4, 4)])
T = torch.tensor([0, 2])
for n, args in {
    "MSELoss": (R(2, 3), R(2, 3) + 1),
    "L1Loss": (R(2, 3), R(2, 3) + 1),
    "SmoothL1Loss": (R(2, 3), R(2, 3) + 1),
    "HuberLoss": (R(2, 3), R(2, 3) + 1),
    "CrossEntropyLoss": (R(2, 3), T),
    "NLLLoss": (R(2, 3), T),
    "BCELoss": (R(2, 3) + 0.4, R(2, 3) + 0.4),
    "BCEWithLogitsLoss": (R(2, 3), R(2, 3) + 0.4),
    "KLDivLoss": (R(2, 3), R(2, 3) + 0.5),
    "HingeEmbeddingLoss": (R(2, 3), torch.ones(2, 3)),
    "MarginRankingLoss": (R(2), R(2) + 1, torch.ones(2)),
    "SoftMarginLoss": (R(2, 3), torch.ones(2, 3)),
    "MultiLabelMarginLoss": (R(2, 3), torch.tensor([[0, -1, 1], [1, 2, -1]])),
    "MultiMarginLoss": (R(2, 3), T),
    "MultiLabelSoftMarginLoss": (R(2, 3), torch.ones(2, 3)),
    "CosineEmbeddingLoss": (R(2, 3), R(2, 3) + 1, torch.ones(2)),
    "TripletMarginLoss": (R(2, 3), R(2, 3) + 1, R(2, 3) - 1),
    "PoissonNLLLoss": (R(2, 3), R(2, 3) + 0.5),
    "GaussianNLLLoss": (R(2, 3), R(2, 3) + 1, R(2, 3) + 1),
    "CTCLoss": (R(5, 2, 4).log_softmax(2), torch.tensor([[1, 2], [2, 3]]), torch.tensor([5, 5]), torch.tensor([2, 2])),
}.items():
    LAYERS[n] = (lambda n=n: getattr(nn, n)(), list(args))
