"""torchmetrics: metrics that accumulate, as objects and as functions."""

import io

import torch
import torchmetrics
from common import numbers, whole
from torchmetrics import classification, regression
from torchmetrics.functional import accuracy, pairwise_cosine_similarity
from torchmetrics.image import PeakSignalNoiseRatio, StructuralSimilarityIndexMeasure
from torchmetrics.text import BLEUScore, Perplexity, WordErrorRate

DISTRIBUTIONS = ("torchmetrics",)


def _scores():
    return numbers(40, 5).softmax(1), whole(5, 40)


def _over_batches(metric, a, b):
    for i in range(0, len(a), 10):
        metric.update(a[i : i + 10], b[i : i + 10])
    return metric.compute()


def accuracies():
    return [
        _over_batches(classification.MulticlassAccuracy(5, average=a), *_scores()) for a in ("micro", "macro", "none")
    ]


def confusion_and_f1():
    return _over_batches(classification.MulticlassConfusionMatrix(5), *_scores()), _over_batches(
        classification.MulticlassF1Score(5), *_scores()
    )


def curves():
    p, y = numbers(50).sigmoid(), whole(2, 50)
    return (
        _over_batches(classification.BinaryAUROC(), p, y),
        _over_batches(classification.BinaryAveragePrecision(), p, y),
        _over_batches(classification.BinaryROC(thresholds=5), p, y),
        _over_batches(classification.BinaryPrecisionRecallCurve(), p, y),
    )


def calibration_and_kappa():
    return _over_batches(classification.MulticlassCalibrationError(5), *_scores()), _over_batches(
        classification.MulticlassCohenKappa(5), *_scores()
    )


def regressions():
    a, b = numbers(60), numbers(60, seed=3)
    kinds = (
        regression.MeanSquaredError, regression.MeanAbsoluteError, regression.R2Score, regression.PearsonCorrCoef,
        regression.SpearmanCorrCoef, regression.KendallRankCorrCoef, regression.ExplainedVariance,
    )  # fmt: skip
    return [_over_batches(kind(), a, b) for kind in kinds]


def images():
    a, b = numbers(2, 3, 32, 32).sigmoid(), numbers(2, 3, 32, 32, seed=1).sigmoid()
    return StructuralSimilarityIndexMeasure(data_range=1.0)(a, b), PeakSignalNoiseRatio(data_range=1.0)(a, b)


def texts():
    return (
        WordErrorRate()(["the cat sat"], ["a cat sat down"]),
        BLEUScore()(["the cat is on the mat"], [["there is a cat on the mat", "a cat is on the mat"]]),
        Perplexity()(numbers(2, 6, 7).softmax(-1), whole(7, 2, 6)),
    )


def functional():
    return accuracy(*_scores(), task="multiclass", num_classes=5), pairwise_cosine_similarity(numbers(4, 6))


def collection():
    metrics = torchmetrics.MetricCollection(
        [classification.MulticlassAccuracy(5), classification.MulticlassPrecision(5)]
    )
    metrics.update(*_scores())
    return dict(metrics.compute().items())


def running_mean():
    mean = torchmetrics.MeanMetric()
    for x in numbers(5):
        mean(x)
    return mean.compute(), torchmetrics.MetricTracker(regression.MeanSquaredError()).n_steps


def differentiable_metric():
    a = numbers(20).requires_grad_()
    regression.MeanSquaredError()(a, numbers(20, seed=1)).backward()
    return a.grad


def state_saved_and_loaded():
    metric = classification.MulticlassAccuracy(5)
    metric.persistent(True)
    metric.update(*_scores())
    file = io.BytesIO()
    torch.save(metric.state_dict(), file)
    file.seek(0)
    other = classification.MulticlassAccuracy(5)
    other.load_state_dict(torch.load(file))
    return other.compute()
