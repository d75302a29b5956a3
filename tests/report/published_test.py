#!/usr/bin/env python3
"""Reports of published CSV files against pandas and scipy: python3 published_test.py impart

The 183 means and standard deviations of the DAIS 2023 paper are checked where IMPART_DATA holds
dais2023-csv; files of the same layout that are made here, always."""

import csv
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import made_runs

IMPART = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else shutil.which("impart")
PUBLISHED = pathlib.Path(os.environ.get("IMPART_DATA", "/nonexistent")) / "dais2023-csv"
HEURISTICS = {"none": "random", "roundrobin": "stripes", "steps": "blocks"}
try:
    import pandas
    import scipy.stats
except ImportError:
    pandas = None


@unittest.skipIf(pandas is None, "python3-pandas and python3-scipy are not installed")
class PublishedTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="impart-test-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def report(self, data):
        done = subprocess.run([IMPART, "report", "--csv", data, "-o", self.folder / "out"], text=True,
                              capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.folder / "out/tables.csv", newline="") as file:
            return done.stdout, list(csv.DictReader(file))

    def expected(self, data):
        """(dataset, model, heuristic, notion, warm-up, interval) -> the runs' best accuracies."""
        runs = {}
        for path in data.rglob("*.csv"):
            table = pandas.read_csv(path)
            row = table.iloc[0]
            key = (row.dataset, row.model, HEURISTICS[row.heuristic])
            if row.heuristic != "none":
                key += (f"loss-{row.measure}", str(row.warmup_epochs), str(row.interval_epochs))
            runs[key] = table
        return runs

    def key_of(self, row):
        settings = dict(one.split("=") for one in row["settings"].split())
        key = (settings["data.name"], settings["model.name"], settings["partition.heuristic"])
        if key[2] == "random":
            return key
        return key + (settings["importance.notion"], settings["partition.warmup"],
                      settings["partition.interval"])

    def compare(self, data):
        """Every row against pandas and scipy; returns the uncorrected (better, worse)."""
        out, rows = self.report(data)
        runs = self.expected(data)
        self.assertEqual(len(rows), len(runs))
        better = worse = 0
        html = (self.folder / "out/report.html").read_text()
        for row in rows:
            key = self.key_of(row)
            table = runs.pop(key)
            best = table.best_accuracy
            last = [name for name in table.columns if name.startswith("epoch_")][-1]
            self.assertAlmostEqual(float(row["mean"]), best.mean(), places=9)
            self.assertAlmostEqual(float(row["std"]), best.std(), places=9)
            self.assertAlmostEqual(float(row["median"]), best.median(), places=9)
            self.assertAlmostEqual(float(row["lower_quartile"]), best.quantile(0.25), places=9)
            self.assertAlmostEqual(float(row["companion_mean"]), table[last].mean(), places=9)
            self.assertIn(f"{best.mean():.3f} ± {best.std():.3f}", html)
            if len(key) == 3:
                self.assertEqual(row["claim"], "baseline")
                continue
            baseline = self.expected_baseline(data, key).best_accuracy
            p = scipy.stats.ttest_ind(best, baseline, equal_var=False).pvalue
            self.assertAlmostEqual(float(row["p"]), p, places=8)
            self.assertAlmostEqual(float(row["difference"]), best.mean() - baseline.mean(), places=9)
            if p < 0.05:
                better += best.mean() > baseline.mean()
                worse += best.mean() < baseline.mean()
        self.assertEqual(runs, {})
        return out, better, worse

    def expected_baseline(self, data, key):
        if not hasattr(self, "baselines"):
            self.baselines = {k[:2]: v for k, v in self.expected(data).items() if len(k) == 3}
        return self.baselines[key[:2]]

    def test_made_files_give_what_pandas_and_scipy_give(self):
        made_runs.make_published(self.folder / "csv")
        out, _, worse = self.compare(self.folder / "csv")
        self.assertGreater(worse, 0)
        self.assertIn("Of 12 settings none is better than vanilla after correction", out)

    @unittest.skipUnless(PUBLISHED.is_dir(), "IMPART_DATA names no folder with dais2023-csv")
    def test_all_183_means_and_deviations_of_the_paper(self):
        out, better, worse = self.compare(PUBLISHED)
        self.assertEqual((better, worse), (0, 8))
        self.assertIn("Of 180 settings in 3 groups none is better than the baseline of their group",
                      out)
        self.assertIn("Without correction (p < 0.05) none is better and 8 are worse", out)
        self.assertEqual(sum("blocks" in row for row in self.significant_rows()), 8)

    def significant_rows(self):
        with open(self.folder / "out/tables.csv", newline="") as file:
            return [row["setting"] for row in csv.DictReader(file)
                    if row["p"] and float(row["p"]) < 0.05]

    def test_broken_files_and_rows_are_named_and_skipped(self):
        made_runs.make_published(self.folder / "csv")
        (self.folder / "csv/Baselines/empty.csv").write_text("")
        path = self.folder / "csv/CIFAR10-ResNet18-Stripes-Variance/W10-INT1.csv"
        lines = path.read_text().splitlines()
        lines[3] = lines[3].replace(lines[3].split(",")[2], "n/a")
        lines[4] = lines[4][:40]
        path.write_text("\n".join(lines))
        out, rows = self.report(self.folder / "csv")
        self.assertIn("empty.csv: has no runs", out)
        self.assertIn("W10-INT1.csv:4: epoch_2 'n/a' is not a number", out)
        self.assertIn("W10-INT1.csv:5:", out)
        self.assertEqual([row["n"] for row in rows if row["setting"] == "stripes W10 I1"], ["8"])


if __name__ == "__main__":
    unittest.main()
