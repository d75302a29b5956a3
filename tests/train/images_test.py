#!/usr/bin/env python3
"""Whole runs, the images that they leave to be looked at, and what TensorBoard is told.

    python3 images_test.py path/to/impart
"""

import base64
import csv
import json
import os
import shutil
import struct
import sys
import unittest
import zlib

import training
from training import SHORT, on_small_images, settings

for folder in ["report", "run"]:
    sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", folder))
import read_events  # noqa: E402
from made_runs import png_of  # noqa: E402

COUNT = 3
BASE = {**on_small_images(SHORT), "epochs": 4, "workers.reduce": "exact",
        "partition.heuristic": "blocks", "importance.images": COUNT,
        "importance.record": "[confidence]"}
PARTS = {"store.kind": "partitioned"}


def images_of(run):
    return [json.loads(line) for line in (run.path / "images.jsonl").read_text().splitlines()]


def numbers_of(run, name):
    """Of a file of uint32."""
    data = (run.path / name).read_bytes()
    start = 10 + struct.unpack("<H", data[8:10])[0]
    return struct.unpack(f"<{(len(data) - start) // 4}I", data[start:])


def importance_of(run, notion):
    with open(run.path / "importance.csv", newline="") as file:
        return [float(row[notion]) for row in csv.DictReader(file)]


def first_pixel(png):
    """Width, height and the first pixel of a PNG file of three channels."""
    data, at, packed = base64.b64decode(png), 8, b""
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + length]
        if kind == b"IHDR":
            size = struct.unpack(">II", body[:8])
        packed += body if kind == b"IDAT" else b""
        at += length + 12
    return size, tuple(zlib.decompress(packed)[1:4])  # whatever the filter, it has no neighbours


class ImagesTest(training.TrainingTest):
    def setUp(self):
        super().setUp()
        self.make_small_images()

    def finish(self, processes=None, **changes):
        return self.train_once(*settings(BASE, **changes), processes=processes)

    def check_ranks(self, run, notion, members, among):
        """The file has the ends of the ranking of these examples, in its order."""
        importance = importance_of(run, notion)
        ranking = sorted(members, key=lambda i: (-importance[i], i))
        for end, expected in [("hardest", ranking[:COUNT]), ("easiest", ranking[::-1][:COUNT])]:
            found = {}
            for image in images_of(run):
                for rank in image["ranks"]:
                    if (rank["notion"], rank["among"], rank["end"]) == (notion, among, end) \
                            and image["id"] in members:
                        found[rank["rank"]] = image["id"]
                        self.assertAlmostEqual(rank["importance"], importance[image["id"]], places=5)
            self.assertEqual([found[i + 1] for i in range(len(found))], expected)

    def test_the_hardest_and_easiest_of_each_notion_and_class_are_kept(self):
        run = self.finish()
        labels = numbers_of(run, "labels.npy")
        self.assertEqual(len(labels), 640)
        for notion in ["loss-variance", "confidence"]:
            self.check_ranks(run, notion, set(range(640)), "all")
        for number in range(10):
            members = {i for i in range(640) if labels[i] == number}
            self.check_ranks(run, "loss-variance", members, "class")
        owners = max((run.path / "partitions").iterdir()).read_text().splitlines()[1:]
        owners = dict(map(int, line.split(",")) for line in owners)
        for image in images_of(run):
            self.assertEqual(image["class"], labels[image["id"]])
            self.assertEqual(image["worker"], owners[image["id"]])
            self.assertTrue(0.09 < image["probability"] <= 1)
        names = {image["class"]: image["label"] for image in images_of(run)}
        self.assertEqual(len(set(names.values())), 10)
        self.assertLessEqual({image["prediction"] for image in images_of(run)}, set(names.values()))

    @unittest.skipUnless(shutil.which("mpirun"), "needs mpirun")
    def test_whoever_has_an_example_delivers_it(self):
        whole = images_of(self.finish())
        for processes in [None, 2]:
            run = self.finish(processes, **PARTS)
            self.assertEqual(images_of(run), whole)

    def test_pictures_are_of_the_examples_that_they_claim_and_small(self):
        colours = [(10 * i, 255 - 10 * i, 100 + i) for i in range(24)]
        for part in ["train", "val"]:
            for i, colour in enumerate(colours):
                path = self.folder / "photos" / part / ("a" if i < 12 else "b") / f"{i:02}.png"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(png_of(colour, 128, 112))
        run = self.finish(data__name="imagefolder", data__root="photos", data__image_size=96,
                          model__name="small-cnn")
        images = images_of(run)
        self.assertGreaterEqual(len(images), 2 * COUNT)
        for image in images:
            size, pixel = first_pixel(image["png"])
            self.assertEqual(size, (64, 64))
            self.assertEqual(image["label"], "a" if image["id"] < 12 else "b")
            for found, expected in zip(pixel, colours[image["id"]]):
                self.assertAlmostEqual(found, expected, delta=1)

    @unittest.skipUnless(shutil.which("mpirun"), "needs mpirun")
    def test_what_a_selection_hid_most_and_least_often_is_kept(self):
        hiding = {"selection__strategy": "random", "selection__share": 0.5}
        run = self.finish(**hiding)
        times = numbers_of(run, "hidden.npy")
        self.assertEqual(len(times), 640)
        self.assertEqual(sum(times), run.summary()["visits_hidden"])
        importance = importance_of(run, "loss-variance")
        ranking = sorted(range(640), key=lambda i: (times[i], -importance[i], i))
        chosen = {(image["hidden"]["end"], image["hidden"]["rank"]): image
                  for image in images_of(run) if "hidden" in image}
        for end, expected in [("least", ranking[:COUNT]), ("most", ranking[::-1][:COUNT])]:
            found = [chosen.pop((end, rank + 1)) for rank in range(COUNT)]
            self.assertEqual([image["id"] for image in found], expected)
            for image in found:
                self.assertEqual(image["hidden"]["times"], times[image["id"]])
        self.assertEqual(chosen, {})
        self.assertEqual(images_of(self.finish(2, **hiding)), images_of(run))

    def test_nothing_is_hidden_without_a_selection(self):
        run = self.finish()
        self.assertFalse((run.path / "hidden.npy").exists())
        self.assertFalse(any("hidden" in image for image in images_of(run)))

    def test_none_are_kept_if_none_are_wanted(self):
        run = self.finish(importance__images=0)
        self.assertFalse((run.path / "images.jsonl").exists())


class TensorBoardTest(training.TrainingTest):
    def setUp(self):
        super().setUp()
        self.make_small_images()

    def events_in(self, folder):
        """By tag, in the order of the files."""
        found = {}
        for path in sorted(folder.glob("events.out.tfevents.*")):
            for body in read_events.records(path.read_bytes()):
                event = read_events.event(body)
                found.setdefault(event.get("tag"), []).append(event)
        return found

    def check_steps(self, run):
        """40 steps of equal size make an epoch, so its loss is the mean of theirs."""
        steps = self.events_in(run.path / "steps")
        self.assertEqual([event["step"] for event in steps["step/loss"]], list(range(1, 241)))
        losses = [event["scalar"] for event in steps["step/loss"]]
        for epoch, expected in enumerate(run.column("train_loss")):
            self.assertAlmostEqual(sum(losses[40 * epoch:40 * epoch + 40]) / 40, expected, places=4)
        rates = [event["scalar"] for event in steps["step/learning_rate"]]
        for found, expected in zip(rates[39::40], run.column("learning_rate")):
            self.assertAlmostEqual(found, expected, places=7)

    def test_it_has_every_step_the_settings_and_pictures(self):
        self.succeed(*settings(on_small_images(SHORT)), "output=run")
        run = self.run_folder("run")
        self.check_steps(run)
        events = self.events_in(run.path)
        chosen = events["_hparams_/session_start_info"][0]["settings"]
        self.assertEqual((chosen["epochs"], chosen["workers.batch"], chosen["model.name"]),
                         (6, 4, "mlp"))
        self.assertEqual(events["_hparams_/experiment"][0]["metrics"], ["test/accuracy", "train/loss"])
        hardest = next(image for image in images_of(run) if image["ranks"][0]["rank"] == 1)
        shown = events["hardest by loss-variance/1"][0]
        self.assertEqual(bytes.fromhex(shown["image"]["bytes"]), base64.b64decode(hardest["png"]))
        self.assertIn(f"example {hardest['id']}: ", shown["description"])

    @unittest.skipUnless(shutil.which("mpirun"), "needs mpirun")
    def test_steps_are_those_of_all_processes(self):
        self.succeed(*settings(on_small_images(SHORT)), "output=run", processes=2)
        self.check_steps(self.run_folder("run"))


if __name__ == "__main__":
    unittest.main()
