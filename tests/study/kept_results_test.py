"""Results in a CSV file, which a study goes on from: kept_results_test.py path/to/impart"""

import csv
import json
import shutil
import subprocess
import unittest

from seeds_test import GROWING
from studies import IMPART, SMALL, StudyTest, wait_until
from study_test import HALVING


class KeptTest(StudyTest):
    def rows(self, name="results.csv"):
        with open(self.folder / name, newline="") as file:
            return list(csv.DictReader(file))

    def forget_runs(self):
        """As on another machine: the file is all there is."""
        shutil.rmtree(self.study)

    def report(self, source, *args, code=0):
        done = subprocess.run([IMPART, "report", source, "-o", "report", "--no-figures", *args],
                              cwd=self.folder, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout if code == 0 else done.stderr


class KeptResults(KeptTest):
    def test_have_a_row_for_each_run_by_arm_and_seed(self):
        self.succeed(self.write(), "--results", "results.csv", "--jobs", 2)
        rows = self.rows()
        self.assertEqual([(row["arm"], row["seed"]) for row in rows],
                         [(arm, seed) for arm in ("blocks", "stripes", "vanilla") for seed in "56"])
        for run in self.record()["runs"]:
            row = next(r for r in rows if (r["arm"], int(r["seed"])) == (run["arm"], run["seed"]))
            summary = json.loads((self.study / run["folder"] / "summary.json").read_text())
            self.assertEqual(row["config_hash"], run["config_hash"])
            self.assertEqual(row["config.partition.heuristic"],
                             "random" if run["arm"] == "vanilla" else run["arm"])
            for name in ("best_accuracy", "final_accuracy", "seconds_total"):
                self.assertEqual(float(row[name]), summary[name])
        self.assertEqual({row["baseline"] for row in rows}, {"vanilla"})

    def test_grow_with_every_finished_run(self):
        self.behave({"*": {"epoch_seconds": 0.1}})
        process = self.start(self.write(), "--results", "results.csv", "--jobs", 1)
        seen = set()
        self.assertTrue(wait_until(lambda: (self.folder / "results.csv").exists()))
        while process.poll() is None:
            rows = self.rows()
            self.assertTrue(rows)
            seen.add(len(rows))
        process.communicate()
        self.assertEqual(len(self.rows()), 6)
        self.assertGreaterEqual(len(seen), 3)

    def test_are_not_run_again_without_their_directories(self):
        self.succeed(self.write(), "--results", "results.csv")
        before = (self.folder / "results.csv").read_bytes()
        self.forget_runs()
        _, err = self.succeed("study.yaml", "--results", "results.csv")
        self.assertEqual(self.calls(), [])
        self.assertEqual((self.folder / "results.csv").read_bytes(), before)
        out, _ = self.succeed("study", "--status", "--results", "results.csv", engine=None)
        self.assertIn("6 of 6 runs done", out)
        lines = before.decode().splitlines(keepends=True)
        (self.folder / "results.csv").write_text("".join(lines[:2] + lines[4:]))
        self.succeed("study.yaml", "--results", "results.csv")
        self.assertEqual(len(self.calls()), 2)
        self.assertEqual((self.folder / "results.csv").read_bytes(), before)

    def test_are_taken_from_directories_that_were_there_before(self):
        self.succeed(self.write())
        self.succeed("study.yaml", "--results", "results.csv")
        self.assertEqual(len(self.calls()), 6)
        self.assertEqual(len(self.rows()), 6)

    def test_of_a_run_that_failed_are_missing(self):
        self.behave({"blocks": {"fail": "no"}})
        code, _, _ = self.run_study(self.write(), "--results", "results.csv")
        self.assertEqual(code, 1)
        self.assertEqual({row["arm"] for row in self.rows()}, {"stripes", "vanilla"})

    def test_of_another_configuration_are_refused_and_fresh_leaves_them_out(self):
        self.succeed(self.write(), "--results", "results.csv")
        before = (self.folder / "results.csv").read_text()
        self.forget_runs()
        changed = self.write(SMALL.replace("stripes}", "stripes, optimizer.lr: 0.05}"), "changed.yaml")
        err = self.fail_with(2, "results.csv:4: 'stripes' with seed 5 has another configuration",
                             changed, "--results", "results.csv")
        self.assertIn("--fresh", err)
        plan, _ = self.succeed(changed, "--results", "results.csv", "--dry-run")
        self.assertIn("it would not start: 2 rows are not of this study as it is now; the first is results.csv:4",
                      plan)
        fewer = self.write(SMALL.replace("[5, 6]", "[5]"), "fewer.yaml")
        self.fail_with(2, "'blocks' with seed 6 is no run of this study", fewer, "--results",
                       "results.csv")
        self.assertEqual((self.folder / "results.csv").read_text(), before)
        self.succeed(changed, "--results", "results.csv", "--fresh")
        self.assertEqual({call[0] for call in self.calls()}, {"runs/stripes/5", "runs/stripes/6"})
        self.assertEqual((self.study / "old/1/results.csv").read_text(), before)
        self.assertEqual(len(self.rows()), 6)

    def test_that_are_damaged_are_refused_with_their_line(self):
        self.succeed(self.write(), "--results", "results.csv")
        whole = (self.folder / "results.csv").read_text()
        lines = whole.splitlines(keepends=True)
        hash_of_third = self.rows()[1]["config_hash"]
        for damaged, message in [
                (whole[:-20], "results.csv:7: the line is cut off"),
                (whole.replace(hash_of_third, "x", 1), "results.csv:3: config_hash 'x' is not"),
                (whole.replace(",grid,", ",gird,", 1), "results.csv:2: unknown purpose of a run 'gird'"),
                (whole.replace("best_accuracy", "arm", 1), "results.csv:1: the column 'arm' is there twice"),
                (whole.replace(",12.5,", ",12.5.1,", 1), "results.csv:2: seconds_total '12.5.1' is not a number"),
                ("".join(lines[:3] + [lines[3].replace(",", ",,", 1)] + lines[4:]), "results.csv:4: "),
                (whole + lines[2], "results.csv:8: 'blocks' with seed 6 is on line 3 already"),
                (whole.replace('blocks,5', '"blocks,5', 1), "results.csv:2: a quote is not closed")]:
            with self.subTest(message):
                (self.folder / "results.csv").write_text(damaged)
                self.fail_with(65, message, "study.yaml", "--results", "results.csv")
                self.assertIn(message, self.report("results.csv", code=65))
                self.assertEqual((self.folder / "results.csv").read_text(), damaged)

    def test_need_their_folder_before_anything_runs(self):
        for more in [[], ["--dry-run"]]:
            self.fail_with(2, "--results there/results.csv: there is no folder there; make it first",
                           self.write(), "--results", "there/results.csv", *more)
        self.assertFalse((self.study / "runs").exists())

    def test_that_somebody_else_changes_are_not_overwritten(self):
        self.behave({"*": {"epoch_seconds": 0.2}})
        process = self.start(self.write(), "--results", "results.csv", "--jobs", 1)
        self.assertTrue(wait_until(lambda: (self.folder / "results.csv").exists()))
        (self.folder / "results.csv").write_text("mine")
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 65, err)
        self.assertIn("somebody else has changed it", err)
        self.assertEqual((self.folder / "results.csv").read_text(), "mine")

    def test_make_the_report_that_the_directories_make(self):
        self.succeed(self.write(), "--results", "results.csv")
        def table():
            with open(self.folder / "report/tables.csv", newline="") as file:
                return {row["setting"]: row for row in csv.DictReader(file)}
        self.report("study")
        from_runs = table()
        self.forget_runs()
        out = self.report("results.csv")
        self.assertIn("baseline", out)
        self.assertEqual(table(), from_runs)
        self.assertIn("no finished run has the number 'final_perplexity'",
                      self.report("results.csv", "--metric", "final_perplexity", code=2))

    def test_of_exchanges_have_their_section(self):
        exchanging = "".join(
            f"  partial {fraction}: {{exchange.strategy: partial, exchange.fraction: {fraction}}}\n"
            for fraction in [0.1, 0.3])
        study = SMALL.replace("interval: 1", "interval: 0").replace(
            "  stripes: {partition.heuristic: stripes}\n  blocks: {partition.heuristic: blocks}\n", exchanging)
        self.succeed(self.write(study), "--results", "results.csv")
        self.forget_runs()
        self.report("results.csv")
        page = (self.folder / "report/report.md").read_text()
        self.assertIn("## How much is exchanged", page)
        self.assertRegex(page, r"\| partial \| 0\.300 \|")

    def test_of_local_updates_tell_the_steps_between_sums(self):
        study = SMALL.replace(
            "  stripes: {partition.heuristic: stripes}\n  blocks: {partition.heuristic: blocks}\n",
            "  ten: {partition.heuristic: stripes, workers.sync: 10}\n  rare: {partition.heuristic: stripes, workers.sync: epoch}\n")
        of_all = {"visits": 300, "parameters": 1000, "workers": 4}
        self.behave({arm: {"summary": {**of_all, "bytes_weights": sums * 8 * 1000 * 3}}
                     for arm, sums in [("vanilla", 75), ("ten", 9), ("rare", 3)]})
        self.succeed(self.write(study), "--results", "results.csv")
        self.forget_runs()
        self.report("results.csv")
        page = (self.folder / "report/report.md").read_text()
        self.assertRegex(page, r"\| vanilla \| [^|]*\| 1\.000 \|")
        self.assertRegex(page, r"\| ten \| [^|]*\| 8\.333 \|")
        self.assertRegex(page, r"\| rare \| [^|]*\| 25\.000 \|")


class Plans(KeptTest):
    """What runs follow from results follows from a file of them, too."""

    def test_a_search_goes_on_from_the_file(self):
        self.succeed(self.write(HALVING), "--jobs", 2, "--results", "results.csv")
        before = (self.folder / "results.csv").read_text()
        record = self.record()
        self.forget_runs()
        lines = before.splitlines(keepends=True)
        (self.folder / "results.csv").write_text(
            "".join(line for line in lines if ",confirm," not in line))
        self.succeed("study.yaml", "--jobs", 2, "--results", "results.csv")
        self.assertEqual(self.record(), record)
        self.assertEqual(len(self.calls()), 6)
        self.assertEqual((self.folder / "results.csv").read_text(), before)
        self.assertIn("good", self.report("results.csv"))

    def test_seeds_that_grow_go_on_from_the_file(self):
        self.succeed(self.write(GROWING.replace("UNTIL", "0.0001")), "--results", "results.csv")
        record = self.record()
        self.forget_runs()
        lines = (self.folder / "results.csv").read_text().splitlines(keepends=True)
        (self.folder / "results.csv").write_text("".join(lines[:5]))
        self.succeed("study.yaml", "--results", "results.csv")
        self.assertEqual(self.record(), record)
        self.assertEqual(len(self.calls()), 16 - 4)
        self.forget_runs()
        other = self.write(GROWING.replace("UNTIL", "1").replace("at_least: 2", "at_least: 4"), "o.yaml")
        self.fail_with(2, "was planned to look at its results after 2, 4, 8 seeds", other,
                       "--results", "results.csv")


if __name__ == "__main__":
    unittest.main()
