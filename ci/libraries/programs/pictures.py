"""Networks for pictures, faces and sounds, self-supervision, adversaries."""

from common import fill, gradients, numbers, reload, whole

DISTRIBUTIONS = ["pytorchcv", "pretrainedmodels", "facenet-pytorch", "open_clip_torch", "lightly", "torchgan", "nnAudio", "julius", "asteroid-filterbanks"]  # fmt: skip


def architectures():
    from pytorchcv.model_provider import get_model

    found = []
    for name in ("resnet10", "shufflenetv2_wd2", "mobilenet_wd4"):
        net = fill(get_model(name, pretrained=False, num_classes=5)).eval()
        found.append(net(numbers(1, 3, 224, 224)))
    return found


def older_architectures():
    import pretrainedmodels

    net = fill(pretrainedmodels.__dict__["resnet18"](num_classes=1000, pretrained=None)).eval()
    return net(numbers(1, 3, 64, 64)).sum(1)


def faces():
    from facenet_pytorch import InceptionResnetV1

    net = fill(InceptionResnetV1(pretrained=None, classify=False)).eval()
    return net(numbers(1, 3, 96, 96))


def pictures_and_words():
    import open_clip
    from open_clip.model import CLIPTextCfg, CLIPVisionCfg

    net = open_clip.CLIP(
        16, CLIPVisionCfg(layers=2, width=32, patch_size=8, image_size=16, head_width=16),
        CLIPTextCfg(context_length=8, vocab_size=50, width=32, heads=2, layers=2),
    )  # fmt: skip
    fill(net)
    image, words, scale = net(numbers(2, 3, 16, 16), whole(50, 2, 8))
    loss = open_clip.ClipLoss()(image, words, scale)
    loss.backward()
    return image, words, loss, gradients(net)


def self_supervision():
    from lightly.loss import BarlowTwinsLoss, NTXentLoss, VICRegLoss
    from lightly.models.modules import SimCLRProjectionHead

    head = fill(SimCLRProjectionHead(8, 8, 4))
    a, b = head(numbers(6, 8)), head(numbers(6, 8, seed=1))
    losses = [NTXentLoss()(a, b), BarlowTwinsLoss()(a, b), VICRegLoss()(a, b)]
    sum(losses).backward()
    return losses, gradients(head)


def adversaries():
    from torchgan.losses import MinimaxGeneratorLoss, WassersteinDiscriminatorLoss
    from torchgan.models import DCGANDiscriminator, DCGANGenerator

    make, judge = fill(DCGANGenerator(8, 16, 3, 4)), fill(DCGANDiscriminator(16, 3, 4))
    picture = make(numbers(2, 8))
    score = judge(picture)
    loss = MinimaxGeneratorLoss()(score) + WassersteinDiscriminatorLoss()(score, score.detach())
    loss.backward()
    return picture, score, loss, gradients(make)


def spectra():
    from nnAudio.features import STFT, CQT1992v2, MelSpectrogram

    x = numbers(1, 4096).requires_grad_()
    found = [
        STFT(n_fft=256, hop_length=128, output_format="Magnitude", verbose=False)(x),
        MelSpectrogram(sr=8000, n_fft=256, n_mels=16, hop_length=128, verbose=False)(x),
        CQT1992v2(sr=8000, fmin=200, n_bins=12, hop_length=256, verbose=False)(x),
    ]
    found[1].sum().backward()
    return found, x.grad


def filters():
    import julius
    from asteroid_filterbanks import STFTFB, Encoder

    x = numbers(1, 1, 512)
    return julius.resample_frac(x, 4, 3), julius.lowpass_filter(x, 0.1), Encoder(STFTFB(64, 64, 32))(x)


def file():
    from pytorchcv.model_provider import get_model

    net = fill(get_model("resnet10", pretrained=False, num_classes=5)).eval()
    return reload(net, get_model("resnet10", pretrained=False, num_classes=5).eval())(numbers(1, 3, 224, 224))
