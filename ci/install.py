"""Installs packages of ours into the running environment, from the wheelhouse, beside nothing but what they need.

python ci/install.py torch-nn
python ci/install.py "torch-serialize[core]"
"""

import sys

import packages


def main() -> None:
    among = packages.read()
    wanted = []
    for argument in sys.argv[1:]:
        name = packages.requirement_name(argument)
        if name not in among:
            sys.exit(f"install: no package {name!r} here; there are {', '.join(among)}")
        wanted.append(f"{argument}=={among[name].version}")
    if not wanted:
        sys.exit(__doc__)
    packages.uninstall_all()  # a part left over from an earlier run would hide a missing requirement
    packages.pip_without_index(sys.executable, "install", *wanted)


if __name__ == "__main__":
    main()
