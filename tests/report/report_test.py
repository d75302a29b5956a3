#!/usr/bin/env python3
"""Runs `impart report` as a user would: python3 report_test.py path/to/impart"""

import csv
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import unittest
import xml.etree.ElementTree

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import made_runs
from report_case import ARMS, IMPART, ReportTest


class StudyTest(ReportTest):
    def test_a_study_becomes_a_report(self):
        made_runs.make_study(self.folder / "study", ARMS, range(1, 9), examples=200)
        out = self.succeed("study")
        self.assertIn("Of 2 settings none is better than vanilla after correction; 1 is worse: blocks",
                      out)
        self.assertIn("report: study/report/report.html", out)
        rows = self.rows("study/report/tables.csv")
        self.assertEqual([row["claim"] for row in rows.values()], ["baseline", "unclear", "worse"])
        self.assertIn(rows["blocks"]["test"], ["sign-flip test", "paired t-test"])
        html = self.read("study/report/report.html")
        for section in ["results", "box-plots", "curves", "target", "overheads", "io", "data-map",
                        "workers", "notions", "provenance"]:
            self.assertIn(f'<section id="{section}">', html)
        self.assertNotIn('<section id="skipped">', html)
        self.assertIn("heuristic: random", html)
        self.assertIn("impart train study/runs/arm-0/1/config.yaml", html)
        self.assertIn("booktabs", self.read("study/report/tables.tex"))
        self.assertIn("## Results", self.read("study/report/report.md"))

    @unittest.skipUnless(shutil.which("gnuplot"), "gnuplot is not installed")
    def test_pictures_of_an_earlier_report_go_and_those_of_others_stay(self):
        made_runs.make_study(self.folder / "study", ARMS, [1, 2, 3])
        (self.folder / "out/figures").mkdir(parents=True)
        (self.folder / "out/figures/mine.svg").write_text("precious")
        pictures = lambda: sorted(os.listdir(self.folder / "out/figures"))
        self.succeed("study", "-o", "out")
        self.assertGreater(len(pictures()), 1)
        self.succeed("study", "-o", "out", "--no-figures")
        self.assertEqual(pictures(), ["mine.svg"])

    @unittest.skipUnless(shutil.which("gnuplot"), "gnuplot is not installed")
    def test_figures_are_svg_that_follows_the_colour_scheme(self):
        made_runs.make_study(self.folder / "study", ARMS, range(1, 6), examples=200)
        self.succeed("study")
        figures = sorted(path.name for path in (self.folder / "study/report/figures").iterdir())
        for name in ["box-plot.svg", "curves.svg", "time.svg", "data-map-stripes.svg",
                     "workers-stripes.svg"]:
            self.assertIn(name, figures)
        for name in figures:
            text = self.read(f"study/report/figures/{name}")
            xml.etree.ElementTree.fromstring(text)
            self.assertIn("prefers-color-scheme:dark", text)
            self.assertNotIn("black", text)
            self.assertNotIn("gnuplot_plot", text)

    def test_without_gnuplot_there_are_tables_and_a_word_about_it(self):
        made_runs.make_study(self.folder / "study", ARMS, [1, 2, 3])
        self.succeed("study", env={"PATH": "/nonexistent"})
        html = self.read("study/report/report.html")
        self.assertIn("gnuplot is not installed", html)
        self.assertNotIn("<svg", html)
        self.assertIn("<table", html)

    def test_search_runs_stand_apart_from_those_that_confirm(self):
        study = made_runs.make_study(self.folder / "study", ARMS, range(1, 7))
        for run in study["runs"]:
            run["purpose"] = "search" if run["seed"] <= 3 else "confirm"
        (self.folder / "study/study.json").write_text(json.dumps(study))
        self.succeed("study")
        self.assertEqual({row["n"] for row in self.rows("study/report/tables.csv").values()}, {"3"})
        self.assertIn("The winner was chosen on these runs", self.read("study/report/report.html"))

    def test_the_spread_is_split_by_the_streams_that_arms_fix(self):
        arms = {"vanilla": {"heuristic": "random", "interval": 1}, "init": {"level": 80},
                "order": {"level": 80}, "augment": {"level": 80}}
        study = made_runs.make_study(self.folder / "study", arms, range(1, 9))
        spread = {"vanilla": 0.4, "init": 0.2, "order": 0.3, "augment": 0.12}
        for run in study["runs"]:
            path = self.folder / "study" / run["folder"] / "summary.json"
            summary = json.loads(path.read_text())
            summary["best_accuracy"] = 80 + spread[run["arm"]] * (-1) ** run["seed"]
            path.write_text(json.dumps(summary))
        streams = ["init", "order", "augment"]
        for arm in study["arms"]:
            arm["settings"] = {f"seed.{stream}": "seed" if arm["name"] in ("vanilla", stream) else "7"
                               for stream in streams}
        (self.folder / "study/study.json").write_text(json.dumps(study))
        self.succeed("study")
        text = self.read("study/report/report.md")
        self.assertIn("## Spread over seeds", text)
        self.assertRegex(text, r"\| vanilla \| initialisation, order, augmentation \| 8 \| 0.428 \| – \| – \|")
        # Equal numbers of runs: F of 7 and 7 degrees at 0.025 is 4.995.
        self.assertRegex(text, r"\| init \| initialisation \| 8 \| 0.214 \| 25 % \| 5 % … 125 % \|")
        self.assertRegex(text, r"\| order \| order \| 8 \| 0.321 \| 56 % ")
        self.assertIn("alone come to 90 % of the variance of vanilla", text)
        # Differences to vanilla: (0.4 − 0.2)² against 0.4² + 0.2².
        self.assertRegex(text, r"\| init \| 8 \| 0.214 \| 0.428 \| 1.000 \| 0.214 \| 80 % \|")

    def test_says_validation_where_runs_held_out_examples(self):
        study = made_runs.make_study(self.folder / "study", ARMS, [1, 2])
        for run in study["runs"]:
            path = self.folder / "study" / run["folder"] / "summary.json"
            path.write_text(json.dumps({**json.loads(path.read_text()), "validation_examples": 100}))
        self.assertIn("best validation accuracy", self.succeed("study") + self.read("study/report/report.md"))
        html = self.read("study/report/report.html")
        self.assertIn("validation accuracy (%) by epoch", html)
        self.assertNotIn("test accuracy", html)

    def test_another_metric_baseline_and_target(self):
        made_runs.make_study(self.folder / "study", ARMS, range(1, 5))
        out = self.succeed("study", "--metric", "final_accuracy", "--baseline", "stripes",
                           "--target", 70, "-o", "elsewhere")
        self.assertIn("than stripes", out)
        self.assertIn("70.000 for the first time", self.read("elsewhere/report.html"))
        self.assertEqual(self.rows("elsewhere/tables.csv")["stripes"]["claim"], "baseline")


class LooseRunsTest(ReportTest):
    def test_runs_are_gathered_by_the_settings_that_differ(self):
        for seed in [1, 2, 3]:
            made_runs.make_run(self.folder / f"runs/v{seed}", seed, "random", 0, 1)
            for interval in [5, 30]:
                made_runs.make_run(self.folder / f"runs/s{interval}-{seed}", seed, "stripes", 3,
                                   interval)
        self.succeed("runs")
        rows = self.rows("runs/report/tables.csv")
        self.assertEqual(set(rows), {"vanilla", "stripes W3 I5", "stripes W3 I30"})
        self.assertEqual(rows["vanilla"]["claim"], "baseline")
        # The report inside the folder is not taken for a run the next time.
        self.assertNotIn("left out", self.succeed("runs"))

    def test_bad_run_directories_are_named_and_skipped(self):
        for seed in [1, 2]:
            made_runs.make_run(self.folder / f"runs/good-{seed}", seed, "random", 0, 1)
        bad = {}
        for name in ["failed", "killed", "preempted", "no-json", "no-metric", "torn", "twin", "yaml"]:
            bad[name] = self.folder / "runs" / name
            made_runs.make_run(bad[name], 9 if name != "twin" else 1, "random", 0, 1)
        (self.folder / "runs/empty").mkdir()
        (bad["failed"] / "DONE").rename(bad["failed"] / "FAILED")
        (bad["failed"] / "FAILED").write_text("loss is nan\x1b[31m\nmore")
        (bad["killed"] / "DONE").unlink()
        (bad["preempted"] / "DONE").rename(bad["preempted"] / "PREEMPTED")
        (bad["no-json"] / "summary.json").write_text('{"best_accuracy": ')
        (bad["no-metric"] / "summary.json").write_text("{}")
        lines = (bad["torn"] / "metrics.jsonl").read_text().splitlines()
        (bad["torn"] / "metrics.jsonl").write_text("\n".join([lines[0], "{", *lines[1:]]) + "\n")
        (bad["yaml"] / "config.yaml").write_text("a: [1\nb: }")
        out = self.succeed("runs")
        html = self.read("runs/report/report.html")
        self.assertIn("… and 4 more", out)
        for reason in ["empty", "failed: loss is nan", "killed, after 20 epochs", "preempted",
                       "summary.json: offset 19: is not JSON", "no number", "metrics.jsonl:2", "same",
                       "not valid YAML"]:
            self.assertIn(reason, html)
        self.assertNotIn("\x1b", out + html)
        self.assertEqual(self.rows("runs/report/tables.csv")["vanilla"]["n"], "2")

    def test_runs_with_doubled_damaged_or_missing_epochs_are_left_out_by_name(self):
        for seed in [1, 2]:
            made_runs.make_run(self.folder / f"runs/good-{seed}", seed, "random", 0, 1)
        spoil = {
            "doubled": lambda lines: [*lines[:2], *lines[1:]],
            "short": lambda lines: lines[:-1],
            "damaged": lambda lines: [made_runs.with_sum(lines[0]).replace("1.0", "1.1", 1),
                                      *lines[1:]],
        }
        for seed, (name, change) in enumerate(spoil.items(), 3):
            made_runs.make_run(self.folder / "runs" / name, seed, "random", 0, 1)
            path = self.folder / "runs" / name / "metrics.jsonl"
            path.write_text("\n".join(change(path.read_text().splitlines())) + "\n")
        out = self.succeed("runs")
        for reason in ["runs/doubled: runs/doubled/metrics.jsonl:3: epoch 1 comes after epoch 1",
                       "runs/short: metrics.jsonl has 19 of 20 epochs",
                       "runs/damaged: runs/damaged/metrics.jsonl:1: wrong checksum"]:
            self.assertIn(reason, out)
        self.assertEqual(self.rows("runs/report/tables.csv")["vanilla"]["n"], "2")

    def test_bytes_of_statistics_have_a_column_where_there_are_some(self):
        made_runs.make_run(self.folder / "runs/1", 1, "random", 0, 1)
        path = self.folder / "runs/1/summary.json"
        for found, shown in [(0, False), (5 << 20, True)]:
            path.write_text(json.dumps({**json.loads(path.read_text()), "bytes_statistics": found}))
            self.succeed("runs")
            page = self.read("runs/report/report.md")
            self.assertEqual("for statistics" in page, shown)
            self.assertEqual("5.0 MiB" in page, shown)

    def test_runs_with_skewed_parts_under_batch_norm_are_listed(self):
        for seed in [1, 2]:
            made_runs.make_run(self.folder / f"runs/{seed}", seed, "random", 0, 1)
        path = self.folder / "runs/2/summary.json"
        for found, listed in [({}, False), ({"batch_norm_skew": 0.87}, True)]:
            path.write_text(json.dumps({**json.loads(path.read_text()), **found}))
            self.succeed("runs")
            page = self.read("runs/report/report.html")
            self.assertEqual("Skewed parts and batch norm" in page, listed)
            self.assertEqual("model.norm: group" in page, listed)

    def test_runs_that_diverged_are_listed(self):
        for seed in [1, 2]:
            made_runs.make_run(self.folder / f"runs/{seed}", seed, "random", 0, 1)
        path = self.folder / "runs/2/summary.json"
        for epoch, listed in [(None, False), (4, True)]:
            path.write_text(json.dumps({**json.loads(path.read_text()), "diverged_at": epoch}))
            out = self.succeed("runs")
            line = "runs/2: the training loss is not finite from epoch 5 on"
            self.assertEqual(line in out, listed, out)
            self.assertEqual("Runs that diverged" in self.read("runs/report/report.html"), listed)

    @unittest.skipIf(b"__asan_init" in pathlib.Path(IMPART).read_bytes(), "a sanitizer takes more")
    def test_a_long_run_takes_little_memory(self):
        """72 bytes per epoch are kept; the parsed records of all epochs took 1.6 kB each."""
        make = ("import made_runs; "
                "made_runs.make_run('runs/long', 1, 'random', 0, 1, epochs=200_000)")
        tests = os.path.dirname(os.path.abspath(__file__))
        # Not here: the largest size of this process would count for its child.
        subprocess.run([sys.executable, "-c", make], cwd=self.folder, check=True,
                       env={**os.environ, "PYTHONPATH": tests})
        with subprocess.Popen([IMPART, "report", "runs", "--no-figures"], cwd=self.folder,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0)
        self.assertLess(usage.ru_maxrss, 150_000, "kB")

    def test_epochs_count_from_one(self):
        made_runs.make_run(self.folder / "runs/one", 1)
        self.succeed("runs", "--output", "report")
        lines = self.read("report/report.md").splitlines()
        header = next(i for i, line in enumerate(lines) if "| best epoch" in line)
        cells = [[cell.strip() for cell in lines[i].split("|")] for i in (header, header + 2)]
        shown = dict(zip(*cells))["best epoch"]
        best = json.loads(self.read("runs/one/summary.json"))["best_epoch"]
        self.assertEqual(float(shown), best + 1)

    def test_nothing_but_bad_runs_is_a_report_too(self):
        made_runs.make_run(self.folder / "runs/unfinished", 1)
        (self.folder / "runs/unfinished/DONE").unlink()
        self.assertIn("There are no finished runs", self.succeed("runs"))

    def test_wrong_usage(self):
        made_runs.make_study(self.folder / "study", ARMS, [1, 2])
        (self.folder / "broken").mkdir()
        (self.folder / "broken/study.json").write_text("{")
        (self.folder / "pictures/of").mkdir(parents=True)
        made_runs.make_run(self.folder / "run", 1)
        for code, message, args in [
                (65, "none: there is no such file or folder", ["none"]),
                (65, "none.csv: there is no such file or folder", ["none.csv"]),
                (65, "none: there is no such folder", ["--csv", "none"]),
                (65, "pictures: there is no run in it", ["pictures"]),
                (2, "no finished run has the number 'best_acuracy', did you mean 'best_accuracy'?",
                 ["study", "--metric", "best_acuracy"]),
                (2, "no finished run has the number 'what'; their summary.json lists", ["run", "--metric", "what"]),
                (65, "broken/study.json: offset 2: is not JSON", ["broken"]),
                (2, "unknown arm 'vanila', did you mean 'vanilla'?", ["study", "--baseline", "vanila"]),
                (2, "one of them", []),
                (2, "one study", ["study", "study"]),
                (74, "cannot create", ["study", "-o", "/proc/nowhere"])]:
            done = self.impart(*args)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn(message, done.stderr)


class HarmlessTest(ReportTest):
    NAMES = ["<script>alert(1)</script>", "=cmd('calc')", "\x1b[31mred\x1b[0m", "it's \"quoted\" `id`",
             "a|b*c_d[e](f)", "\\input{x} $y$ 50%", "\u202eabc", "</svg><img src=x onerror=alert(2)>"]

    def setUp(self):
        super().setUp()
        arms = {"vanilla": {"heuristic": "random", "interval": 1}}
        for number, name in enumerate(self.NAMES):
            arms[name] = {"heuristic": "stripes", "interval": number + 2}
        study = made_runs.make_study(self.folder / "study", arms, [1, 2, 3])
        study["arms"][1]["settings"]["=1+1"] = "@SUM(A1)"
        (self.folder / "study/study.json").write_text(json.dumps(study))
        self.out = self.succeed("study", "--top", 20)

    def test_in_html_and_figures(self):
        html = self.read("study/report/report.html")
        self.assertEqual(html.count("<script>"), 1)
        self.assertNotIn("<img", html)
        self.assertIn("&lt;script&gt;alert(1)", html)
        for path in (self.folder / "study/report/figures").iterdir():
            root = xml.etree.ElementTree.parse(path).getroot()
            tags = {element.tag.split("}")[1] for element in root.iter()}
            self.assertLessEqual(tags, {"svg", "style", "g", "path", "text", "rect", "polygon",
                                        "polyline", "circle", "line", "tspan"})

    def test_in_csv(self):
        with open(self.folder / "study/report/tables.csv", newline="") as file:
            for row in csv.reader(file):
                for field in row:
                    is_number = re.fullmatch(r"[-+]?[\d.]+(e[-+]?\d+)?", field)
                    self.assertFalse(field[:1] in ("=", "+", "-", "@") and not is_number, field)
        self.assertIn("'=cmd('calc')", self.read("study/report/tables.csv"))

    def test_on_the_terminal_and_everywhere(self):
        for text in [self.out, self.read("study/report/report.md"), self.read("study/report/tables.tex"),
                     self.read("study/report/tables.csv"), self.read("study/report/report.html")]:
            self.assertNotIn("\x1b", text)
            self.assertNotIn("\u202e", text)
        self.assertNotIn("<script>", self.read("study/report/report.md"))
        self.assertNotIn("\\input{x}", self.read("study/report/tables.tex"))


class SizeTest(ReportTest):
    def test_400_runs_take_three_seconds_and_five_megabytes(self):
        arms = {"vanilla": {"heuristic": "random", "interval": 1}}
        for warmup in [10, 15, 20]:
            for interval in range(2, 15):
                arms[f"stripes W{warmup} I{interval}"] = {"heuristic": "stripes", "warmup": warmup,
                                                         "interval": interval}
        made_runs.make_study(self.folder / "study", arms, range(1, 11), epochs=100)
        start = time.monotonic()
        self.succeed("study")
        seconds = time.monotonic() - start
        size = (self.folder / "study/report/report.html").stat().st_size
        print(f"400 runs: {seconds:.2f} s, {size / 2**20:.2f} MiB", file=sys.stderr)
        self.assertLess(size, 5 << 20)
        self.assertLess(seconds, 6)  # 3 s on a machine with nothing else to do

if __name__ == "__main__":
    unittest.main()
