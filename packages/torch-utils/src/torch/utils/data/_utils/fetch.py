"""The names of `torch.utils.data.fetch`."""

from ..fetch import *  # noqa: F403
from ..fetch import Fetcher as _BaseDatasetFetcher  # noqa: F401
from ..fetch import IterableFetcher as _IterableDatasetFetcher  # noqa: F401
from ..fetch import MapFetcher as _MapDatasetFetcher  # noqa: F401
