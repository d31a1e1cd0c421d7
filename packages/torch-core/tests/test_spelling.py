"""Keywords that almost fit are told with the one that was meant."""

import pytest
import torch
from torch._spelling import check, hint


@pytest.mark.parametrize(
    "call, wrong, meant",
    [
        (lambda x: x.sum(dimm=1), "dimm", "dim"),
        (lambda x: torch.sum(x, axes=1), "axes", "dim"),
        (lambda x: torch.softmax(x, dm=1), "dm", "dim"),
        (lambda x: torch.add(x, x, otu=x), "otu", "out"),
        (lambda x: torch.zeros(2, dtyp=torch.int32), "dtyp", "dtype"),
        (lambda x: torch.zeros(2, requires_gard=True), "requires_gard", "requires_grad"),
        (lambda x: torch.tensor([1], dvice="cpu"), "dvice", "device"),
    ],
)
def test_an_operator_says_which_keyword_was_meant(call, wrong, meant):
    with pytest.raises(TypeError, match=f"unexpected keyword argument '{wrong}'; did you mean '{meant}'"):
        call(torch.ones(2, 3))


def test_a_keyword_that_is_far_from_all_gets_no_hint():
    with pytest.raises(TypeError, match=r"add\(\) got an unexpected keyword argument 'colour'$"):
        torch.add(torch.ones(1), 1, colour=2)
    assert hint("colour", ["input", "other", "alpha"]) == ""


def test_each_synonym_is_only_used_where_its_parameter_exists():
    assert hint("learning_rate", ["params", "momentum"]) == ""
    assert hint("learning_rate", ["params", "lr"]) == "; did you mean 'lr'?"


def test_what_a_class_of_somebody_takes_in_kwargs_is_its_own_matter():
    class Base:
        def __init__(self, size):
            self.size = size

    class Own(Base):
        def __init__(self, **kwargs):
            self.sizes = kwargs.pop("sizes")
            super().__init__(**kwargs)

    check(Own, {"sizes": 1, "size": 2})
    with pytest.raises(
        TypeError, match=r"Base.__init__\(\) got an unexpected keyword argument 'sizes'; did you mean 'size'"
    ):
        check(Base, {"sizes": 1})


def test_cuda_without_a_gpu_speaks_of_cuda():
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(
        NotImplementedError, match="^cuda: no memory on device cuda; it needs the distribution 'torch-core-cuda'"
    ):
        torch.ones(1).cuda()
    with pytest.raises(
        NotImplementedError, match="^to: no memory on device cuda; it needs the distribution 'torch-core-cuda'"
    ):
        torch.ones(1).to("cuda")


def test_a_device_that_is_not_there_can_be_caught_as_pytorch_s_users_do():
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    for move in (torch.Tensor.cuda, lambda x: x.to("cuda"), lambda x: torch.ones(1, device="cuda")):
        for kind in (AssertionError, NotImplementedError, RuntimeError):
            with pytest.raises(kind, match="torch-core-cuda"):
                move(torch.ones(1))


def test_a_class_of_two_whose_arguments_are_looked_at_has_the_order_of_its_bases():
    from torch._seams import checked

    @checked
    class First:
        def __init__(self, count=1):
            pass

    @checked
    class Second:
        pass

    class Program:
        def __call__(self):
            return "the program's"

    class Middle(First, Program):
        pass

    class Both(Middle, Second):
        pass

    assert [cls.__name__ for cls in Both.__mro__[:5]] == ["Both", "Middle", "First", "Program", "Second"]
    with pytest.raises(TypeError, match="did you mean 'count'"):
        Both(coutn=3)
