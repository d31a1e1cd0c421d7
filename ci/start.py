"""Builds the stack, installs it into .venv and runs a program there.

python3 ci/start.py examples/mnist/main.py --epochs 3
.venv/bin/python examples/mnist/main.py        # afterwards
"""

import os
import sys

import bootstrap


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    python = bootstrap.stack(bootstrap.ROOT / "examples" / "requirements.txt")
    sys.stdout.flush()
    os.execv(python, [str(python), *sys.argv[1:]])


if __name__ == "__main__":
    main()
