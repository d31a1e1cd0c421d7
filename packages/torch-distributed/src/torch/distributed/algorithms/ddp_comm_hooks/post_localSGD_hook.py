"""Steps on each rank by itself, averaged now and then: not there."""

from ..._absent import fill

fill(globals(), "use no_sync and average parameters by all_reduce", ["PostLocalSGDState"], ["post_localSGD_hook"])
