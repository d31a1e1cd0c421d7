"""Builds the documentation site: one page for each module and operator, concepts, tutorials, with search.

python3 ci/docs.py                    # into build/site/html
python3 ci/docs.py --out FOLDER
python3 ci/docs.py --serve            # and shows it on this machine
python3 ci/docs.py --here             # with the running interpreter, which has torch and Sphinx
"""

import argparse
import functools
import http.server
import subprocess
import sys
from pathlib import Path

import bootstrap
from bootstrap import ROOT

BUILT = ROOT / "build" / "site" / "html"


def serve(folder: Path, port: int) -> None:
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", port), handler) as server:
        print(f"http://127.0.0.1:{server.server_port}/ (Ctrl-C ends it)", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=BUILT, metavar="DIR", help="where the pages go")
    parser.add_argument("--serve", action="store_true", help="show the pages on this machine afterwards")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--here", action="store_true", help="build with the running interpreter")
    options = parser.parse_args()
    out = options.out.resolve()
    if options.here:
        from website import build

        build.build(out)
    else:
        python = bootstrap.tools()
        bootstrap.wheels(python)
        command = [python, "-m", "tox", "run", "-q", "-e", "site", "--", "--out", str(out)]
        if code := subprocess.run(command, cwd=ROOT, env=bootstrap.environment()).returncode:
            sys.exit(code)
    if options.serve:
        serve(out, options.port)


if __name__ == "__main__":
    main()
