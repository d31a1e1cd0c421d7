"""Names of dual numbers, of which there are none."""

import pytest
import torch
from torch.autograd import forward_ad


def test_a_tensor_has_no_tangent():
    x = torch.ones(2)
    primal, tangent = forward_ad.unpack_dual(x)
    assert primal is x and tangent is None and forward_ad._current_level == -1


def test_dual_numbers_are_refused_with_what_serves_instead():
    for refused in (lambda: forward_ad.make_dual(torch.ones(1), torch.ones(1)), forward_ad.dual_level().__enter__):
        with pytest.raises(NotImplementedError, match="torch.func.jvp"):
            refused()
    with pytest.raises(RuntimeError, match="none was entered"):
        forward_ad.exit_dual_level()
