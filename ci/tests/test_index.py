import hashlib
import json
import shutil
import subprocess
import sys
import tarfile
import zipfile

import index
import pytest
import sbom

import packages


def wheel(folder, name, version, tag="py3-none-any", requires=(), content="x = 1\n"):
    file = folder / f"{name}-{version}-{tag}.whl"
    about = f"Metadata-Version: 2.4\nName: {name.replace('_', '-')}\nVersion: {version}\nRequires-Python: >=3.10\n"
    about += "".join(f"Requires-Dist: {r}\n" for r in requires)
    files = {
        f"{name}_module.py": content,
        f"{name}-{version}.dist-info/METADATA": about + "\n",
        f"{name}-{version}.dist-info/WHEEL": f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n",
    }
    record = f"{name}-{version}.dist-info/RECORD"
    with zipfile.ZipFile(file, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
        archive.writestr(record, "".join(f"{path},,\n" for path in [*files, record]))
    return file


def sdist(folder, name, version):
    with tarfile.open(folder / f"{name}-{version}.tar.gz", "w:gz") as archive:
        about = folder / "PKG-INFO"
        about.write_text(f"Metadata-Version: 2.4\nName: {name}\nVersion: {version}\nRequires-Python: >=3.10\n\n")
        archive.add(about, f"{name}-{version}/PKG-INFO")
        about.unlink()


@pytest.fixture
def house(tmp_path):
    """A wheelhouse with a wheel of each of our packages, an older one, and one of another project."""
    folder = tmp_path / "house"
    (folder / "sdist").mkdir(parents=True)
    for package in packages.read().values():
        needs = [r for r in package.requirements if packages.requirement_name(r) in packages.read()]
        wheel(folder, package.name.replace("-", "_"), package.version, requires=[*needs, 'numpy>=1; extra == "numpy"'])
        sdist(folder / "sdist", package.name.replace("-", "_"), package.version)
    wheel(folder, "torch_nn", "0.0.9")
    wheel(folder, "another_project", "3.1")
    return folder


def test_pip_installs_from_the_index_and_from_nowhere_else(house, tmp_path):
    out = tmp_path / "index"
    index.make(house, out)
    target = tmp_path / "site"
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "-q",
        "--isolated",
        "--disable-pip-version-check",
        "--target",
        target,
    ]
    subprocess.run([*command, "--index-url", f"file://{out}/simple", "torch-optim"], check=True)
    assert {p.name for p in target.glob("*_module.py")} == {
        "torch_core_module.py",
        "torch_autograd_module.py",
        "torch_optim_module.py",
    }
    broken = subprocess.run([*command, "--index-url", f"file://{out}/simple", "numpy"], capture_output=True, text=True)
    assert "No matching distribution found for numpy" in broken.stderr


def test_a_file_that_was_changed_is_refused(house, tmp_path):
    out = tmp_path / "index"
    index.make(house, out)
    (changed,) = (out / "files").glob("torch_core-*.whl")
    wheel(out / "files", "torch_core", packages.read()["torch-core"].version, content="x = 2\n")
    assert changed.exists()
    command = [sys.executable, "-m", "pip", "install", "-q", "--isolated", "--target", tmp_path / "site"]
    done = subprocess.run(
        [*command, "--index-url", f"file://{out}/simple", "torch-core"], capture_output=True, text=True
    )
    assert done.returncode
    assert "DO NOT MATCH THE HASHES" in done.stderr


def test_sums_name_every_file_and_earlier_releases_are_left_out(house, tmp_path):
    out = tmp_path / "index"
    index.make(house, out)
    sums = dict(reversed(line.split("  ")) for line in (out / "SHA256SUMS").read_text().splitlines())
    files = {p.relative_to(out).as_posix() for p in out.rglob("*") if p.is_file()} - {"SHA256SUMS"}
    assert set(sums) == files
    assert all(hashlib.sha256((out / name).read_bytes()).hexdigest() == digest for name, digest in sums.items())
    assert not any("torch_nn-0.0.9" in name for name in files)
    assert "files/another_project-3.1-py3-none-any.whl" in files
    assert f"files/torch_nn-{packages.read()['torch-nn'].version}.tar.gz" in files


def test_the_same_wheelhouse_makes_the_same_index(house, tmp_path):
    for name in "ab":
        index.make(house, tmp_path / name)
    assert (tmp_path / "a" / "SHA256SUMS").read_bytes() == (tmp_path / "b" / "SHA256SUMS").read_bytes()


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="needs ssh-keygen")
def test_a_signature_is_checked_with_ssh_keygen(house, tmp_path):
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    out = tmp_path / "index"
    index.make(house, out, key=str(key))
    (tmp_path / "signers").write_text("release " + " ".join(key.with_suffix(".pub").read_text().split()[:2]) + "\n")
    command = ["ssh-keygen", "-Y", "verify", "-f", tmp_path / "signers", "-I", "release", "-n", index.NAMESPACE]
    command += ["-s", out / "SHA256SUMS.sig"]
    sums = (out / "SHA256SUMS").read_bytes()
    assert subprocess.run(command, input=sums, capture_output=True).returncode == 0
    assert subprocess.run(command, input=sums + b"more", capture_output=True).returncode != 0


def test_a_wheelhouse_that_lacks_a_package_is_refused(house, tmp_path):
    next(house.glob("torch_legacy-*.whl")).unlink()
    with pytest.raises(SystemExit, match="the wheelhouse lacks torch-legacy"):
        index.make(house, tmp_path / "index")


def test_a_package_that_cannot_be_compiled_here_is_left_out(house, tmp_path, monkeypatch, capsys):
    next(house.glob("torch_core_cuda-*.whl")).unlink()
    monkeypatch.setattr(shutil, "which", lambda name: None)
    index.make(house, tmp_path / "index")
    assert "torch-core-cuda left out: there is no nvcc" in capsys.readouterr().out
    assert (tmp_path / "index" / "simple" / "torch-nn" / "index.html").exists()
    assert not list((tmp_path / "index" / "files").glob("torch_core_cuda-*.whl"))


def test_a_bill_of_materials_names_libraries_and_requirements(house, tmp_path):
    file = house / f"torch_nn-{packages.read()['torch-nn'].version}-py3-none-any.whl"
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr("torch/nn/libx.so.1", b"binary")
    found = sbom.document(file)
    assert json.loads(json.dumps(found)) == sbom.document(file)
    assert (found["bomFormat"], found["specVersion"]) == ("CycloneDX", "1.5")
    names = [c["name"] for c in found["components"]]
    assert names == ["torch/nn/libx.so.1", "torch-autograd", "torch-core"]
    assert found["components"][0]["hashes"][0]["content"] == hashlib.sha256(b"binary").hexdigest()
    assert found["dependencies"][0]["dependsOn"] == ["pkg:pypi/torch-autograd", "pkg:pypi/torch-core"]
