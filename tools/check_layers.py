#!/usr/bin/env python3
"""Checks that includes point only to lower layers, and that torch and MPI stay where they belong."""

import pathlib
import re
import sys

# A layer may include itself and these.
ALLOWED = {
    "core": set(),
    "importance": {"core"},
    "partition": {"core"},
    "comm": {"core"},
    "cuda": {"core"},
    "data": {"core", "cuda"},
    "store": {"core", "partition", "comm", "data"},
    "models": {"core", "cuda"},
    "train": {"core", "importance", "partition", "comm", "cuda", "data", "store",
              "models"},
    "study": {"core", "importance", "partition", "train"},
    "report": {"core", "importance", "partition", "train", "study"},
}
TORCH_LAYERS = {"cuda", "data", "models", "train"}
MPI_LAYERS = {"comm"}
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')


def complaints(root):
    for path in sorted((root / "impart").rglob("*")):
        if path.suffix not in {".h", ".cpp", ".cu"}:
            continue
        layer = path.relative_to(root / "impart").parts[0]
        if layer not in ALLOWED:
            yield f"{path.relative_to(root)}: unknown layer '{layer}'"
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            included, where = match[1], f"{path.relative_to(root)}:{number}"
            target = re.match(r"impart/(\w+)/", included)
            if target and target[1] != layer and target[1] not in ALLOWED[layer]:
                yield f"{where}: {layer} must not include {target[1]}"
            if included.startswith(("cli/", "tests/", "bench/")):
                yield f"{where}: the library must not include {included}"
            if re.match(r"(torch|ATen|c10)/", included) and layer not in TORCH_LAYERS:
                yield f"{where}: {layer} must not include torch"
            if re.match(r"(mpi|nccl)\.h", included) and layer not in MPI_LAYERS:
                yield f"{where}: {layer} must not include MPI or NCCL"


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    found = list(complaints(root))
    for complaint in found:
        print(complaint)
    print(f"{len(found)} includes in the wrong direction" if found else "all includes are allowed")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
