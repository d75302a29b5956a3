#!/usr/bin/env python3
"""Data maps and pictures.

    PYTHONPATH=build/dev/python python3 plots_test.py
"""

import pathlib
import shutil
import sys
import tempfile
import unittest
from unittest import mock

import numpy as np

import impart

try:
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
except ImportError:
    pyplot = None

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "report"))
from made_runs import make_language, make_run, make_study  # noqa: E402


class MadeTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="impart-plots-"))
        self.addCleanup(shutil.rmtree, self.folder)
        if pyplot:
            self.addCleanup(pyplot.close, "all")

    def run_with(self, examples=40):
        make_run(self.folder / "run", seed=1, examples=examples, epochs=5)
        return impart.read_run(self.folder / "run")


class DataMap(MadeTest):
    def test_of_a_run_turns_hardness_into_confidence(self):
        run = self.run_with()
        table = impart.data_map(run)
        self.assertEqual(list(table), ["confidence", "variability", "correctness"])
        np.testing.assert_array_equal(table.confidence, 1 - run.importance["confidence"])
        np.testing.assert_array_equal(table.variability, run.importance["variability"])
        np.testing.assert_array_equal(table.correctness, 1 - run.importance["correctness"])
        self.assertEqual(table.index.name, "id")

    def test_of_a_tracker_is_the_mean_and_deviation_of_its_probabilities(self):
        rng = np.random.default_rng(3)
        tracker = impart.Tracker(6, ["confidence", "variability", "correctness"], window="run")
        targets = np.arange(6) % 5
        probability, right = [], []
        for epoch in range(4):
            tracker.epoch = epoch
            logits = rng.normal(size=(6, 5)).astype(np.float32)
            tracker.observe(np.arange(6), logits=logits, targets=targets)
            softmax = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
            probability.append(softmax[np.arange(6), targets])
            right.append(logits.argmax(axis=1) == targets)
        table = impart.data_map(tracker)
        np.testing.assert_allclose(table.confidence, np.mean(probability, axis=0), atol=1e-6)
        np.testing.assert_allclose(table.variability, np.std(probability, axis=0), atol=1e-6)
        np.testing.assert_allclose(table.correctness, np.mean(right, axis=0), atol=1e-6)

    def test_without_its_notions_is_refused(self):
        with self.assertRaisesRegex(impart.ConfigError, "confidence.*keeps loss-last"):
            impart.data_map(impart.Tracker(3, ["loss-last"]))
        run = self.run_with()
        (run.folder / "importance.csv").write_text("id,visits,loss-last\n0,1,2\n")
        with self.assertRaisesRegex(impart.DataError, "importance.record"):
            impart.data_map(run)


@unittest.skipUnless(pyplot, "matplotlib is not installed (Debian: python3-matplotlib)")
class Plots(MadeTest):
    def saved(self, axes):
        """The picture can be drawn, has labelled axes, and something is in it."""
        path = self.folder / "picture.png"
        axes.figure.savefig(path)
        picture = pyplot.imread(path)[..., :3]
        self.assertGreater((picture < 0.9).any(axis=2).mean(), 0.005)
        self.assertTrue(axes.get_xlabel() and axes.get_ylabel())
        return axes

    def test_data_map_has_a_dot_for_each_example_and_a_scale(self):
        axes = self.saved(impart.plot_data_map(self.run_with(40)))
        self.assertEqual(len(axes.collections[0].get_offsets()), 40)
        self.assertEqual(len(axes.figure.axes), 2)

    def test_gallery_shows_the_hardest_and_the_easiest_with_their_class(self):
        images = [np.full((4, 5, 3), 20 * k, np.uint8) for k in range(6)]
        dataset = [(image, k % 2) for k, image in enumerate(images)]
        axes = impart.gallery([0.3, 0.9, np.nan, 0.1, 0.8, 0.2], dataset, count=2,
                              class_names=["cat", "dog"])
        axes.figure.savefig(self.folder / "picture.png")
        self.assertEqual([text.get_text() for text in axes.texts],
                         ["1 dog", "4 cat", "3 dog", "5 dog"])
        self.assertEqual([int(np.asarray(tile.get_array()).max()) for tile in axes.images],
                         [20, 80, 60, 100])
        self.assertEqual([tick.get_text() for tick in axes.get_yticklabels()], ["hardest", "easiest"])

    def test_gallery_takes_images_of_every_form(self):
        floats = np.linspace(-2, 2, 3 * 4 * 5).reshape(3, 4, 5)
        dataset = [floats, {"image": np.eye(4)}, (np.zeros((1, 4, 5), np.float32), 3), [np.eye(3, dtype=int)]]
        axes = impart.gallery([4, 3, 2, 1], dataset, count=4)
        shapes = [np.shape(tile.get_array()) for tile in axes.images[:4]]
        self.assertEqual(shapes, [(4, 5, 3), (4, 4), (4, 5), (3, 3)])
        values = np.asarray(axes.images[0].get_array())
        self.assertEqual((values.min(), values.max()), (0, 255))
        with self.assertRaisesRegex(impart.DataError, "of 4 examples, but importance of 2"):
            impart.gallery([1, 2], dataset)
        with self.assertRaisesRegex(impart.DataError, "example 0 is no image"):
            impart.gallery([1], ["text"])

    def test_data_map_of_many_examples_shows_some_and_says_so(self):
        axes = self.saved(impart.plot_data_map(self.run_with(100), max_points=30))
        self.assertLessEqual(len(axes.collections[0].get_offsets()), 30)
        self.assertIn("of 100 examples", axes.get_title(loc="left"))

    def test_data_map_draws_a_table_and_leaves_out_nan(self):
        table = impart.data_map(self.run_with(10))
        table.loc[3, "confidence"] = np.nan
        axes = self.saved(impart.plot_data_map(table))
        self.assertEqual(len(axes.collections[0].get_offsets()), 9)
        with self.assertRaisesRegex(impart.DataError, "without variability"):
            impart.plot_data_map(table[["confidence"]])

    def test_importance_falls_from_the_hardest_to_the_easiest(self):
        axes = self.saved(impart.plot_importance([3.0, 1.0, np.nan, 2.0]))
        self.assertEqual(axes.lines[0].get_ydata().tolist(), [3, 2, 1])
        axes = self.saved(impart.plot_importance(self.run_with()))
        self.assertEqual(axes.get_ylabel(), "importance (loss-variance)")

    def test_importance_of_workers_is_a_box_each(self):
        importance = np.arange(100.0)
        axes = self.saved(impart.plot_importance(importance, np.arange(100) // 25))
        medians = [line.get_ydata()[0] for line in axes.lines if line.get_color() == "#222222"]
        self.assertEqual(medians, [12, 37, 62, 87])

    def test_importance_of_many_or_empty_workers_can_be_drawn(self):
        self.saved(impart.plot_importance(np.arange(100.0), np.arange(100, dtype=np.uint32) % 50))
        self.saved(impart.plot_importance(np.arange(10.0), np.full(10, 3)))
        self.saved(impart.plot_importance(self.run_with(), 3))

    def test_importance_and_partition_must_fit(self):
        run = self.run_with()
        for partition, message in [([0, 1], "2 examples"), (np.zeros(40), "integer"),
                                   (np.full(40, -1), "below 0")]:
            with self.assertRaisesRegex(impart.DataError, message):
                impart.plot_importance(run, partition)
        with self.assertRaisesRegex(impart.ConfigError, "epoch 1; saved: 0, 3"):
            impart.plot_importance(run, 1)
        with self.assertRaisesRegex(impart.ConfigError, "did not record 'el2n'"):
            impart.plot_importance(run, notion="el2n")
        with self.assertRaisesRegex(impart.DataError, "2 dimensions"):
            impart.plot_importance(np.zeros((2, 2)))

    def study(self, **more):
        arms = {"vanilla": {"heuristic": "random"}, "stripes": {}, "blocks": {"heuristic": "blocks"}}
        make_study(self.folder / "study", arms, [1, 2, 3], epochs=6, **more)
        return impart.read_study(self.folder / "study")

    def test_curves_are_means_over_seeds_with_a_band(self):
        study = self.study()
        axes = self.saved(impart.plot_curves(study))
        self.assertEqual([line.get_label() for line in axes.lines],
                         ["vanilla (n = 3)", "stripes (n = 3)", "blocks (n = 3)"])
        expected = study.metrics[study.metrics.arm == "blocks"].groupby("epoch").test_accuracy.mean()
        np.testing.assert_allclose(axes.lines[2].get_ydata(), expected)
        np.testing.assert_array_equal(axes.lines[2].get_xdata(), expected.index + 1)
        self.assertEqual(axes.get_ylabel(), "test accuracy (%)")
        self.assertEqual(len(axes.collections), 3)
        band = axes.collections[2].get_paths()[0].vertices[:, 1]
        spread = study.metrics[study.metrics.arm == "blocks"].groupby("epoch").test_accuracy.std()
        self.assertAlmostEqual(band.max(), (expected + spread).max(), places=6)

    def test_curves_choose_arms_metric_and_axes(self):
        axes = pyplot.subplots()[1]
        drawn = impart.plot_curves(self.study(), "test_loss", axes, arms=["blocks"], band=None)
        self.assertIs(drawn, axes)
        self.assertEqual((len(axes.lines), len(axes.collections)), (1, 0))
        self.assertEqual(axes.get_ylabel(), "test loss (nats)")

    def test_curves_tell_the_baseline_and_all_arms_apart(self):
        arms = {f"arm {number}": {"warmup": number} for number in range(14)}
        make_study(self.folder / "wide", arms, [1, 2], baseline="arm 0", epochs=3)
        axes = self.saved(impart.plot_curves(impart.read_study(self.folder / "wide"), band="range"))
        looks = {(line.get_color(), str(line._dash_pattern)) for line in axes.lines}
        self.assertEqual(len(looks), 14)
        self.assertEqual(axes.lines[0].get_color(), "#222222")

    def test_curves_leave_unfinished_runs_out(self):
        study = self.study()
        (study.run("blocks", 2).folder / "DONE").unlink()
        axes = impart.plot_curves(study)
        self.assertEqual(axes.lines[2].get_label(), "blocks (n = 2)")
        for run in study.record["runs"]:
            (study.folder / run["folder"] / "DONE").unlink(missing_ok=True)
        with self.assertRaisesRegex(impart.DataError, "no run has finished"):
            impart.plot_curves(impart.read_study(study.folder))

    def test_curves_of_a_run_are_one_line_by_its_own_metric(self):
        run = self.run_with()
        axes = self.saved(impart.plot_curves(run))
        self.assertEqual(axes.lines[0].get_ydata().tolist(), run.metrics.test_accuracy.tolist())
        make_language(run.folder)
        axes = impart.plot_curves(impart.read_run(run.folder))
        self.assertEqual(axes.get_ylabel(), "test perplexity")

    def test_curves_of_what_is_not_there_are_refused(self):
        study = self.study()
        for wrong, message in [({"metric": "acuracy"}, "unknown metric 'acuracy'.*test_accuracy"),
                               ({"arms": ["stripe"]}, "unknown arm 'stripe'"),
                               ({"band": "wide"}, "unknown band 'wide'")]:
            with self.assertRaisesRegex(impart.ConfigError, message):
                impart.plot_curves(study, **wrong)

    def test_without_matplotlib_the_message_says_what_to_install(self):
        with mock.patch.dict(sys.modules, {"matplotlib.pyplot": None}):
            with self.assertRaisesRegex(ImportError, "pip install matplotlib"):
                impart.plot_importance([1.0, 2.0])


if __name__ == "__main__":
    unittest.main()
