from packages import ROOT

CORE = ROOT / "core" / "include" / "torch" / "core"
FAMILIES = sorted(path.stem for path in (CORE / "ops").glob("*.h"))


def included(path) -> list[str]:
    return [line.split('"')[1] for line in path.read_text().splitlines() if line.startswith("#include")]


def test_every_family_of_operators_is_in_the_umbrella_and_in_the_list_of_rows():
    assert included(CORE / "ops.h")[: len(FAMILIES)] == [f"torch/core/ops/{family}.h" for family in FAMILIES]
    assert sorted(included(CORE / "ops" / "all.def")[1:]) == [f"torch/core/ops/{family}.def" for family in FAMILIES]


def test_the_header_of_a_family_holds_its_rows():
    for family in FAMILIES:
        assert f"torch/core/ops/{family}.def" in included(CORE / "ops" / f"{family}.h")
