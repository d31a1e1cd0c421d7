"""Distributions and transforms say which argument is of another type."""

import pytest
import torch
import torch.distributions as D
from torch._seams import typed_arguments

CLASSES = {
    name: getattr(D, name)
    for name in dir(D)
    if isinstance(getattr(D, name), type) and issubclass(getattr(D, name), (D.Distribution, D.Transform))
}
CASES = [(name, argument) for name, cls in CLASSES.items() for argument in typed_arguments(cls)]


@pytest.mark.parametrize("name, argument", CASES)
def test_an_argument_of_another_type_is_named(name, argument):
    cls = CLASSES[name]
    refused = ValueError if issubclass(cls, D.Distribution) else TypeError
    flags = "bool" in typed_arguments(cls)[argument]
    for value in ("half", {"a": 1}, b"1", int, *([] if flags else [object()])):
        with pytest.raises(refused, match=rf"^{name}: {argument} must be .*, got {type(value).__name__}"):
            cls(**{argument: value})


def test_a_list_of_probabilities_is_no_tensor():
    with pytest.raises(ValueError, match=r"Categorical: probs must be a tensor or None, got list \(\[0.5, 0.5\]\)"):
        D.Categorical([0.5, 0.5])


def test_keywords_get_hints():
    with pytest.raises(TypeError, match="did you mean 'covariance_matrix'"):
        D.MultivariateNormal(torch.zeros(2), covariance=torch.eye(2))
