import datetime
import subprocess

import pytest
import release

import packages

DAY = datetime.date(2026, 1, 2)


@pytest.fixture
def package(tmp_path):
    (tmp_path / "changes").mkdir()
    (tmp_path / "changes/b.fixed.md").write_text("`step` keeps the dtype.\n")
    (tmp_path / "changes/a.added.md").write_text("`Adam` is there.\n")
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\nNewest first.\n\n## 0.1.0 (2026-01-01)\n\n- Begun.\n")
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "torch-optim"\nversion = "0.1.0"\n')
    return packages.Package(tmp_path)


def test_fragments_become_an_entry_by_kind(package):
    text = release.entry(package.folder, "0.1.1", DAY)
    assert (
        text == "## 0.1.1 (2026-01-02)\n\n### Added\n\n- `Adam` is there.\n\n### Fixed\n\n- `step` keeps the dtype.\n"
    )


def test_a_release_puts_the_entry_on_top_and_uses_the_fragments_up(package):
    release.write(package, "0.1.1", release.entry(package.folder, "0.1.1", DAY))
    text = (package.folder / "CHANGELOG.md").read_text()
    assert text.index("Newest first.") < text.index("## 0.1.1") < text.index("## 0.1.0")
    assert list((package.folder / "changes").iterdir()) == []
    assert 'version = "0.1.1"' in (package.folder / "pyproject.toml").read_text()


def test_what_was_written_by_hand_for_a_version_stands_before_the_fragments_of_its_kind(package):
    changelog = package.folder / "CHANGELOG.md"
    by_hand = "\n## 0.1.1 (unreleased)\n\nAll new.\n\n### Faster\n\n- `add`.\n\n### Added\n\n- `SGD`, and all.\n"
    changelog.write_text(changelog.read_text().replace("\n## 0.1.0", by_hand + "\n## 0.1.0"))
    text = release.entry(package.folder, "0.1.1", DAY)
    assert text == (
        "## 0.1.1 (2026-01-02)\n\nAll new.\n\n### Added\n\n- `SGD`, and all.\n- `Adam` is there.\n\n"
        "### Fixed\n\n- `step` keeps the dtype.\n\n### Faster\n\n- `add`.\n"
    )
    release.write(package, "0.1.1", text)
    assert "unreleased" not in changelog.read_text() and changelog.read_text().count("## 0.1.1") == 1
    assert text + "\n## 0.1.0 (2026-01-01)" in changelog.read_text()


def test_torch_itself_is_called_by_its_own_number_in_its_changelog(package):
    changelog = package.folder / "CHANGELOG.md"
    changelog.write_text("# Changelog\n\n## 0.1.0 (unreleased)\n\n### Added\n\n- Pins.\n")
    text = release.entry(package.folder, "2.14.0+parts.0.1.0", DAY)
    assert text.startswith("## 2.14.0+parts.0.1.0 (2026-01-02)\n\n### Added\n\n- Pins.\n- `Adam`")
    release.write(package, "2.14.0+parts.0.1.0", text)
    assert changelog.read_text() == "# Changelog\n\n" + text


def test_a_first_release_says_by_hand_what_the_package_is_and_nothing_of_what_changed_before_it(package):
    changelog = package.folder / "CHANGELOG.md"
    changelog.write_text("# Changelog\n\n## 0.1.0 (unreleased)\n\nThe first release.\n\n### Added\n\n- `SGD`.\n")
    text = release.entry(package.folder, "0.1.0", DAY)
    assert text == "## 0.1.0 (2026-01-02)\n\nThe first release.\n\n### Added\n\n- `SGD`.\n- `Adam` is there.\n"
    release.write(package, "0.1.0", text)
    assert list((package.folder / "changes").iterdir()) == []
    changelog.write_text("# Changelog\n")
    with pytest.raises(ValueError, match=r"has no release yet: say in CHANGELOG.md, under '## 0.1.0 \(unreleased\)'"):
        release.entry(package.folder, "0.1.0", DAY)


def test_all_that_look_for_the_core_are_told_its_version():
    command = ["git", "grep", "-l", "find_package(TorchCore", "--", "*CMakeLists.txt"]
    found = subprocess.run(command, cwd=packages.ROOT, check=True, capture_output=True, text=True).stdout.split()
    assert sorted(found) == release.FINDERS


def test_a_release_without_fragments_is_refused(package):
    for fragment in (package.folder / "changes").iterdir():
        fragment.unlink()
    with pytest.raises(ValueError, match="has no fragments"):
        release.entry(package.folder, "0.1.1", DAY)


def test_all_are_those_whose_version_has_no_tag(tmp_path):
    among = packages.read()
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org"]
    for command in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "begun"], ["tag", "torch-nn-v0.0.9"]):
        subprocess.run([*git, *command], cwd=tmp_path, check=True)
    assert release.untagged(among, tmp_path) == list(among.values())
    for name in ("torch-nn", "torch"):
        subprocess.run(["git", "tag", release.tag(among[name], among[name].version)], cwd=tmp_path, check=True)
    assert {p.name for p in release.untagged(among, tmp_path)} == set(among) - {"torch-nn", "torch"}


def test_a_minor_version_moves_every_version_and_pin(tmp_path):
    texts = {
        "torch-core": 'version = "0.1.2"\ndependencies = ["numpy>=1.26"]',
        "torch-nn": 'version = "0.1.0"\ndependencies = ["torch-core[numpy]~=0.1.1", "torchvision~=0.1.1"]',
        "torch": 'version = "2.14.0+parts.0.1.0"\ndependencies = ["torch-nn~=0.1.0"]',
    }
    for name, text in texts.items():
        folder = tmp_path / "packages" / name
        folder.mkdir(parents=True)
        (folder / "pyproject.toml").write_text(f'[build-system]\nrequires = []\n[project]\nname = "{name}"\n{text}\n')
        (folder / "CHANGELOG.md").write_text("# Changelog\n\n## 0.1.0 (2026-01-01)\n\n- Begun.\n")
    (tmp_path / "packages/torch-nn/changes").mkdir()
    (tmp_path / "packages/torch-nn/changes/a.added.md").write_text("A layer.\n")
    (tmp_path / "README.md").write_text("torch-core ~= 0.1.0\n")
    release.move(packages.read(tmp_path), "0.2.0", [tmp_path / "README.md"])
    moved = packages.read(tmp_path)
    assert {name: package.version for name, package in moved.items()} == {
        "torch-core": "0.2.0",
        "torch-nn": "0.2.0",
        "torch": "2.14.0+parts.0.2.0",
    }
    assert moved["torch-nn"].requirements == ["torch-core[numpy]~=0.2.0", "torchvision~=0.1.1"]
    assert (tmp_path / "README.md").read_text() == "torch-core ~= 0.2.0\n"
    assert release.entry(moved["torch-nn"].folder, "0.2.0", DAY).endswith("- A layer.\n")
    assert (moved["torch"].folder / "changes/minor.changed.md").read_text() == "Pins the parts of 0.2.\n"


@pytest.mark.parametrize("version", ["0.1.0", "0.2.1", "2", "0.0.0"])
def test_what_is_no_new_minor_version_is_refused(version):
    with pytest.raises(SystemExit, match=f"above 0.*{version}"):
        release.make_minor(version)
