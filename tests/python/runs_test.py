#!/usr/bin/env python3
"""Runs and studies as tables.

    PYTHONPATH=build/dev/python python3 runs_test.py [path/to/impart]
"""

import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import numpy as np

import impart

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "report"))
from made_runs import make_language, make_run, make_study, with_sum  # noqa: E402

IMPART = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else None


class FolderTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="impart-runs-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def made(self, **settings):
        best = make_run(self.folder / "run", seed=3, **settings)
        return impart.read_run(self.folder / "run"), best

    @contextlib.contextmanager
    def refuses(self, *parts, error=impart.DataError):
        """Something inside raises that error, with a message that has all these parts."""
        with self.assertRaises(error) as caught:
            yield
        for part in parts:
            self.assertIn(part, str(caught.exception))


class ReadRun(FolderTest):
    def test_has_a_row_per_epoch_and_the_events_as_columns(self):
        run, best = self.made(epochs=7)
        self.assertEqual(list(run.metrics.epoch), list(range(7)))
        self.assertEqual(run.metrics.test_accuracy.max(), best)
        self.assertEqual(list(run.metrics.placement_event), 3 * ["random"] + 4 * ["heuristic"])
        self.assertEqual(run.summary["best_accuracy"], best)
        self.assertEqual(run.status, "done")
        self.assertEqual(run.config["partition"],
                         {"heuristic": "stripes", "warmup": 3, "interval": 3})

    def test_reads_what_is_known_of_examples(self):
        run, _ = self.made(examples=50)
        self.assertEqual(list(run.importance.index), list(range(50)))
        self.assertEqual(list(run.importance),
                         ["visits", "loss-variance", "confidence", "variability", "correctness"])
        self.assertEqual(run.importance["confidence"].dtype, np.float32)
        self.assertEqual(list(run.partitions), [0, 3])
        np.testing.assert_array_equal(run.partitions[3], (np.arange(50) * 7 + 3) % 4)
        self.assertEqual(run.partitions[3].dtype, np.uint32)

    def test_has_a_ledger_row_for_each_epoch_and_worker_and_a_phase_row_for_each_process(self):
        run, _ = self.made(examples=8)
        self.assertEqual(len(run.ledger), 5 * 4)
        self.assertEqual(run.ledger.groupby("worker").bytes_sent.sum().tolist(), [5] * 4)
        self.assertEqual(run.phases.groupby("epoch").seconds_forward.sum().tolist(), [0.5] * 5)

    def test_a_run_that_recorded_nothing_more_has_empty_tables(self):
        run, _ = self.made()
        self.assertEqual(run.partitions, {})
        self.assertTrue(run.texts.empty and run.ledger.empty and run.phases.empty)
        with self.refuses("importance.csv", "did not record it"):
            run.importance
        with self.refuses("history.npy"):
            run.history

    def test_texts_are_a_table(self):
        run, _ = self.made()
        make_language(run.folder, ["to be, or not\nto be", "ünïcode"])
        self.assertEqual(len(run.texts), 4)
        self.assertEqual(set(run.texts.end), {"hardest", "easiest"})
        self.assertIn("test_perplexity", run.metrics)

    def test_null_is_not_a_number(self):
        run, _ = self.made(epochs=3)
        path = run.folder / "metrics.jsonl"
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        lines[1]["train_loss"] = None
        lines[1]["placement"] = None
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        self.assertEqual(run.metrics.train_loss.isna().tolist(), [False, True, False])
        self.assertEqual(run.metrics.placement_event.isna().tolist(), [False, True, False])
        self.assertNotIn("placement", run.metrics)
        self.assertEqual(run.metrics.train_loss.dtype, float)

    def test_a_live_run_may_have_a_torn_last_line_and_no_end(self):
        run, _ = self.made(epochs=4)
        (run.folder / "DONE").unlink()
        (run.folder / "summary.json").unlink()
        path = run.folder / "metrics.jsonl"
        path.write_bytes(path.read_bytes()[:-30])
        self.assertEqual(list(run.metrics.epoch), [0, 1, 2])
        self.assertEqual(run.status, "unfinished")
        self.assertEqual(run.summary, {})
        with self.refuses("importance.csv", "the run is unfinished"):
            run.importance

    def test_a_last_line_of_zeros_is_torn_too(self):
        run, _ = self.made(epochs=2)
        with open(run.folder / "metrics.jsonl", "ab") as file:
            file.write(b"\0" * 100 + b"\n")
        self.assertEqual(len(run.metrics), 2)

    def test_a_run_that_failed_says_why(self):
        run, _ = self.made(epochs=2)
        (run.folder / "DONE").rename(run.folder / "FAILED")
        (run.folder / "FAILED").write_text("the loss became NaN\n")
        self.assertEqual((run.status, run.reason), ("failed", "the loss became NaN"))

    def test_config_follows_yaml_1_2(self):
        run, _ = self.made()
        (run.folder / "config.yaml").write_text(
            'epsilon: 1e-08\nrate: 5e-4\nname: off\ntime: 12:30:00\nroot: ""\nrecord: [a, b]\n'
            "sticky: false\ncount: 4\nlow: -.inf\nnothing: ~\nempty:\n")
        self.assertEqual(run.config, {"epsilon": 1e-8, "rate": 5e-4, "name": "off",
                                      "time": "12:30:00", "root": "", "record": ["a", "b"],
                                      "sticky": False, "count": 4, "low": -np.inf, "nothing": None,
                                      "empty": None})


class BadRuns(FolderTest):
    def test_folders_that_are_no_runs(self):
        with self.refuses("nowhere", "there is no such folder"):
            impart.read_run(self.folder / "nowhere")
        with self.refuses(str(self.folder), "not a run directory"):
            impart.read_run(self.folder)
        make_study(self.folder / "study", {"vanilla": {}}, [1])
        with self.refuses("read_study"):
            impart.read_run(self.folder / "study")

    def test_a_broken_line_is_named(self):
        run, _ = self.made(epochs=4)
        path = run.folder / "metrics.jsonl"
        lines = path.read_text().splitlines()
        path.write_text("\n".join([lines[0], lines[1][:40], *lines[2:]]) + "\n")
        with self.refuses("metrics.jsonl:2:", "epoch"):
            run.metrics
        path.write_text("\n".join([lines[0], '{"step": 3}', *lines[2:]]) + "\n")
        with self.refuses("metrics.jsonl:2:"):
            run.metrics

    def test_a_damaged_line_is_named(self):
        run, _ = self.made(epochs=3)
        path = run.folder / "metrics.jsonl"
        lines = [with_sum(line) for line in path.read_text().splitlines()]
        path.write_text("\n".join(lines) + "\n")
        self.assertEqual(list(run.metrics.epoch), [0, 1, 2])
        self.assertNotIn("crc32", run.metrics)
        for damaged, message in [(lines[1].replace("1.0", "1.1", 1), "wrong checksum"),
                                 (lines[1].replace("crc32", "crc33"), "wrong checksum"),
                                 (lines[1][:-2] + "x}", "wrong checksum"),
                                 (lines[1][:-20] + "}", "has no checksum"),
                                 (lines[0], "epoch 0 comes after epoch 0")]:
            with self.subTest(damaged=damaged):
                path.write_text("\n".join([lines[0], damaged, lines[2]]) + "\n")
                with self.refuses("metrics.jsonl:2:", message):
                    impart.read_run(run.folder).metrics

    def test_broken_files_are_named(self):
        run, _ = self.made(examples=5)
        for name, text in [("summary.json", "{"), ("env.json", "[1]"), ("config.yaml", "a: [1"),
                           ("config.yaml", "just text")]:
            (run.folder / name).write_text(text)
        for attribute, name in [("summary", "summary.json"), ("environment", "env.json"),
                                ("config", "config.yaml")]:
            with self.refuses(name):
                getattr(run, attribute)

    def test_broken_columns_are_named(self):
        for text, message in [("id,visits,x\n0,1,2\n0,1,2\n", "each once"),
                              ("id,visits,x\n0,1,2\n2,1,2\n", "0..1"),
                              ("id,visits,x\n0,1\n", "fields"),
                              ("id,visits,x\n0,1,two\n", "no numbers"),
                              ("visits,x\n0,1\n", '"id"'),
                              ("", "not CSV"),
                              ("id,x\n0.5,1\n", "integers")]:
            with self.subTest(text=text):
                shutil.rmtree(self.folder / "run", ignore_errors=True)
                run, _ = self.made()
                (run.folder / "importance.csv").write_text(text)
                with self.refuses("importance.csv", message):
                    run.importance

    def test_broken_partitions_are_named(self):
        for text in ["id,worker\n0,-1\n", "id,owner\n0,1\n", "id,worker\n0,1.5\n"]:
            with self.subTest(text=text):
                shutil.rmtree(self.folder / "run", ignore_errors=True)
                run, _ = self.made(examples=5)
                (run.folder / "partitions/epoch-0003.csv").write_text(text)
                with self.refuses("epoch-0003.csv"):
                    run.partitions

    def test_nan_and_infinite_importance_are_numbers(self):
        run, _ = self.made()
        (run.folder / "importance.csv").write_text("id,visits,x\n1,0,nan\n0,2,inf\n2,1,-0.5\n")
        np.testing.assert_array_equal(run.importance["x"], np.float32([np.inf, np.nan, -0.5]))

    def test_two_endings_contradict_each_other(self):
        run, _ = self.made()
        (run.folder / "FAILED").write_text("")
        with self.refuses("both done and failed"):
            run.status

    def test_without_pandas_or_yaml_the_message_says_what_to_install(self):
        run, _ = self.made()
        for module, attribute, package in [("pandas", "metrics", "pandas"),
                                           ("yaml", "config", "PyYAML")]:
            with mock.patch.dict(sys.modules, {module: None}):
                with self.refuses(f"pip install {package}", error=ImportError):
                    getattr(run, attribute)


class ReadStudy(FolderTest):
    def setUp(self):
        super().setUp()
        self.study = self.folder / "warmups"
        arms = {"vanilla": {"heuristic": "random", "interval": 1}, "stripes": {},
                "blocks": {"heuristic": "blocks"}}
        make_study(self.study, arms, [5, 6], epochs=4)

    def test_has_a_row_per_run_with_the_numbers_of_its_summary(self):
        study = impart.read_study(self.study)
        self.assertEqual(len(study.runs), 6)
        self.assertEqual(set(study.runs.status), {"done"})
        row = study.runs[(study.runs.arm == "blocks") & (study.runs.seed == 6)].iloc[0]
        summary = json.loads((pathlib.Path(row.path) / "summary.json").read_text())
        for name in ["best_accuracy", "final_accuracy", "seconds_total", "bytes_network", "workers"]:
            self.assertEqual(row[name], summary[name])
        self.assertEqual((study.name, study.baseline, study.metric),
                         ("warmups", "vanilla", "best_accuracy"))
        self.assertEqual(study.arms.loc["blocks", "partition.heuristic"], "blocks")

    def test_has_all_epochs_of_all_runs_in_one_table(self):
        study = impart.read_study(self.study)
        self.assertEqual(len(study.metrics), 6 * 4)
        mine = study.metrics[(study.metrics.arm == "stripes") & (study.metrics.seed == 5)]
        self.assertEqual(mine.test_accuracy.tolist(),
                         study.run("stripes", 5).metrics.test_accuracy.tolist())

    def test_runs_that_have_not_finished_have_no_numbers(self):
        record = json.loads((self.study / "study.json").read_text())
        folders = {(run["arm"], run["seed"]): self.study / run["folder"] for run in record["runs"]}
        shutil.rmtree(folders["vanilla", 5])
        (folders["vanilla", 6] / "DONE").rename(folders["vanilla", 6] / "FAILED")
        (folders["vanilla", 6] / "FAILED").write_text("out of disk")
        (folders["blocks", 5] / "DONE").unlink()
        other = folders["blocks", 6] / "summary.json"
        other.write_text(other.read_text().replace('"config_hash": "', '"config_hash": "f'))
        study = impart.read_study(self.study)
        status = {(run.arm, run.seed): run.status for run in study.runs.itertuples()}
        self.assertEqual(status, {("vanilla", 5): "waiting", ("vanilla", 6): "failed",
                                  ("blocks", 5): "unfinished", ("blocks", 6): "changed",
                                  ("stripes", 5): "done", ("stripes", 6): "done"})
        self.assertEqual(study.runs.best_accuracy.notna().sum(), 2)
        self.assertEqual(study.runs.reason.tolist().count("out of disk"), 1)
        self.assertEqual(set(study.metrics.status), {"done", "failed", "unfinished"})

    def test_a_search_keeps_its_rungs_apart_from_the_confirmation(self):
        path = self.study / "study.json"
        record = json.loads(path.read_text())
        for run in record["runs"]:
            run["purpose"] = "search" if run["seed"] == 5 else "confirm"
        path.write_text(json.dumps(record))
        study = impart.read_study(self.study)
        self.assertEqual(set(study.metrics.purpose), {"search", "confirm"})
        self.assertEqual(study.run("blocks", 6).status, "done")
        with self.refuses("seed 5", error=impart.ConfigError):
            study.run("blocks", 5)

    def test_a_study_that_has_not_begun_is_empty(self):
        shutil.rmtree(self.study / "runs")
        study = impart.read_study(self.study)
        self.assertEqual(set(study.runs.status), {"waiting"})
        self.assertTrue(study.metrics.empty)

    def test_wrong_names_are_told_with_the_right_ones(self):
        study = impart.read_study(self.study)
        with self.refuses("unknown arm 'stripe'", "did you mean 'stripes'?", error=impart.ConfigError):
            study.run("stripe", 5)
        with self.refuses("seed 9", "5, 6", error=impart.ConfigError):
            study.run("stripes", 9)

    def test_folders_that_are_no_studies(self):
        with self.refuses("no such folder"):
            impart.read_study(self.folder / "nothing")
        with self.refuses("study.json", "read_run"):
            impart.read_study(self.study / "runs/arm-0/5")
        for text, message in [("{", "not JSON"), ('{"format": 2}', "format 2"),
                              ('{"format": 1}', '"arms"'),
                              ('{"format": 1, "arms": [], "runs": [{"arm": "a"}]}',
                               'runs[0] has no "seed"')]:
            (self.study / "study.json").write_text(text)
            with self.refuses("study.json", message):
                impart.read_study(self.study)


HAS_ENGINE = IMPART is not None and pathlib.Path(IMPART).with_name("impart-engine").exists()


@unittest.skipUnless(HAS_ENGINE, "needs the command and its engine: runs_test.py path/to/impart")
class RealRun(FolderTest):
    def test_what_the_trainer_wrote_reads_back(self):
        done = subprocess.run(
            [IMPART, "train", "epochs=3", "data.name=shapes", "data.train_examples=120",
             "data.test_examples=40", "model.name=mlp", "workers.count=3", "workers.batch=8",
             "importance.ignore=0", "importance.record=[confidence,variability,correctness]",
             "importance.history=true",
             "partition.heuristic=blocks", "partition.warmup=1", "partition.interval=1",
             "partition.save=true", "checkpoint.every=0", f"output={self.folder / 'run'}"],
            capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        run = impart.read_run(self.folder / "run")
        self.assertEqual(run.config["partition"]["heuristic"], "blocks")
        self.assertEqual(run.config["importance"]["record"],
                         ["confidence", "variability", "correctness"])
        self.assertEqual(run.metrics.test_accuracy.iloc[-1], run.summary["final_accuracy"])
        self.assertEqual(list(run.metrics.placement_event), ["random", "heuristic", "heuristic"])
        decides = run.importance["loss-variance"].to_numpy()
        np.testing.assert_array_equal(decides, np.load(run.folder / "importance.npy"))
        self.assertEqual(run.history.shape, (120, 3))
        np.testing.assert_array_equal(np.bincount(run.partitions[2]), [40, 40, 40])
        # Blocks of the last epoch were dealt by the losses of the epoch before: one visit each, so
        # by the loss itself. Every example of worker 0 is at least as hard as all of worker 1.
        parts = [run.history[run.partitions[2] == worker, 1] for worker in range(3)]
        self.assertGreaterEqual(parts[0].min(), parts[1].max())
        self.assertEqual(set(run.ledger.worker), {0, 1, 2})
        places = impart.data_map(run)
        np.testing.assert_allclose(places.confidence, np.exp(-run.history[:, 2]), atol=1e-6)
        self.assertTrue(places.correctness.isin([0, 1]).all())


if __name__ == "__main__":
    unittest.main()
