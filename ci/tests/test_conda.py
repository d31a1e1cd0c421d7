import conda
import packages


def test_recipes_are_what_the_packages_say():
    assert all(file.read_text() == text for file, text in conda.files().items())


def test_a_recipe_pins_and_builds_as_the_package_does():
    among = packages.read()
    text = conda.recipe(among["torch-autograd"])
    (pin,) = [one for one in among["torch-autograd"].requirements if one.startswith("torch-core")]
    lowest = pin.partition("~=")[2]
    major, minor, _ = lowest.split(".")
    assert f"    - torch-core >={lowest},<{major}.{int(minor) + 1}\n" in text
    assert "compiler('cxx')" in text and "noarch" not in text
    assert "  noarch: python\n" in conda.recipe(among["torch-nn"])


def test_what_dockerfiles_and_pages_name_exists():
    for file in sorted((packages.ROOT / "docker").glob("*.Dockerfile")):
        text = file.read_text()
        assert f"docker/{file.name}" in text
        for word in text.split():
            if word.startswith("ci/") and word.endswith(".py"):
                assert (packages.ROOT / word).exists(), word
            if word.startswith("./packages/"):
                assert (packages.ROOT / word / "pyproject.toml").exists(), word


def test_the_image_with_cuda_has_all_that_torch_asks_for():
    among = packages.read()
    text = (packages.ROOT / "docker/cuda.Dockerfile").read_text()
    needed = {
        name
        for name in among
        if any(one.startswith(f"{name}~") for one in among["torch"].settings["project"]["dependencies"])
    }
    assert needed and all(f"./packages/{name} " in text for name in needed)
