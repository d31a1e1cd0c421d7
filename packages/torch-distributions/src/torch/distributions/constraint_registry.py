"""From a constraint to a transform onto it: `biject_to` for sampling, `transform_to` for optimisation.

>>> log_scale = torch.zeros(2, requires_grad=True)
>>> transform_to(torch.distributions.Normal.arg_constraints["scale"])(log_scale)
tensor([1., 1.], grad_fn=<ExpBackward0>)
"""

from __future__ import annotations

from . import constraints, transforms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]


class ConstraintRegistry:
    """A map from kinds of constraints to functions that make transforms.

    >>> registry = ConstraintRegistry()
    >>> @registry.register(constraints.unit_interval)
    ... def onto_unit_interval(constraint):
    ...     return transforms.SigmoidTransform()
    >>> registry(constraints.unit_interval)
    SigmoidTransform()
    """

    def __init__(self) -> None:
        self._registry = {}
        super().__init__()

    def register(self, constraint: Any, factory: Any = None) -> Any:
        """Register a factory for a class of constraints, or for the class of a given one; a decorator without one."""
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        if isinstance(constraint, constraints.Constraint):
            constraint = type(constraint)
        if not isinstance(constraint, type) or not issubclass(constraint, constraints.Constraint):
            raise TypeError(f"register: expected a subclass or an instance of Constraint, got {constraint!r}")
        self._registry[constraint] = factory
        return factory

    def __call__(self, constraint: Any) -> Any:
        """A transform onto the constraint; NotImplementedError where none is registered."""
        try:
            factory = self._registry[type(constraint)]
        except KeyError:
            raise NotImplementedError(
                f"Cannot transform {type(constraint).__name__} constraints: register a transform for them"
            ) from None
        return factory(constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def both(*kinds):
    """Register one factory for both registries."""

    def register(factory):
        for kind in kinds:
            biject_to.register(kind, factory)
            transform_to.register(kind, factory)
        return factory

    return register


@both(constraints.real)
def _onto_real(constraint):
    return transforms.identity_transform


@biject_to.register(constraints.independent)
def _biject_to_independent(constraint):
    base = biject_to(constraint.base_constraint)
    return transforms.IndependentTransform(base, constraint.reinterpreted_batch_ndims)


@transform_to.register(constraints.independent)
def _transform_to_independent(constraint):
    base = transform_to(constraint.base_constraint)
    return transforms.IndependentTransform(base, constraint.reinterpreted_batch_ndims)


@both(constraints.positive, constraints.nonnegative)
def _onto_greater_than(constraint):
    positive, bound = transforms.ExpTransform(), constraint.lower_bound
    if isinstance(bound, (int, float)) and bound == 0:
        return positive
    return transforms.ComposeTransform([positive, transforms.AffineTransform(bound, 1)])


@both(constraints.less_than)
def _onto_less_than(constraint):
    return transforms.ComposeTransform(
        [transforms.ExpTransform(), transforms.AffineTransform(constraint.upper_bound, -1)]
    )


@both(constraints.interval, constraints.half_open_interval)
def _onto_interval(constraint):
    low, high = constraint.lower_bound, constraint.upper_bound
    if isinstance(low, (int, float)) and isinstance(high, (int, float)) and (low, high) == (0, 1):
        return transforms.SigmoidTransform()
    return transforms.ComposeTransform([transforms.SigmoidTransform(), transforms.AffineTransform(low, high - low)])


@biject_to.register(constraints.simplex)
def _biject_to_simplex(constraint):
    return transforms.StickBreakingTransform()


@transform_to.register(constraints.simplex)
def _transform_to_simplex(constraint):
    return transforms.SoftmaxTransform()


@transform_to.register(constraints.lower_cholesky)
def _transform_to_lower_cholesky(constraint):
    return transforms.LowerCholeskyTransform()


@transform_to.register(constraints.positive_definite)
@transform_to.register(constraints.positive_semidefinite)
def _transform_to_positive_definite(constraint):
    return transforms.PositiveDefiniteTransform()


@both(constraints.corr_cholesky)
def _onto_corr_cholesky(constraint):
    return transforms.CorrCholeskyTransform()


@biject_to.register(constraints.cat)
def _biject_to_cat(constraint):
    return transforms.CatTransform([biject_to(c) for c in constraint.cseq], constraint.dim, constraint.lengths)


@transform_to.register(constraints.cat)
def _transform_to_cat(constraint):
    return transforms.CatTransform([transform_to(c) for c in constraint.cseq], constraint.dim, constraint.lengths)


@biject_to.register(constraints.stack)
def _biject_to_stack(constraint):
    return transforms.StackTransform([biject_to(c) for c in constraint.cseq], constraint.dim)


@transform_to.register(constraints.stack)
def _transform_to_stack(constraint):
    return transforms.StackTransform([transform_to(c) for c in constraint.cseq], constraint.dim)
