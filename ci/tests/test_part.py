import configparser
import doctest

import part

import packages


def test_the_example_of_a_setting_holds():
    assert doctest.testmod(part).failed == 0


def test_a_part_gets_what_tox_gives_it_and_what_its_packages_need():
    ours, others = part.wanted("optim", part.settings(), packages.read())
    assert ours == ["torch-core", "torch-autograd", "torch-optim"]
    assert "pytest" in others and any(line.startswith("scipy-openblas32") for line in others)


def test_extras_of_ours_and_of_others_are_taken_apart():
    ours, others = part.wanted("tc", part.settings(), packages.read())
    assert "torch-autograd" in ours and "halide>=21" in others
    ours, _ = part.wanted("serialize-numpy", part.settings(), packages.read())
    assert ours == ["torch-serialize"]


def test_references_of_settings_are_followed():
    tox = configparser.RawConfigParser()
    tox.read_string(
        "[testenv]\ndeps =\n    a\n[testenv:x]\ndeps =\n    {[testenv]deps}\n    b\n[testenv:y]\nparts = z\n"
    )
    assert part.value(tox, "testenv:x", "deps").split() == ["a", "b"]
    assert part.value(tox, "testenv:y", "deps").split() == ["a"]
