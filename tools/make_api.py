#!/usr/bin/env python3
"""Makes the API page of the installed headers: make_api.py DOXYGEN FOLDER

Fails on every warning of Doxygen's, and on every type that does not say what it is. Members that
their name explains need no words.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def public_headers():
    text = (ROOT / "cmake" / "ImpartHeaders.cmake").read_text()
    return re.findall(r"^  (impart/\S+\.h)", text, re.M)


def warnings(doxygen, folder, **settings):
    """What Doxygen complains of when it makes its pages with these settings."""
    settings = {"INPUT": " ".join(["docs/api.md", *public_headers()]), "OUTPUT_DIRECTORY": folder,
                **settings}
    text = (ROOT / "docs" / "Doxyfile").read_text()
    text += "".join(f"{name} = {value}\n" for name, value in settings.items())
    done = subprocess.run([doxygen, "-"], input=text, text=True, cwd=ROOT, check=False,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    found = [line.replace(f"{ROOT}/", "") for line in done.stderr.splitlines()]
    return found or ([f"doxygen returned {done.returncode}"] if done.returncode else [])


def main():
    doxygen, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    found = warnings(doxygen, folder)
    found += [line for line in warnings(doxygen, folder, EXTRACT_ALL="NO", GENERATE_HTML="NO")
              if "Compound" in line]
    for line in found:
        print(line)
    print(f"{len(found)} warnings" if found else f"{folder}/html/index.html")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
