"""Functions of modules with and without ``from __future__ import division``, for tests of scripts."""
