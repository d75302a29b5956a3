#!/usr/bin/env python3
"""`impart data pack`, `info` and `verify`, as a user runs them.

    python3 command_test.py path/to/impart
"""

import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

from shard_files import JPEG, png, read_shards, write_shards

IMPART = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else shutil.which("impart")


class DataTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="impart-test-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def data(self, *args, **options):
        done = subprocess.run([IMPART, "data", *map(str, args)], cwd=self.folder, text=True,
                              capture_output=True, check=False, **options)
        # On a slow machine it also says what it is doing.
        done.stderr = re.sub(r"^(opening|packing|checking) .* \(\d+ s\)\n", "", done.stderr,
                             flags=re.MULTILINE)
        return done

    def succeed(self, *args):
        done = self.data(*args)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, "")
        return done.stdout

    def refuse(self, code, message, *args, **options):
        """One line on stderr that contains the message, and nothing changes."""
        before = self.listing()
        done = self.data(*args, **options)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertIn(message, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertEqual(self.listing(), before)

    def listing(self):
        return {str(path): path.read_bytes() if path.is_file() else None
                for path in self.folder.rglob("*")}

    def info(self, path):
        return json.loads(self.succeed("info", path, "--json"))

    def problems(self, *args):
        done = self.data("verify", *args)
        self.assertEqual(done.returncode, 65, done.stdout + done.stderr)
        lines = done.stdout.splitlines()
        self.assertRegex(lines[-1], rf": {len(lines) - 1} problems?; checked: \d+ examples read")
        return lines[:-1]

    def write_cifar10(self, name="cifar", per_file=40):
        """Random images; returns the records of the training files."""
        (self.folder / name).mkdir()
        rng = random.Random(1)
        records = []
        for file in [f"data_batch_{i}.bin" for i in range(1, 6)] + ["test_batch.bin"]:
            batch = [bytes([rng.randrange(10)]) + rng.randbytes(3072) for _ in range(per_file)]
            (self.folder / name / file).write_bytes(b"".join(batch))
            records += batch
        return records[:-per_file]

    def write_imagefolder(self, name="photos"):
        for split, count in [("train", 6), ("val", 2)]:
            for k, kind in enumerate(["cat", "dog"]):
                (self.folder / name / split / kind).mkdir(parents=True)
                for i in range(count):
                    (self.folder / name / split / kind / f"{i}.png").write_bytes(
                        png(20 + i, 30, (k * 100, i * 10, 7)))


class PackTest(DataTest):
    def test_raw_images_become_arrays(self):
        records = self.write_cifar10()
        out = self.succeed("pack", "cifar", "packed", "--shard-bytes", "200KiB", "--hashes", "sha256,xxh64")
        self.assertIn("240 examples", out)
        self.assertIn("impart train data.name=mds data.root=packed", out)
        samples = list(read_shards(self.folder / "packed/train"))
        self.assertEqual([s["image"] for s in samples], [r[1:] for r in records])
        self.assertEqual([struct.unpack("<q", s["label"])[0] for s in samples], [r[0] for r in records])
        facts = self.info("packed")
        self.assertEqual(facts["name"], "mds")
        train, test = facts["sets"]
        self.assertEqual((train["examples"], test["examples"], train["classes"]), (200, 40, 10))
        self.assertEqual(train["image"], [3, 32, 32])
        self.assertEqual(train["class_names"][9], "truck")
        self.assertEqual(train["class_counts"], [sum(r[0] == k for r in records) for k in range(10)])
        self.assertEqual(train["payload_bytes"]["min"], 3080)
        self.assertEqual(train["shards"]["columns"], {"image": "ndarray:uint8:3,32,32", "label": "int"})
        self.assertEqual(train["shards"]["hashes"], ["sha256", "xxh64"])
        self.assertEqual(train["shards"]["count"], 4)
        self.assertEqual(self.succeed("verify", "packed"),
                         "packed: all is well; checked: 240 examples read and decoded, and of their shards "
                         "sizes, hashes, offsets and labels\n")

    def test_compressed_shards_are_smaller_and_the_same(self):
        self.succeed("pack", "shapes", "plain")
        self.succeed("pack", "plain", "small", "--compression", "zstd:1")
        plain, small = self.info("plain")["sets"][0], self.info("small")["sets"][0]
        self.assertEqual(small["shards"]["compression"], "zstd:1")
        self.assertLess(small["shards"]["stored_bytes"], plain["shards"]["stored_bytes"])
        self.assertEqual(small["class_counts"], plain["class_counts"])
        self.succeed("pack", "small", "plain-again")
        name = "train/shard.00000.mds"
        self.assertEqual((self.folder / "plain-again" / name).read_bytes(),
                         (self.folder / "plain" / name).read_bytes())

    def test_photographs_are_stored_as_they_are(self):
        self.write_imagefolder()
        self.succeed("pack", "photos", "packed")
        files = sorted((self.folder / "photos/train").rglob("*.png"))
        samples = list(read_shards(self.folder / "packed/train"))
        self.assertEqual([s["image"] for s in samples], [f.read_bytes() for f in files])
        facts = self.info("packed")["sets"][1]
        self.assertEqual(facts["shards"]["columns"]["image"], "png")
        self.assertEqual((facts["class_names"], facts["class_counts"]), (["cat", "dog"], [2, 2]))
        (self.folder / "photos/train/dog/7.jpg").write_bytes(JPEG)
        self.succeed("pack", "photos", "both")
        self.assertEqual(self.info("both")["sets"][0]["shards"]["columns"]["image"], "bytes")
        self.succeed("verify", "both")

    def test_the_same_data_makes_the_same_files(self):
        self.write_cifar10()
        self.succeed("pack", "cifar", "a")
        self.succeed("pack", "cifar", "b")
        contents = lambda name: {path.relative_to(self.folder / name): path.read_bytes()
                                 for path in (self.folder / name).rglob("*") if path.is_file()}
        self.assertEqual(contents("a"), contents("b"))

    def test_an_existing_destination_is_kept_unless_told(self):
        self.write_cifar10()
        self.write_cifar10("more", per_file=50)
        self.succeed("pack", "cifar", "packed")
        self.refuse(2, "packed: exists already; --overwrite replaces it", "pack", "more", "packed")
        self.succeed("pack", "more", "packed", "--overwrite")
        self.assertEqual(len(list(read_shards(self.folder / "packed/train"))), 250)
        self.refuse(2, "is no data set of shards, so it is not overwritten", "pack", "more", "cifar",
                    "--overwrite")
        self.assertEqual(sorted(os.listdir(self.folder)), ["cifar", "more", "packed"])

    def test_foreign_files_in_a_destination_save_it(self):
        self.write_cifar10()
        self.succeed("pack", "cifar", "packed")
        (self.folder / "packed/thesis").mkdir()
        (self.folder / "packed/thesis/chapter-1.tex").write_text("precious")
        self.refuse(2, "packed: holds what is not of a data set of shards, so it is not "
                    "overwritten: thesis/chapter-1.tex; move that away", "pack", "cifar", "packed",
                    "--overwrite")
        self.assertEqual((self.folder / "packed/thesis/chapter-1.tex").read_text(), "precious")

    def test_wrong_usage(self):
        self.write_cifar10()
        pack = ["pack", "cifar", "packed"]
        self.refuse(2, "unknown hash 'sha265', did you mean 'sha256'?", *pack, "--hashes", "sha265")
        self.refuse(2, "unknown data set 'cifar11', did you mean 'cifar10'?", *pack, "--name", "cifar11")
        self.refuse(2, "--shard-bytes", *pack, "--shard-bytes", "many")
        self.refuse(2, "lie in each other", "pack", "cifar", ".", "--overwrite")
        self.refuse(65, "none: there is no such folder", "pack", "none", "packed")
        os.mkdir(self.folder / "empty")
        self.refuse(2, "cannot tell what kind of data set this is", "pack", "empty", "packed")
        self.assertIn("Example", self.succeed("pack", "--help"))


class FullDiskTest(DataTest):
    def refuse_to_grow(self, *args):
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
        # Python ignores SIGXFSZ, and so does its child.
        self.refuse(74, "File too large", *args, preexec_fn=limit, restore_signals=False)

    def test_nothing_is_left_of_what_could_not_be_written(self):
        self.write_cifar10()
        self.refuse_to_grow("pack", "cifar", "packed", "--compression", "zstd")

    def test_what_was_there_before_stays(self):
        self.write_cifar10()
        self.succeed("pack", "cifar", "packed")
        self.refuse_to_grow("pack", "cifar", "packed", "--overwrite", "--hashes", "md5")


class InterruptTest(DataTest):
    def interrupt(self, number):
        """Sends a signal once packing is under way; slow enough by its many small shards."""
        command = [IMPART, "data", "pack", "shapes", "packed", "--shard-bytes", "4KiB"]
        with subprocess.Popen(command, cwd=self.folder, stderr=subprocess.PIPE, text=True) as process:
            while not list(self.folder.glob("packed.*.tmp/train/shard.00010.mds")):
                self.assertIsNone(process.poll())
                time.sleep(0.01)
            process.send_signal(number)
            return process.wait(), process.stderr.read()

    def test_ctrl_c_leaves_nothing(self):
        code, err = self.interrupt(signal.SIGINT)
        self.assertEqual(code, 130)
        self.assertIn("impart: stopped; nothing was packed", err)
        self.assertEqual(os.listdir(self.folder), [])

    def test_a_killed_pack_leaves_no_data_set(self):
        self.interrupt(signal.SIGKILL)
        self.assertFalse((self.folder / "packed").exists())
        self.assertEqual(list(self.folder.rglob("index.json")), [])


class OthersShardsTest(DataTest):
    """Shards that were not written by impart."""

    COLUMNS = [("caption", "str", None), ("class", "uint16", 2), ("image", "png", None),
               ("meta", "json", None), ("weight", "float32", 4)]

    def sample(self, i):
        return (f"picture {i}".encode(), struct.pack("<H", i % 3), png(9, 8, (i, i, i)), b"{}",
                struct.pack("<f", i / 2))

    def test_info_and_verify(self):
        write_shards(self.folder / "set", self.COLUMNS, [self.sample(i) for i in range(10)])
        facts = self.info("set")["sets"][0]
        self.assertEqual((facts["examples"], facts["class_counts"]), (10, [4, 3, 3]))
        self.assertEqual(facts["shards"]["count"], 4)
        self.assertIsNone(facts["shards"]["compression"])
        self.succeed("verify", "set", "--decode")
        text = self.succeed("info", "set")
        for part in ["examples  10", "shards    4", "md5, sha256", "caption (str)", "0 4, 1 3, 2 3"]:
            self.assertIn(part, text)

    def test_they_are_packed_with_all_their_columns(self):
        samples = [self.sample(i) for i in range(10)]
        write_shards(self.folder / "set/train", self.COLUMNS, samples)
        write_shards(self.folder / "set/val", self.COLUMNS, samples[:4])
        self.succeed("pack", "set", "packed", "--hashes", "md5")
        names = [column[0] for column in self.COLUMNS]
        self.assertEqual([tuple(s[n] for n in names) for s in read_shards(self.folder / "packed/train")],
                         samples)

    def test_encodings_that_cannot_be_read_are_named(self):
        columns = [("image", "pil", None), ("label", "int", 8)]
        write_shards(self.folder / "set", columns, [(b"x", bytes(8))])
        self.refuse(65, "set/index.json: no column holds images that can be read", "info", "set")
        self.refuse(2, "is one folder of shards", "pack", "set", "packed")


class VerifyTest(DataTest):
    packed = None  # by the first test, for all of them

    def setUp(self):
        super().setUp()
        self.write_cifar10()
        if VerifyTest.packed is None:
            VerifyTest.packed = pathlib.Path(tempfile.mkdtemp(prefix="impart-test-"))
            self.succeed("pack", "cifar", self.packed / "packed", "--shard-bytes", "100KiB")
        shutil.copytree(self.packed / "packed", self.folder / "packed")
        self.shard = self.folder / "packed/train/shard.00003.mds"

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.packed)

    def test_a_wrong_byte(self):
        data = bytearray(self.shard.read_bytes())
        data[-5000] ^= 1
        self.shard.write_bytes(data)
        problem, = self.problems("packed")
        self.assertRegex(problem, r"^packed/train/shard.00003.mds: its xxh64 is \w+, but index.json "
                                  r"says \w+: damaged$")

    def test_every_problem_is_listed(self):
        self.shard.write_bytes(self.shard.read_bytes()[:-1])
        os.remove(self.folder / "packed/test/shard.00000.mds")
        problems = self.problems("packed")
        self.assertEqual(len(problems), 2)
        self.assertIn("shard.00003.mds: has", problems[0])
        self.assertIn("packed/test/shard.00000.mds: cannot open", problems[1])
        self.refuse(65, "packed/train/shard.00003.mds: has", "info", "packed")  # the first

    def test_an_index_that_lies(self):
        path = self.folder / "packed/train/index.json"
        index = json.loads(path.read_text())
        index["shards"][1]["samples"] -= 1
        path.write_text(json.dumps(index))
        self.assertIn("shard.00001.mds: byte 0: says it has", "\n".join(self.problems("packed")))
        path.write_text("{")
        self.assertIn("packed/train/index.json: not a usable index", self.problems("packed")[0])

    def test_other_data_sets(self):
        self.succeed("verify", "cifar", "--decode")
        self.write_imagefolder()
        path = self.folder / "photos/train/dog/1.png"
        path.write_bytes(path.read_bytes()[:60])
        self.assertIn("checked: 16 examples read, not decoded", self.succeed("verify", "photos", "--no-decode"))
        problem, = self.problems("photos")
        self.assertTrue(problem.startswith("photos/train/dog/1.png: "), problem)


class InfoTest(DataTest):
    def test_every_kind_is_recognised(self):
        self.write_cifar10()
        self.write_imagefolder()
        self.assertEqual(self.info("cifar")["name"], "cifar10")
        photos = self.info("photos")
        self.assertEqual(photos["name"], "imagefolder")
        self.assertEqual(self.info("shapes")["name"], "shapes")
        facts = photos["sets"][0]
        self.assertEqual((facts["examples"], facts["image"]), (12, [3, 224, 224]))
        self.assertNotIn("shards", facts)
        self.assertIn("cat 6, dog 6", self.succeed("info", "photos"))

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)

    def test_texts_are_described(self):
        self.write("reviews/train.tsv", "label\ttext\ngood\tfine\nbad\tterrible\n")
        self.write("reviews/dev.tsv", "label\ttext\ngood\twell\n")
        self.write("bare.csv", "0,a title,a body\n1,more,text\n0,third,one\n1,last,one\n")
        self.write("novel/chapter.txt", "It was a dark and stormy night. " * 40)
        facts = json.loads(self.succeed("info", "reviews", "--label-column", "label", "--json"))
        self.assertEqual(facts["name"], "table")
        train = facts["sets"][0]
        self.assertEqual((train["class_names"], train["class_counts"]), (["bad", "good"], [1, 1]))
        self.assertEqual((train["examples"], train["text"]["tokens"]), (2, 12))
        self.assertEqual(self.info("novel")["name"], "text")
        columns = ["--text-column", "2,3", "--label-column", "1"]
        out = self.succeed("info", "bare.csv", *columns)
        self.assertIn("note: bare.csv: the first line names no column that was asked for", out)
        self.assertNotIn("note", self.succeed("info", "bare.csv", *columns, "--header", "false"))
        self.assertIn("all is well; checked: 4 examples read\n",
                      self.succeed("verify", "bare.csv", *columns, "--header", "false"))

    def test_every_listed_data_set_is_known(self):
        listed = subprocess.run([IMPART, "list", "datasets"], capture_output=True, text=True, check=True)
        names = [line.split()[0] for line in listed.stdout.splitlines()[1:]]
        self.assertIn("table", names)
        for name in names:
            with self.subTest(name):
                done = self.data("info", name)
                if name in ("shapes", "generated"):
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertIn("examples", done.stdout)
                elif name.startswith("cifar"):
                    self.assertIn(f"'impart data fetch {name} {name}' downloads it", done.stderr)
                else:
                    self.assertIn(f"'{name}' is a kind of data", done.stderr)

    def test_pictures_of_other_formats_are_named(self):
        self.write_imagefolder()
        self.write("photos/train/cat/more.webp", "")
        self.assertIn("note: photos/train: left out, since only JPEG and PNG are read: 1 .webp",
                      self.succeed("info", "photos"))
        for command in [["verify", "photos"], ["pack", "photos", "packed"]]:
            with self.subTest(command[0]):
                done = self.data(*command)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("impart: photos/train: left out, since only JPEG and PNG are read: 1 .webp", done.stderr)


if __name__ == "__main__":
    unittest.main()
