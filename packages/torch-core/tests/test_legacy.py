"""What programs of earlier years import."""


def test_names_that_ran_on_two_generations_of_python():
    from torch._six import container_abcs, inf, int_classes, string_classes

    assert isinstance("a", string_classes) and isinstance(1, int_classes) and inf > 1e308
    assert isinstance([], container_abcs.Sequence) and isinstance({}, container_abcs.Mapping)
