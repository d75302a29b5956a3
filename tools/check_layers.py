#!/usr/bin/env python3
"""Checks that the library is what its plan says: a room is a folder, a namespace, a CMake target and
a layer; torch and MPI stay where they belong; a name is defined once.

    python3 tools/check_layers.py [root of the repository]
"""

import dataclasses
import pathlib
import re
import sys

from cmake_targets import read_targets
from cpp_names import blocks, includes, tokens, types


@dataclasses.dataclass
class Room:
    name: str  # of the target, too: impart::NAME
    uses: set
    torch: bool = False
    folder: str = ""
    namespace: str = ""

    def __post_init__(self):
        self.folder = self.folder or f"impart/{self.name}"
        self.namespace = self.namespace or f"impart::{self.name}"


def room(name, uses, **more):
    return Room(name, set(uses.split()), **more)


# From the ground up: a room may use itself and those named, which stand above it.
ROOMS = [
    room("core", "", namespace="impart"),
    room("importance", "core"),
    room("placement", "core importance"),
    room("statistics", "core"),
    room("comm", "core"),
    room("data", "core"),
    room("store", "core placement comm data"),
    room("run", "core importance placement comm data store"),
    room("config", "core importance placement data store"),
    room("trained", "core data run config"),
    room("cost", "core importance placement comm data store run config"),
    room("study", "core importance placement statistics data run config"),
    room("results", "core importance placement statistics data run config study"),
    room("report", "core importance placement statistics data run config study results"),
    room("kernels", "core", folder="impart/models/kernels"),
    # The line of torch. cuda stands below it because only those below use it.
    room("cuda", "core importance"),
    room("tensors", "core cuda", torch=True),
    room("models", "core importance data config kernels cuda tensors", torch=True),
    room("feed", "core placement data store config cuda tensors models", torch=True),
    room("train", "core importance placement comm data store run config trained cuda tensors models "
         "feed", torch=True),
]
MPI_ROOMS = {"comm"}
# The header for users: names lifted out of the rooms, and nothing of its own.
DOOR = "impart/impart.h"

# Names that two rooms define on purpose, with the reason.
SHARED_NAMES = {}

SOURCES = {".h", ".cpp", ".cu"}
FULL_FOLDER = 48
OTHER_FOLDERS = ["python", "cli", "tests", "bench", "tools"]
TORCH_INCLUDE = re.compile(r"(torch|ATen|c10|caffe2)/")
MPI_INCLUDE = re.compile(r"(mpi|nccl)\.h")


class House:
    """The rooms as they lie in a folder."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.rooms = {room.name: room for room in ROOMS}
        self.files = {path.relative_to(self.root).as_posix(): path.read_text()
                      for folder in ("impart", "cli") for path in sorted((self.root / folder).rglob("*"))
                      if path.suffix in SOURCES}
        self.targets = {}
        for room in ROOMS:
            listing = self.root / room.folder / "CMakeLists.txt"
            if listing.exists():
                self.targets[room.name] = read_targets(listing.read_text())

    def room_of(self, path):
        """The room of a file, by the longest folder that fits; None outside of the rooms."""
        fitting = [room for room in ROOMS if path.startswith(room.folder + "/")]
        return max(fitting, key=lambda room: len(room.folder), default=None)

    def files_of(self, room):
        return [path for path in self.files if self.room_of(path) is room]


def check_table(house):
    """The table itself: rooms use only what stands above them, and torch does not leak upwards."""
    above = {}
    for room in ROOMS:
        for name in sorted(room.uses - set(above)):
            yield f"the table of rooms: {room.name} uses {name}, which does not stand above it"
        for name in sorted(room.uses & set(above)):
            if above[name].torch and not room.torch:
                yield f"the table of rooms: {room.name} is without torch, but uses {name}"
        above[room.name] = room


def check_folders(house):
    for room in ROOMS:
        if not (house.root / room.folder).is_dir():
            yield f"{room.folder}/: the room is not there"
    for path in house.files:
        if path.startswith("impart/") and path != DOOR and not house.room_of(path):
            yield f"{path}: is in no room"
    for top in ["impart", *OTHER_FOLDERS]:
        for folder in sorted(path for path in (house.root / top).rglob("*") if path.is_dir()):
            count = sum(path.is_file() and path.suffix != ".pyc" for path in folder.iterdir())
            if count > FULL_FOLDER:
                yield (f"{folder.relative_to(house.root)}/: {count} files, more than {FULL_FOLDER}; "
                       "make rooms in it")


def check_includes(house):
    for path, text in house.files.items():
        room = house.room_of(path)
        if not room:
            continue
        for line, included in includes(text):
            where = f"{path}:{line}"
            other = house.room_of(included)
            if other and other is not room and other.name not in room.uses:
                yield f"{where}: {room.name} must not include {other.name}"
            if included.startswith(("cli/", "tests/", "bench/")):
                yield f"{where}: the library must not include {included}"
            if TORCH_INCLUDE.match(included) and not room.torch:
                yield f"{where}: {room.name} is without torch, but includes {included}"
            if MPI_INCLUDE.match(included) and room.name not in MPI_ROOMS:
                yield f"{where}: {room.name} must not include MPI or NCCL"


def check_namespaces(house):
    for path, text in house.files.items():
        room = house.room_of(path)
        if path == DOOR and not all(block.is_empty_of_definitions() for block in blocks(text)):
            yield f"{path}: defines something; it may only lift names out of rooms"
        if not room:
            continue
        opened = False
        for block in blocks(text):
            if (block.namespace + "::").startswith(room.namespace + "::"):
                others = [r for r in ROOMS if r.namespace != "impart" and r is not room
                          and (block.namespace + "::").startswith(r.namespace + "::")]
                opened = True
                if not others or block.is_empty_of_definitions():
                    continue
            elif block.is_empty_of_definitions():
                continue
            yield (f"{path}:{block.line}: opens namespace {block.namespace or '(none)'}; "
                   f"{room.folder}/ is {room.namespace}")
        if not opened and tokens(text):  # a file of macros opens nothing
            yield f"{path}: does not open {room.namespace}"


def linked_rooms(house, name, seen=None):
    """All rooms that a room's target links to, directly or not."""
    seen = set() if seen is None else seen
    for target in house.targets.get(name, {}).values():
        for link in target.links:
            other = link.removeprefix("impart::")
            if link.startswith("impart::") and other in house.rooms and other not in seen:
                seen.add(other)
                linked_rooms(house, other, seen)
    return seen


def check_targets(house):
    for room in ROOMS:
        where = f"{room.folder}/CMakeLists.txt"
        targets = house.targets.get(room.name, {})
        if list(targets) != [room.name]:
            yield f"{where}: makes {', '.join(targets) or 'no library'}; the room is {room.name}"
            continue
        yield from check_links(house, room, targets[room.name], where)
        yield from check_sources(house, room, targets[room.name], where)


def check_links(house, room, target, where):
    for link in target.links:
        other = link.removeprefix("impart::").removeprefix("impart_")
        if other in house.rooms and other not in room.uses | {room.name}:
            yield f"{where}: {room.name} must not link to {other}"
        if re.search(r"torch", link, re.IGNORECASE) and not room.torch:
            yield f"{where}: {room.name} is without torch, but links to {link}"
        if link.startswith(("MPI::", "NCCL::")) and room.name not in MPI_ROOMS:
            yield f"{where}: {room.name} must not link to {link}"
    reached = linked_rooms(house, room.name) | {room.name}
    for path in house.files_of(room):
        for line, included in includes(house.files[path]):
            other = house.room_of(included)
            if other and other.name not in reached and other.name in room.uses:
                yield f"{path}:{line}: includes {other.name}, to which {where} does not link"


def check_sources(house, room, target, where):
    """A target has all files of its folder (impart_layer sees to it), and no others."""
    for source in target.added:
        yield f"{where}: {source} is given to the target; its sources are the files of its folder"
    for name in target.named:
        path = f"{room.folder}/{name}"
        if ".." in name or not (house.root / path).exists():
            yield f"{where}: {name} is not in the room's folder"
    inner = {other.folder.removeprefix(room.folder + "/") for other in ROOMS
             if other.folder.startswith(room.folder + "/")}
    for folder in sorted(inner - set(target.named)):
        yield f"{where}: {folder}/ is a room of its own; leave it out (WITHOUT)"


def check_names(house):
    """A name in one place: within a namespace for the linker's sake, over rooms for the reader's."""
    one_namespace, all_rooms = {}, {}
    for path, text in house.files.items():
        room = house.room_of(path)
        for type in types(text):
            where = f"{path}:{type.line}"
            if type.hidden:
                continue
            first = one_namespace.setdefault((type.namespace, type.name), where)
            if first.split(":")[0] != path:
                yield f"{where}: {type.namespace}::{type.name} is defined in {first}, too"
            elif room and path.endswith(".h") and type.name not in SHARED_NAMES:
                other, there = all_rooms.setdefault(type.name, (room, where))
                if other is not room:
                    yield (f"{where}: {type.name} is a type of {other.name}, too ({there}); "
                           "give one of them another name")
    # A name that is no longer shared must leave the list.
    rooms = {}
    for path, text in house.files.items():
        room = house.room_of(path)
        for type in types(text) if room and path.endswith(".h") else []:
            rooms.setdefault(type.name, set()).add(room.name)
    for name in SHARED_NAMES:
        if len(rooms.get(name, ())) < 2:
            yield f"tools/check_layers.py: {name} is no longer a type of two rooms; take it off the list"


def check_contributing(house):
    """The table of folders in CONTRIBUTING.md names every room and nothing that is not there."""
    named = re.findall(r"^\| `([\w/]+?)/?` \|", (house.root / "CONTRIBUTING.md").read_text(),
                       re.MULTILINE)
    for folder in named:
        if not (house.root / folder).is_dir():
            yield f"CONTRIBUTING.md: {folder}/ is not there"
    for folder in [*(room.folder for room in ROOMS), *OTHER_FOLDERS]:
        if folder not in named:
            yield f"CONTRIBUTING.md: the table of folders lacks {folder}/"


CHECKS = [check_table, check_folders, check_includes, check_namespaces, check_targets, check_names,
          check_contributing]


def complaints(root):
    house = House(root)
    return [complaint for check in CHECKS for complaint in check(house)]


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent
    found = complaints(root)
    for complaint in found:
        print(complaint)
    print(f"{len(found)} complaints" if found else f"{len(ROOMS)} rooms are in order")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
