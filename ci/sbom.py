"""What a wheel consists of and needs, as CycloneDX 1.5: its files that are libraries, and its requirements."""

import datetime
import email.parser
import hashlib
import json
import os
import re
import uuid
import zipfile
from pathlib import Path

LICENCE = "BSD-3-Clause"


def purl(name: str, version: str | None = None) -> str:
    """The address of a distribution in the words of package-url.

    >>> purl("torch-core", "0.1.0")
    'pkg:pypi/torch-core@0.1.0'
    """
    return f"pkg:pypi/{name.lower()}" + (f"@{version}" if version else "")


def document(wheel: Path) -> dict:
    """The bill of materials of a wheel; the same wheel has the same one."""
    data = wheel.read_bytes()
    digest = hashlib.sha256(data).hexdigest()
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [n for n in archive.namelist() if re.fullmatch(r"[^/]+\.dist-info/METADATA", n)]
        about = email.parser.BytesHeaderParser().parsebytes(archive.read(name))
        libraries = [
            {
                "type": "library",
                "bom-ref": f"file:{entry}",
                "name": entry,
                "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(archive.read(entry)).hexdigest()}],
            }
            for entry in sorted(archive.namelist())
            if re.search(r"\.so(\.\d+)*$", entry)
        ]
    own = purl(about["Name"], about["Version"])
    needs = [r for r in about.get_all("Requires-Dist", []) if "extra ==" not in r]
    others = [
        {"type": "library", "bom-ref": purl(_name(r)), "name": _name(r), "purl": purl(_name(r)), "description": r}
        for r in sorted(needs)
    ]
    epoch = int(os.environ.get("SOURCE_DATE_EPOCH", 1577836800))
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, digest)}",
        "version": 1,
        "metadata": {
            "timestamp": datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc).isoformat(),
            "component": {
                "type": "library",
                "bom-ref": own,
                "name": about["Name"],
                "version": about["Version"],
                "purl": own,
                "licenses": [{"license": {"id": about["License-Expression"] or LICENCE}}],
                "hashes": [{"alg": "SHA-256", "content": digest}],
            },
        },
        "components": libraries + others,
        "dependencies": [{"ref": own, "dependsOn": [c["bom-ref"] for c in others]}],
    }


def _name(requirement: str) -> str:
    return re.match(r"[A-Za-z0-9._-]+", requirement)[0]


def write_all(files: Path, folder: Path, among: dict) -> None:
    """One for each wheel of ours."""
    folder.mkdir(parents=True)
    ours = {name.replace("-", "_") for name in among}
    for wheel in sorted(files.glob("*.whl")):
        if wheel.name.split("-")[0] in ours:
            (folder / f"{wheel.stem}.cdx.json").write_text(json.dumps(document(wheel), indent=1) + "\n")
