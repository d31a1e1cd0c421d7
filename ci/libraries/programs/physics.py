"""Neural operators and equations."""

from common import fill, numbers

DISTRIBUTIONS = ("neuraloperator", "torchphysics")


def fourier_operator():
    from neuralop.models import FNO

    model = fill(FNO(n_modes=(4, 4), hidden_channels=8, in_channels=2, out_channels=1, n_layers=2), 0.1)
    x = numbers(2, 2, 12, 12)
    y = model(x)
    (y**2).mean().backward()
    return y, {n: p.grad for n, p in model.named_parameters() if p.grad is not None and not p.is_complex()}


def losses():
    from neuralop.losses import H1Loss, LpLoss

    a, b = numbers(2, 1, 8, 8), numbers(2, 1, 8, 8, seed=1)
    return LpLoss(d=2)(a, b), H1Loss(d=2)(a, b)


def tucker():
    from neuralop.models import TFNO

    model = TFNO(
        n_modes=(4, 4), hidden_channels=8, in_channels=1, out_channels=1, n_layers=2, factorization="tucker", rank=0.5
    )
    return model(numbers(1, 1, 8, 8)).shape


def physics():
    import torchphysics as tp

    X = tp.spaces.R2("x")
    U = tp.spaces.R1("u")
    square = tp.domains.Parallelogram(X, [0, 0], [1, 0], [0, 1])
    sampler = tp.samplers.GridSampler(square, 25)
    model = fill(tp.models.FCN(input_space=X, output_space=U, hidden=(8, 8)), 0.5)

    def res(u, x):
        return tp.utils.laplacian(u, x) - 1

    cond = tp.conditions.PINNCondition(module=model, sampler=sampler, residual_fn=res)
    loss = cond()
    loss.backward()
    return loss, [p.grad for p in model.parameters()]
