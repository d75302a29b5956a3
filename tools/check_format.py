#!/usr/bin/env python3
"""Checks every C++ source with clang-format; `--fix` formats them."""

import pathlib
import shutil
import subprocess
import sys

FOLDERS = ["impart", "cli", "tests", "bench", "examples", "python"]


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    if shutil.which("clang-format") is None:
        print("clang-format is not installed (Debian: clang-format)")
        return 1
    sources = [str(p) for folder in FOLDERS for p in sorted((root / folder).rglob("*"))
               if p.suffix in {".h", ".cpp", ".cu"}]
    mode = ["-i"] if "--fix" in sys.argv[1:] else ["--dry-run", "--Werror"]
    return subprocess.run(["clang-format", *mode, *sources], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
