import datetime
import sys

import libraries
import numpy as np
import pytest

DAY, NEXT_DAY = datetime.date(2026, 1, 2), datetime.date(2026, 1, 3)


def test_results_agree_within_the_tolerance_of_the_largest_number():
    a, b = np.array([1.0, 1e-9]), np.array([1.00005, 2e-9])
    assert libraries.distance([a], [b], 1e-3) == pytest.approx(5e-5, rel=0.1)
    with pytest.raises(AssertionError, match="differs by 5.0e-05 of the largest number"):
        libraries.distance([a], [b], 1e-5)
    assert libraries.distance([np.array([np.nan, np.inf])], [np.array([np.nan, np.inf])], 1e-5) == 0


@pytest.mark.parametrize(
    "ours, theirs, text",
    [
        ([np.zeros(2)], [np.zeros(3)], r"float64\(2,\), PyTorch float64\(3,\)"),
        ([np.zeros(2, "f")], [np.zeros(2)], "float32"),
        ([np.array([np.nan])], [np.array([1.0])], "infinite or NaN"),
        ([np.zeros(1)], [np.zeros(1)] * 2, "1 values, PyTorch 2"),
        (["a"], ["b"], "'a', PyTorch 'b'"),
    ],
)
def test_results_of_another_kind_do_not_agree(ours, theirs, text):
    with pytest.raises(AssertionError, match=text):
        libraries.distance(ours, theirs, 1.0)


def test_every_program_says_what_it_runs_and_has_steps():
    sys.path.append(str(libraries.HERE))
    import steps

    programs = sorted(libraries.PROGRAMS.glob("*.py"))
    assert len(programs) > 20
    for program in programs:
        assert steps.steps(str(program)), program
        assert "DISTRIBUTIONS = " in program.read_text(), program


def test_a_step_that_fails_on_one_side_is_told_and_the_others_count(tmp_path):
    program = tmp_path / "toy.py"
    program.write_text(
        "DISTRIBUTIONS = ('pytest',)\ndef one():\n    return [1.5, None, {'b': 'x'}]\ndef two():\n    raise KeyError('no')\n"
    )
    both = [(sys.executable, [])] * 2
    outcome = libraries.compare(program, both, tmp_path)
    assert outcome.distances == {"one": 0.0} and outcome.distributions == {"pytest": pytest.__version__}
    assert "fails with PyTorch, too: KeyError: 'no' (" in outcome.troubles["two"]
    page = libraries.page([outcome], DAY)
    assert "**1 of 2 steps; 0 of 1 programs whole.**" in page and "- toy, `two`: fails" in page


def test_rows_of_other_programs_stay_on_the_page():
    first = libraries.Outcome("a", {"a": "1.0"}, {"bad": "fails"}, {"good": 0.0})
    page = libraries.page([first, libraries.Outcome("b", {"b": "2.0"}, {}, {"one": 1e-7})], DAY)
    later = libraries.page([libraries.Outcome("a", {"a": "1.1"}, {}, {"good": 0.0, "bad": 1e-6})], NEXT_DAY, page)
    assert (
        "| a | a 1.1 | 2 of 2 | 1e-06 | 2026-01-03 |" in later
        and "| b | b 2.0 | 1 of 1 | 1e-07 | 2026-01-02 |" in later
    )
    assert "**3 of 3 steps; 2 of 2 programs whole.**" in later and "fails" not in later
