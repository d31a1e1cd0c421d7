"""What programs of earlier years import."""

import pytest
import torch


def test_names_that_ran_on_two_generations_of_python():
    from torch._six import container_abcs, inf, int_classes, string_classes

    assert isinstance("a", string_classes) and isinstance(1, int_classes) and inf > 1e308
    assert isinstance([], container_abcs.Sequence) and isinstance({}, container_abcs.Mapping)


def test_a_negative_number_of_a_gpu_means_the_cpu():
    for number in (-1, -2):
        assert torch.cuda.set_device(number) is None
        with torch.cuda.device(number):
            assert torch.ones(2).device.type == "cpu"
    for place in (0, "cuda:0", torch.device("cuda", 1)):
        with pytest.raises(RuntimeError, match="torch.cuda.set_device.* CUDA needs the distribution 'torch-core-cuda'"):
            torch.cuda.set_device(place)
        with pytest.raises(RuntimeError, match="CUDA needs"), torch.cuda.device(place):
            pass


def test_the_sets_of_legacy_classes_hold_the_classes_that_torch_has():
    for name in ("Float", "Double", "Half", "Byte", "Long", "Bool"):
        for place in (torch, torch.sparse, torch.cuda, torch.cuda.sparse):
            assert getattr(place, f"{name}Tensor") in torch._tensor_classes
        assert getattr(torch, f"{name}Storage") in torch._storage_classes
    assert torch.float32 not in torch._tensor_classes and torch.Tensor not in torch._tensor_classes
