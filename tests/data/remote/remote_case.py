"""What the tests of data on servers share: small data sets, servers, and calls of the command."""

import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from object_server import ObjectServer  # noqa: E402

IMPART = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else shutil.which("impart")
CLEAN = {key: value for key, value in os.environ.items()
         if not key.startswith("AWS_") and key not in ["CURL_CA_BUNDLE", "SSL_CERT_FILE"]}


def png(side, seed):
    """A grey picture of noise."""
    rows = b"".join(b"\0" + bytes((seed * 7919 + 31 * x * x + 17 * y * x + y) % 256 for x in range(side))
                    for y in range(side))

    def chunk(name, data):
        packed = name + data
        return struct.pack(">I", len(data)) + packed + struct.pack(">I", zlib.crc32(packed))

    head = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows))
            + chunk(b"IEND", b""))


def write_photos(folder, count=8, side=12):
    """Two classes, one of whose names needs escaping in a URL."""
    for part, number in [("train", count), ("val", max(count // 2, 1))]:
        for label, name in enumerate(["a cat+", "dog"]):
            place = folder / part / name
            place.mkdir(parents=True)
            for i in range(number):
                (place / f"{i:03}.png").write_bytes(png(side, 100 * label + i))


class RemoteCase(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="impart-remote-"))
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / "home").mkdir()

    def serve(self, folder, **options):
        server = ObjectServer(pathlib.Path(folder), **options)
        self.addCleanup(server.close)
        return server

    def call(self, *arguments, server=None, **variables):
        environment = {**CLEAN, "HOME": str(self.folder / "home"), **(server.environment() if server else {})}
        environment.update(variables)
        return subprocess.run([IMPART, *map(str, arguments)], cwd=self.folder, text=True, check=False,
                              capture_output=True, env=environment)

    def succeed(self, *arguments, **options):
        done = self.call(*arguments, **options)
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        return done.stdout

    def fail_with(self, code, message, *arguments, **options):
        done = self.call(*arguments, **options)
        self.assertEqual(done.returncode, code, done.stderr + done.stdout)
        self.assertIn(message, done.stderr + done.stdout)
        return done.stderr + done.stdout

    def make_photos(self, **options):
        """photos/: class folders with an index for a server."""
        write_photos(self.folder / "photos", **options)
        self.succeed("data", "index", "photos")
        return self.folder / "photos"

    def make_shards(self, *more, **options):
        """shards/: the same as several MDS shards."""
        write_photos(self.folder / "to-pack", **options)
        self.succeed("data", "pack", "to-pack", "shards", "--shard-bytes", "2000", *more)
        self.succeed("data", "index", "shards")
        return self.folder / "shards"
