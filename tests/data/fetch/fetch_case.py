"""What the tests of `impart data fetch` share: tiny archives in the official layout, and calls."""

import gzip
import hashlib
import io
import os
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest

from file_server import FileServer

PROGRAM = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else shutil.which("impart")
os.environ["NO_PROXY"] = "127.0.0.1"
CIFAR = "cifar-10-binary.tar.gz"
PART = f".{CIFAR}.part"
BATCHES = [f"data_batch_{i}.bin" for i in range(1, 6)] + ["test_batch.bin"]


def cifar_records(seed, count, labels=1):
    draw = random.Random(seed)
    return b"".join(bytes([i % 10] * labels) + draw.randbytes(3072) for i in range(count))


def packed(files, folder):
    """A .tar.gz with a folder of its own, as the official ones are."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, data in files.items():
            info = tarfile.TarInfo(f"{folder}/{name}")
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


CIFAR10_FILES = {name: cifar_records(name, 4) for name in BATCHES}
CIFAR10_FILES["batches.meta.txt"] = b"".join(b"class%d\n" % i for i in range(10))
CIFAR10 = {CIFAR: packed({**CIFAR10_FILES, "readme.html": b"read me"}, "cifar-10-batches-bin")}
CIFAR100_FILES = {
    "train.bin": cifar_records("train", 8, 2),
    "test.bin": cifar_records("test", 4, 2),
    "fine_label_names.txt": b"fine\n" * 100,
    "coarse_label_names.txt": b"coarse\n" * 20,
}
CIFAR100 = {"cifar-100-binary.tar.gz": packed(CIFAR100_FILES, "cifar-100-binary")}


def fashion_files():
    draw = random.Random(5)
    files = {}
    for prefix, count in [("train", 40), ("t10k", 10)]:
        images = struct.pack(">IIII", 0x803, count, 28, 28) + draw.randbytes(count * 784)
        labels = struct.pack(">II", 0x801, count) + bytes(i % 10 for i in range(count))
        files[f"{prefix}-images-idx3-ubyte.gz"] = gzip.compress(images)
        files[f"{prefix}-labels-idx1-ubyte.gz"] = gzip.compress(labels)
    return files


class FetchCase(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="impart-fetch-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.dest = self.folder / "dest"

    def serve(self, files, **options):
        server = FileServer(files, **options)
        self.addCleanup(server.close)
        self.write_sums(files)
        return server

    def write_sums(self, files):
        lines = [f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in files.items()]
        (self.folder / "sums").write_text("".join(lines))

    def arguments(self, name, url, *more):
        return [PROGRAM, "data", "fetch", name, "dest", "--from", url, "--sums", "sums", *more]

    def start(self, name, url, *more, **options):
        return subprocess.Popen(self.arguments(name, url, *more), cwd=self.folder, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)

    def fetch(self, name, url, *more, **options):
        return subprocess.run(self.arguments(name, url, *more), cwd=self.folder, text=True,
                              capture_output=True, check=False, **options)

    def succeed(self, *arguments, **options):
        done = self.fetch(*arguments, **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def fail_with(self, code, messages, *arguments, **options):
        done = self.fetch(*arguments, **options)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(done.stdout, "")
        for message in [messages] if isinstance(messages, str) else messages:
            self.assertIn(message, done.stderr)

    def visible(self):
        return {path.name: path.read_bytes() for path in self.dest.iterdir()
                if not path.name.startswith(".")}

    def check_cifar10(self):
        """Exactly the files of the loader, and no part left over."""
        self.assertEqual(self.visible(), CIFAR10_FILES)
        hidden = [path.name for path in self.dest.glob(".*")]
        self.assertEqual(hidden, [".fetched-cifar10.json"])

    def part_bytes(self):
        return (self.dest / PART).read_bytes() if (self.dest / PART).exists() else b""

    def wait_for_part(self, least):
        limit = time.time() + 20
        while len(self.part_bytes()) < least and time.time() < limit:
            time.sleep(0.005)
        self.assertGreaterEqual(len(self.part_bytes()), least)
