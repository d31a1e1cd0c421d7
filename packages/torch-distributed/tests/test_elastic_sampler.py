"""A sampler for jobs that are started again; samplers are in torch-utils."""

import pytest

pytest.importorskip("torch.utils.data", reason="samplers are in torch-utils")
from torch.distributed.elastic.utils.data import ElasticDistributedSampler


@pytest.mark.parametrize(("length", "start", "size"), [(10, 0, 2), (10, 7, 2), (11, 3, 3), (5, 4, 4)])
def test_a_sampler_goes_on_where_the_job_had_stopped(length, start, size):
    parts = [ElasticDistributedSampler(range(length), size, rank, start) for rank in range(size)]
    assert len({len(part) for part in parts}) == 1
    assert all(len(list(part)) == len(part) for part in parts)
    assert {i for part in parts for i in part} == set(range(start, length))
    with pytest.raises(ValueError, match="should be less than dataset size"):
        ElasticDistributedSampler(range(length), size, 0, length)
