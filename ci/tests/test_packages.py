import pytest

import packages


def write(root, name, needs=(), builds_with=()):
    folder = root / "packages" / name
    folder.mkdir(parents=True)
    (folder / "pyproject.toml").write_text(
        f'[build-system]\nrequires = {list(builds_with)!r}\n[project]\nname = "{name}"\nversion = "1.2.3"\ndependencies = {list(needs)!r}\n'
    )


@pytest.fixture
def tree(tmp_path):
    write(tmp_path, "torch", ["torch-nn~=1.2.0", "torch-core~=1.2.0"])
    write(tmp_path, "torch-nn", ["torch-core[numpy]~=1.2.0", "numpy>=1"])
    write(tmp_path, "torch-core", ["blas>=3"])
    write(tmp_path, "torch-jit", [], ["hatchling", "torch-core~=1.2.0"])
    return tmp_path


def test_each_package_comes_after_what_it_needs_to_run_and_to_build(tree):
    order = list(packages.read(tree))
    for first, then in [("torch-core", "torch-nn"), ("torch-core", "torch-jit"), ("torch-nn", "torch")]:
        assert order.index(first) < order.index(then)


def test_packages_in_a_circle_are_named(tree):
    write(tree, "torch-a", ["torch-b"])
    write(tree, "torch-b", ["torch-a"])
    with pytest.raises(ValueError, match="in a circle: torch-a -> torch-b -> torch-a"):
        packages.read(tree)


def test_the_closure_is_what_is_installed_beside_a_package(tree):
    among = packages.read(tree)
    assert packages.closure(among["torch-nn"], among) == {"torch-nn", "torch-core"}
    assert packages.closure(among["torch-jit"], among) == {"torch-jit"}


def test_dependents_reach_through_other_packages(tree):
    assert packages.dependents({"torch-core"}, packages.read(tree)) == {"torch-nn", "torch-jit", "torch"}


def test_what_others_provide_is_listed_once(tree):
    assert packages.outside(packages.read(tree)) == ["blas>=3", "numpy>=1"]


def test_a_pin_always_holds_the_version(tree):
    assert packages.read(tree)["torch"].pin == "torch==1.2.3"


def test_core_needs_nothing_of_ours_and_nothing_imports_upwards():
    among = packages.read()
    assert packages.closure(among["torch-core"], among) == {"torch-core"}
    assert packages.closure(among["torch-serialize"], among) == {"torch-serialize"}
    assert packages.closure(among["torch-autograd"], among) == {"torch-autograd", "torch-core"}
    # torch-onnx and torch-tc are extras: they need packages of the registry; torch-core-cuda needs nvcc
    extras = {"torch-onnx", "torch-tc", "torch-core-cuda"}
    assert packages.closure(among["torch"], among) | extras == set(among)


def test_parts_know_the_distributions_of_the_tree():
    text = (packages.ROOT / "packages/torch-core/src/torch/_parts.py").read_text()
    for package in packages.read().values():
        if package.part not in ("core", "stack"):
            assert f'"{package.module.removeprefix("torch.")}": "{package.name}"' in text


def test_pins_of_ours_are_compatible_releases_never_exact():
    for package in packages.read().values():
        for requirement in [*package.requirements, *package.build_requirements]:
            if packages.requirement_name(requirement).startswith("torch"):
                assert "~=" in requirement, f"{package.name} needs {requirement}"
