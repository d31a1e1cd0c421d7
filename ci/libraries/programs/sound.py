"""Audio and recommendations: losses of spectra, a codec, models of clicks."""

import auraloss
import numpy as np
from common import fill, numbers
from deepctr_torch.inputs import DenseFeat, SparseFeat
from deepctr_torch.models import DCN, DeepFM, xDeepFM
from snac import SNAC

DISTRIBUTIONS = ("auraloss", "snac", "deepctr-torch")


def spectra():
    a, b = numbers(2, 1, 4096).requires_grad_(), numbers(2, 1, 4096, seed=1)
    kinds = (
        auraloss.freq.STFTLoss,
        auraloss.freq.MultiResolutionSTFTLoss,
        auraloss.time.SISDRLoss,
        auraloss.time.ESRLoss,
    )
    values = [kind()(a, b) for kind in kinds]
    sum(values).backward()
    return values, a.grad


def codec():
    sizes = {
        "encoder_dim": 8,
        "encoder_rates": [2, 2],
        "decoder_dim": 32,
        "decoder_rates": [2, 2],
        "vq_strides": [2, 1],
    }
    model = SNAC(sampling_rate=8000, attn_window_size=None, codebook_size=16, codebook_dim=4, noise=False, **sizes)
    result, codes = fill(model, 0.1)(numbers(1, 1, 64))
    return codes, result.shape


def clicks():
    columns = [SparseFeat("a", 5, 4), SparseFeat("b", 6, 4), DenseFeat("c", 1)]
    x, y = {"a": np.arange(8) % 5, "b": np.arange(8) % 6, "c": np.linspace(0, 1, 8)}, np.arange(8) % 2
    found = []
    for kind, more in ((DeepFM, {}), (DCN, {}), (xDeepFM, {"cin_layer_size": (4,)})):
        model = fill(kind(columns, columns, task="binary", device="cpu", dnn_hidden_units=(8,), **more), 0.2)
        model.compile("adam", "binary_crossentropy", metrics=["auc"])
        model.fit(x, y, batch_size=4, epochs=1, verbose=0, shuffle=False)
        found.append(model.predict(x, batch_size=4))
    return found
