"""Runs that end at a target, or when nothing gets better: python3 stop_test.py path/to/impart"""

import json
import shutil
import unittest

import training
from training import SHORT, RunFolder, on_small_images, settings

# Accuracies of the epochs differ, so a target can be put between two of them.
RUN = {**on_small_images(SHORT), "epochs": 8, "partition.save": "false", "checkpoint.keep": 20}


def first_reaching(values, target):
    return next(i for i, value in enumerate(values) if value >= target)


class StopTest(training.TrainingTest):
    def setUp(self):
        super().setUp()
        self.make_small_images()

    def unbroken(self):
        return self.train_once(*settings(RUN))

    def check_stopped(self, run, whole, epoch, reached):
        self.assertEqual(run.markers(), ["DONE"])
        self.assertEqual(run.lines(), epoch + 1)
        summary = run.summary()
        at = summary["stopped_at"]
        self.assertEqual((at["reached"], at["epoch"]), (reached, epoch))
        self.assertEqual(at["steps"], whole.column("step")[epoch])
        self.assertEqual(at["visits"], 640 * (epoch + 1))
        self.assertLessEqual(at["seconds"], summary["seconds_total"])
        self.assertEqual(summary["epochs"], epoch + 1)
        self.assertEqual(run.metrics()[-1]["stopped_at"], at)
        self.assertNotIn("stopped_at", run.metrics()[0])
        self.assertEqual(run.column("test_accuracy"), whole.column("test_accuracy")[:epoch + 1])
        self.assertEqual(run.newest_state()["epoch"], epoch + 1)

    def test_a_run_ends_at_the_first_evaluation_that_reaches_its_target(self):
        whole = self.unbroken()
        self.assertIsNone(whole.summary()["stopped_at"])
        accuracies = whole.column("test_accuracy")
        target = max(accuracies[:6])
        epoch = first_reaching(accuracies, target)
        args = [*settings(RUN, output="run"), f"stop.at=accuracy >= {target}"]
        out, _ = self.succeed(*args)
        run = RunFolder(self.folder / "run")
        self.check_stopped(run, whole, epoch, True)
        said = f"stopped after {epoch + 1} of 8 epochs: accuracy >= {target:g} is reached\n"
        self.assertIn(said, out)
        weights = run.sha()
        out, _ = self.succeed("--resume", "run")
        self.assertIn(said, out)
        self.check_stopped(run, whole, epoch, True)
        self.assertEqual(run.sha(), weights)

    def test_a_run_ends_when_nothing_gets_better(self):
        whole = self.unbroken()
        accuracies = whole.column("test_accuracy")
        best, epoch = 0, None
        for i, value in enumerate(accuracies):
            best = i if value > accuracies[best] else best
            if i - best >= 1 and i + 1 < len(accuracies):
                epoch = i
                break
        self.assertIsNotNone(epoch, "choose a run that gets worse once")
        out, _ = self.succeed(*settings(RUN, output="run", stop__patience=1))
        self.check_stopped(RunFolder(self.folder / "run"), whole, epoch, False)
        self.assertIn("1 evaluations without a better one", out)

    def test_a_target_that_is_not_reached_changes_nothing(self):
        whole = self.unbroken()
        self.succeed(*settings(RUN, output="run"), "stop.at=accuracy>=100", "stop.patience=8")
        run = RunFolder(self.folder / "run")
        self.assertEqual(run.sha(), whole.sha())
        self.assertEqual(run.lines(), 8)
        self.assertIsNone(run.summary()["stopped_at"])

    def test_only_evaluations_count(self):
        self.succeed(*settings(RUN, output="run", eval__every=3), "stop.at=accuracy >= 0")
        self.assertEqual(RunFolder(self.folder / "run").summary()["stopped_at"]["epoch"], 2)

    @unittest.skipUnless(shutil.which("mpirun"), "needs mpirun")
    def test_all_processes_end_together(self):
        self.succeed(*settings(RUN, output="run"), "stop.at=accuracy >= 0", processes=2)
        run = RunFolder(self.folder / "run")
        self.assertEqual((run.markers(), run.lines()), (["DONE"], 1))

    def test_language_stops_by_perplexity(self):
        self.succeed("data.name=generated", "model.name=lstm", "threads=1", "epochs=4", "output=run",
                     "data.train_examples=64", "data.test_examples=16", "data.block=8", "importance.ignore=0",
                     "partition.warmup=1", "partition.interval=1", "stop.at=perplexity <= 1e9")
        at = json.loads((self.folder / "run/summary.json").read_text())["stopped_at"]
        self.assertEqual((at["epoch"], at["reached"]), (0, True))


class TargetTest(training.TrainingTest):
    def test_what_is_no_target_is_refused_with_what_would_be_right(self):
        for text, message in [
                ("82", "'82' compares nothing; write it as 'accuracy >= 82'"),
                ("acuracy >= 82", "unknown metric 'acuracy', did you mean 'accuracy'?"),
                ("accuracy > 82", "more accuracy is better, so it is 'accuracy >= 82'"),
                ("perplexity >= 30", "less perplexity is better, so it is 'perplexity <= 30'"),
                ("accuracy >= many", "'many' is not a number"),
                ("accuracy >= 8 2", "'8 2' is not a number"),
                ("accuracy >=", "'' is not a number"),
                ("perplexity <= 30", "stop.at: 'perplexity <= 30', but this data is judged by accuracy")]:
            with self.subTest(text):
                self.fail_with(2, message, *settings(SHORT, output="run"), f"stop.at={text}")
                self.assertFalse((self.folder / "run").exists())
        self.fail_with(2, "stop.patience", *settings(SHORT, output="run"), "stop.patience=-1")
        self.fail_with(2, "did you mean 'patience'?", *settings(SHORT, output="run"), "stop.patiense=1")


if __name__ == "__main__":
    unittest.main()
