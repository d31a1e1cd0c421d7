"""``torch._fused_sgd_``, ``_fused_adam_`` and ``_fused_adamw_``: a step of an optimizer for lists of tensors.

On CUDA all tensors of a call are written in one launch (of 48 tensors each); elsewhere operator by operator.

>>> p, g = torch.ones(2), torch.tensor([1.0, 2.0])
>>> torch._fused_sgd_([p], [g], [], weight_decay=0, momentum=0, lr=0.5, dampening=0, nesterov=False, maximize=False, is_first_step=True)
>>> p
tensor([0.5000, 0.0000])
"""

import math

from .. import _C
from .._C import Tensor

#: dtypes that the kernels of CUDA compute
FUSED = frozenset((_C.float16, _C.bfloat16, _C.float32, _C.float64))


def _lengths(name, params, **lists):
    for what, tensors in lists.items():
        if len(tensors) != len(params):
            raise RuntimeError(f"{name}: expected {len(params)} {what}, one for each parameter, got {len(tensors)}")


def _on_cuda(params):
    """The plug-in where its kernels take these parameters, else None."""
    if not params or not params[0].is_cuda:
        return None
    from torch._cuda import _native

    return _native if all(p.dtype in FUSED for p in params) else None


def _unscaled(params, grads, grad_scale, found_inf):
    """Whether a step is made, and gradients with the scale taken out in place, as the kernels do."""
    if found_inf is not None and found_inf.item():
        return False
    if grad_scale is not None:
        for g in grads:
            g.div_(grad_scale.to(g.device))
    return True


def _fused_sgd_(
    self, grads, momentum_buffer_list, *, weight_decay, momentum, lr, dampening, nesterov, maximize, is_first_step,
    grad_scale=None, found_inf=None,
):  # fmt: skip
    """A step of :class:`torch.optim.SGD` for each of the tensors; with ``is_first_step`` the buffers hold nothing yet."""
    _lengths("_fused_sgd_", self, gradients=grads)
    if momentum:
        _lengths("_fused_sgd_", self, **{"momentum buffers": momentum_buffer_list})
    if native := _on_cuda(self):
        native.fused_sgd(
            self, grads, momentum_buffer_list if momentum else [], float(lr), momentum, dampening, weight_decay, nesterov,
            maximize, is_first_step, grad_scale, found_inf,
        )  # fmt: skip
        return
    if not _unscaled(self, grads, grad_scale, found_inf):
        return
    lr = float(lr)
    for i, (p, g) in enumerate(zip(self, grads, strict=True)):
        g = -g if maximize else g
        if weight_decay:
            g = g.add(p, alpha=weight_decay)
        if momentum:
            b = momentum_buffer_list[i]
            b.copy_(g) if is_first_step else b.mul_(momentum).add_(g, alpha=1 - dampening)
            g = g.add(b, alpha=momentum) if nesterov else b
        p.add_(g, alpha=-lr)


def _adam(
    name, decoupled, self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, *, lr, beta1, beta2, weight_decay,
    eps, amsgrad, maximize, grad_scale=None, found_inf=None,
):  # fmt: skip
    _lengths(name, self, gradients=grads, exp_avgs=exp_avgs, exp_avg_sqs=exp_avg_sqs, state_steps=state_steps)
    if amsgrad:
        _lengths(name, self, max_exp_avg_sqs=max_exp_avg_sqs)
    if native := _on_cuda(self):
        on_device = all(isinstance(s, Tensor) and s.is_cuda for s in state_steps)
        native.fused_adam(
            self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs if amsgrad else [],
            [] if on_device else [float(s) for s in state_steps], state_steps if on_device else [], float(lr), beta1, beta2,
            weight_decay, eps, amsgrad, maximize, decoupled, grad_scale, found_inf,
        )  # fmt: skip
        return
    if not _unscaled(self, grads, grad_scale, found_inf):
        return
    lr = float(lr)
    for i, (p, g, m, v) in enumerate(zip(self, grads, exp_avgs, exp_avg_sqs, strict=True)):
        t = float(state_steps[i])
        g = -g if maximize else g
        if weight_decay:
            if decoupled:
                p.mul_(1 - lr * weight_decay)
            else:
                g = g.add(p, alpha=weight_decay)
        m.lerp_(g, 1 - beta1)
        v.mul_(beta2).addcmul_(g, g, value=1 - beta2)
        if amsgrad:
            v = _C._operator("maximum")(max_exp_avg_sqs[i], v, out=max_exp_avg_sqs[i])
        below = v.sqrt().div_(math.sqrt(1 - beta2**t)).add_(eps)
        p.addcdiv_(m, below, value=-lr / (1 - beta1**t))


def _fused_adam_(*args, **options):
    """A step of :class:`torch.optim.Adam` for each of the tensors; ``state_steps`` count this one."""
    _adam("_fused_adam_", False, *args, **options)


def _fused_adamw_(*args, **options):
    """A step of :class:`torch.optim.AdamW` for each of the tensors; ``state_steps`` count this one."""
    _adam("_fused_adamw_", True, *args, **options)


__all__ = ["_fused_adam_", "_fused_adamw_", "_fused_sgd_"]
