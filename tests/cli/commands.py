"""Starts the command as a user would, for the tests of this folder."""

import os
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

IMPART = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else shutil.which("impart")


def npy(kind, values):
    """The bytes of a one-dimensional .npy file; kind is a struct letter."""
    descr = {"f": "<f4", "d": "<f8", "I": "<u4", "q": "<i8"}[kind]
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': ({len(values)},), }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return (b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode()
            + struct.pack(f"<{len(values)}{kind}", *values))


def without_progress(text):
    """What is said on stderr; on a slow machine also how far it is."""
    return "".join(line for line in text.splitlines(True) if not line.startswith("opening "))


class CommandTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="impart-test-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def write(self, name, content):
        data = content if isinstance(content, bytes) else content.encode()
        (self.folder / name).write_bytes(data)
        return name

    def impart(self, *args):
        return subprocess.run([IMPART, *map(str, args)], cwd=self.folder, text=True,
                              capture_output=True, check=False)

    def succeed(self, *args):
        done = self.impart(*args)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(without_progress(done.stderr), "")
        return done.stdout

    def fail_with(self, code, message, *args):
        """One line on stderr that contains the message, that exit code, and no new file."""
        before = sorted(os.listdir(self.folder))
        done = self.impart(*args)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertIn(message, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertEqual(sorted(os.listdir(self.folder)), before)

    def scores(self, count=100, name="scores.csv"):
        ids = list(range(count))
        random.Random(1).shuffle(ids)
        values = [random.Random(i).expovariate(1) for i in range(count)]
        self.write(name, "id,importance\n" + "".join(f"{i},{values[i]!r}\n" for i in ids))
        return values

    def owners(self, name="owners.csv"):
        lines = (self.folder / name).read_text().splitlines()
        self.assertEqual(lines[0], "id,worker")
        pairs = [tuple(map(int, line.split(","))) for line in lines[1:]]
        self.assertEqual([i for i, _ in pairs], list(range(len(pairs))))
        return [worker for _, worker in pairs]
