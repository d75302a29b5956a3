#!/usr/bin/env python3
"""MosaicML's own package and impart read each other's shards. Skipped where it is not installed.

    pip install mosaicml-streaming; python3 streaming_test.py path/to/impart
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

try:
    import numpy
    from streaming import MDSWriter, StreamingDataset
except ImportError as missing:
    print(f"skipped: mosaicml-streaming is not installed ({missing})")
    sys.exit(77)

from shard_files import JPEG

IMPART = os.path.abspath(sys.argv.pop(1))


class StreamingTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="impart-test-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def data(self, *args):
        return subprocess.run([IMPART, "data", *map(str, args)], cwd=self.folder, text=True,
                              capture_output=True, check=True).stdout

    def read_with_streaming(self, folder, cache):
        """Through its own cache folder, so that hashes are checked and shards uncompressed."""
        return StreamingDataset(remote=str(self.folder / folder), local=str(self.folder / cache),
                                shuffle=False, batch_size=1, validate_hash="xxh64")

    def test_streaming_reads_raw_images(self):
        self.data("pack", "shapes", "plain", "--shard-bytes", "8MiB")
        self.data("pack", "shapes", "small", "--compression", "zstd:5")
        plain = self.read_with_streaming("plain/train", "cache-plain")
        small = self.read_with_streaming("small/train", "cache-small")
        self.assertEqual((len(plain), len(small)), (10000, 10000))
        labels = numpy.load(self.folder / "plain/train/labels.npy")
        for i in [0, 1, 2600, 5000, 9999]:
            self.assertEqual(plain[i]["image"].shape, (3, 32, 32))
            self.assertTrue((plain[i]["image"] == small[i]["image"]).all())
            self.assertEqual(plain[i]["label"], labels[i])

    def test_streaming_reads_photographs(self):
        for split in ["train", "test"]:
            for k, kind in enumerate(["cat", "dog"]):
                (self.folder / "photos" / split / kind).mkdir(parents=True)
                for i in range(3):
                    (self.folder / "photos" / split / kind / f"{i}.jpg").write_bytes(JPEG)
        self.data("pack", "photos", "packed")
        found = self.read_with_streaming("packed/train", "cache")
        self.assertEqual([found[i]["label"] for i in range(6)], [0, 0, 0, 1, 1, 1])
        self.assertEqual(found[0]["image"].size, (16, 16))

    def test_equal_samples_make_equal_files(self):
        self.data("pack", "shapes", "ours", "--shard-bytes", 8 << 20, "--hashes", "sha1,xxh64,xxh3_64")
        ours = self.read_with_streaming("ours/train", "cache")
        with MDSWriter(out=str(self.folder / "theirs"), size_limit=8 << 20,
                       columns={"image": "ndarray:uint8:3,32,32", "label": "int"},
                       hashes=["sha1", "xxh3_64", "xxh64"]) as writer:
            for i in range(len(ours)):
                writer.write({"image": ours[i]["image"], "label": int(ours[i]["label"])})
        names = sorted(os.listdir(self.folder / "theirs"))
        self.assertIn("shard.00003.mds", names)
        for name in names:
            self.assertEqual((self.folder / "theirs" / name).read_bytes(),
                             (self.folder / "ours/train" / name).read_bytes(), name)

    def test_impart_reads_every_encoding_it_should(self):
        columns = {"a": "ndarray", "b": "ndarray:uint8", "c": "str", "d": "int8", "e": "float64",
                   "f": "json", "g": "bytes", "h": "uint32", "i": "pkl", "image": "png",
                   "label": "int32"}
        from PIL import Image
        for compression in [None, "zstd", "zstd:12"]:
            out = self.folder / f"theirs-{compression}"
            with MDSWriter(out=str(out), columns=columns, compression=compression, size_limit=4000,
                           hashes=["md5", "sha1", "sha256", "xxh3_64", "xxh64"]) as writer:
                for i in range(30):
                    writer.write({
                        "a": numpy.arange(i + 1, dtype=numpy.float32), "c": "text" * i, "d": -i,
                        "b": numpy.zeros((2, 300), numpy.uint8), "e": i / 3, "f": {"i": i},
                        "g": b"\0" * i, "h": i, "i": {1, 2}, "label": i % 4,
                        "image": Image.new("RGB", (10 + i, 20), (i, 2 * i, 3 * i))})
            self.assertIn("all is well", self.data("verify", out, "--decode"))
            facts = json.loads(self.data("info", out, "--json"))["sets"][0]
            self.assertEqual((facts["examples"], facts["class_counts"]), (30, [8, 8, 7, 7]))

    def test_impart_reads_arrays_of_any_layout(self):
        for name, encoding, shape in [("fixed", "ndarray:uint8:5,6,3", (5, 6, 3)),
                                      ("typed", "ndarray:uint8", (3, 5, 6)),
                                      ("open", "ndarray", (5, 6))]:
            with MDSWriter(out=str(self.folder / name), columns={"x": encoding, "y": "int"}) as writer:
                for i in range(4):
                    writer.write({"x": numpy.full(shape, i, numpy.uint8), "y": i})
            facts = json.loads(self.data("info", name, "--json"))["sets"][0]
            self.assertEqual(facts["image"], [1 if len(shape) == 2 else 3, 5, 6])
            self.assertIn("all is well", self.data("verify", name, "--decode"))


if __name__ == "__main__":
    unittest.main()
