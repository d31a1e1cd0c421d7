# ruff: noqa: F403
"""The collectives under the name of their module of 2017."""

from ._collectives import *
