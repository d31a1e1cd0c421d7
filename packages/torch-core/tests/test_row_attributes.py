"""What rows say beside their schemas agrees with the schemas."""

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
