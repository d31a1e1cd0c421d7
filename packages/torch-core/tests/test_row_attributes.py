"""What rows say beside their schemas agrees with the schemas."""

import re

import pytest
from rows import ROWS


def result(row):
    return row.schema.rpartition(" -> ")[2]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.schema.partition(" -> ")[0])
def test_a_row_is_a_view_where_its_schema_marks_what_it_shares(row):
    parameters = row.schema.rpartition(" -> ")[0]
    if row.info["view"]:  # the elements of a list of results bear no mark
        shared = "(a)" in parameters or parameters.partition("(")[2].startswith("Tensor[]")
        assert shared and ("(a)" in result(row) or result(row) == "Tensor[]")
    else:
        assert "(a)" not in row.schema


#: The enumeration Memory in row.h.
FRESH, DETACHED, REARRANGED, EXCHANGED, OVERWRITTEN, COUNTED, STATISTICS = range(1, 8)


@pytest.mark.parametrize("row", [r for r in ROWS if r.info["memory"]], ids=lambda row: row.schema.partition(" -> ")[0])
def test_what_a_row_says_of_memory_agrees_with_its_schema(row):
    memory = row.info["memory"]
    op = row.schema.partition("(")[0]
    assert row.in_place == (memory in (REARRANGED, EXCHANGED, OVERWRITTEN))
    assert row.info["view"] == (memory == DETACHED)
    if memory == REARRANGED:
        assert any(r.info["view"] for r in ROWS if r.schema.startswith(op[:-1] + "("))
    if memory == OVERWRITTEN:  # nothing, a number or a tensor
        assert re.match(r"\w+\(Tensor\(a!\) self(, (Number|Scalar|Tensor) \w+(, bool .*)?)?\)", row.schema)
    if memory == STATISTICS:
        assert "running_mean" in row.schema


def test_every_row_in_place_of_a_view_says_so():
    views = {r.schema.partition("(")[0] for r in ROWS if r.info["view"]}
    silent = [
        r.schema for r in ROWS if r.in_place and r.schema.partition("(")[0][:-1] in views and not r.info["memory"]
    ]
    assert not silent
