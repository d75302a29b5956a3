#!/usr/bin/env python3
"""The sections of a report, as a user meets them: python3 sections_test.py path/to/impart"""

import base64
import json
import os
import pathlib
import re
import shutil
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import made_runs
from report_case import ARMS, ReportTest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class SelectionTest(ReportTest):
    def test_fewer_visits_are_judged_by_a_margin(self):
        arms = {"vanilla": {"heuristic": "random"},
                "infobatch": {"heuristic": "stripes", "level": 80.2, "hidden": 0.4},
                "blind": {"heuristic": "blocks", "level": 79.0, "hidden": 0.4}}
        made_runs.make_study(self.folder / "study", arms, range(1, 13))
        self.succeed("study", "--no-figures")
        text = self.read("study/report/report.md")
        self.assertIn("infobatch: not worse than vanilla by more than 0.2 points: p = ", text)
        self.assertIn("blind: it is not shown that it is not worse than vanilla by more than 0.2 "
                      "points", text)
        self.assertIn("40.0 %", text)
        rows = self.rows("study/report/tables.csv")
        self.assertEqual(float(rows["infobatch"]["visits"]), 12000)

    def test_nothing_is_said_where_everything_was_visited(self):
        made_runs.make_study(self.folder / "study", ARMS, [1, 2])
        self.succeed("study", "--no-figures")
        self.assertNotIn("Visits and selection", self.read("study/report/report.md"))
        self.assertNotIn("What was hidden", self.read("study/report/report.md"))


class HiddenTest(ReportTest):
    ARMS = {"vanilla": {"heuristic": "random"},
            "infobatch": {"heuristic": "stripes", "hidden": 0.3},
            "kakurenbo": {"heuristic": "blocks", "hidden": 0.3}}

    def make(self):
        made_runs.make_study(self.folder / "study", self.ARMS, [1, 2], examples=300)
        for number in range(3):
            made_runs.add_images(self.folder / f"study/runs/arm-{number}/1")
        for number in [1, 2]:
            made_runs.add_hidden(self.folder / f"study/runs/arm-{number}/1")

    def section(self):
        self.succeed("study", "--no-figures")
        html = self.read("study/report/report.html")
        return html.split('<section id="hidden">')[1].split("</section>")[0]

    def test_what_was_hidden_is_said_by_class_and_shown(self):
        self.make()
        section = self.section()
        rows = re.findall(r"<tr><td[^>]*>(\w+)</td>(.*?)</tr>", section)
        shares = {name: re.findall(r"([\d.]+) %", cells) for name, cells in rows}
        self.assertEqual(shares, {"star": ["75.0"] * 2, "circle": ["25.0"] * 2,
                                  "heart": ["0.0"] * 2, "all": ["33.3"] * 2})
        self.assertEqual([name for name, _ in rows], ["star", "circle", "heart", "all"])
        self.assertIn("infobatch, seed 1: what was hidden, and what was not", section)
        self.assertIn("<h3>hidden most often</h3>", section)
        self.assertIn("<h3>never hidden</h3>", section)
        self.assertEqual(section.count("<img"), 2 * 4)
        self.assertIn("<b>star</b><span class=\"worse\">→ circle</span><span>1</span>"
                      "<span>15 of 20 epochs</span>", section)

    def test_files_that_do_not_fit_are_left_out_with_a_word(self):
        self.make()
        (self.folder / "study/runs/arm-2/1/hidden.npy").write_bytes(made_runs.npy_of([1, 2, 3]))
        section = self.section()
        self.assertRegex(section, "Left out: .*: hidden.npy has 3 examples, labels.npy 300")
        self.assertIn("infobatch, seed 1", section)
        self.assertNotIn("kakurenbo, seed 1", section)


class LocalTest(ReportTest):
    def test_workers_that_train_apart_are_drawn_against_the_steps_between(self):
        arms = {"vanilla": {"heuristic": "random", "sync": 1}}
        for heuristic, level in [("stripes", 80), ("blocks", 75)]:
            for sync in [10, 50]:
                arms[f"{heuristic} {sync}"] = {"heuristic": heuristic, "sync": sync, "level": level}
        made_runs.make_study(self.folder / "study", arms, [1, 2, 3])
        self.succeed("study", "--target", "70")
        text = self.read("study/report/report.md")
        self.assertIn("Local updates", text)
        self.assertIn("Fewest bytes of weights and examples until test accuracy (%) is 70: "
                      "stripes 50 ", text)
        rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines()
                if line.startswith("| stripes 10 |")]
        row = next(row for row in rows if "2.3 MiB" in row)  # 5 sums x 20 epochs x 24 000 bytes
        self.assertEqual(row[2], "10.000")
        self.assertTrue((self.folder / "study/report/figures/local-updates.svg").exists()
                        or not shutil.which("gnuplot"))

    def test_runs_that_stopped_at_a_target_are_weighed_by_their_bytes_until_there(self):
        kept = ROOT / "experiments/sync-or-exchange/results.csv"
        self.succeed(kept, "-o", "report")
        text = self.read("report/report.md")
        self.assertIn("Fewest bytes of weights and examples until a run stops at its target: "
                      "sync=4 interval=0 partial fraction=0.3 (5.4 GiB).", text)
        section = text.split("## Local updates")[1].split("\n## ")[0]
        lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in section.splitlines()]
        rows = {cells[0]: cells[1:] for cells in lines if len(cells) == 6}
        self.assertEqual(rows["step, nothing"][1], "1.000")
        self.assertEqual(rows["sync=4 interval=0 partial fraction=0.3"][1::3], ["4.000", "5.4 GiB"])
        # Four of five got there, which is enough for a median.
        self.assertEqual(rows["sync=8 interval=0 partial fraction=0.1"][4], "9.3 GiB")
        # None did, and what they say is their visits, not their steps.
        self.assertEqual(rows["sync=32 interval=1 strategy=none fraction=0.1"][1::3], ["32.000", "–"])


class ExchangeTest(ReportTest):
    ARMS = {"global": {"heuristic": "random", "interval": 1}, "local": {"heuristic": "random",
                                                                        "level": 60.0}}

    def make(self, lines, seeds=range(1, 11), **changes):
        arms = dict(self.ARMS)
        for strategy, levels in lines.items():
            for fraction, level in levels.items():
                arms[f"{strategy} {fraction}"] = {"heuristic": "random", "exchange": strategy,
                                                  "fraction": fraction, "level": level, **changes}
        made_runs.make_study(self.folder / "study", arms, seeds, baseline="global")

    def test_the_fraction_that_suffices_is_named_with_what_it_costs(self):
        self.make({"partial": {0.1: 70.0, 0.3: 78.0, 0.7: 80.3},
                   "is-pair": {0.1: 80.3, 0.3: 80.4, 0.7: 80.3},
                   "is": {0.1: 70.0, 0.3: 71.0}})
        self.succeed("study")
        text = self.read("study/report/report.md")
        self.assertIn("partial: 0.7 is the smallest fraction of which it is shown that it is not "
                      "worse than global by more than 0.5 points (p = ", text)
        self.assertIn("is-pair: 0.1 is the smallest fraction", text)
        self.assertIn("30.0 KiB and 2 messages per epoch", text)
        self.assertIn("is: for no fraction is it shown", text)
        for name in ["exchange", "mixing"]:
            self.assertIn("<svg", self.read(f"study/report/figures/{name}.svg"))
        table = [line for line in text.splitlines() if line.startswith("| partial | 0.7")]
        self.assertEqual(len(table), 1)
        self.assertIn("| 10 | 30.0 KiB | 2 | 0.75", table[0].replace("  ", " "))

    def test_how_much_gradients_differ_is_drawn_where_it_was_measured(self):
        self.make({"partial": {0.1: 70.0, 0.3: 78.0}}, [1, 2], dissimilarity=4)
        self.succeed("study")
        self.assertIn("how much the gradients of the workers' parts differ", self.read("study/report/report.md"))
        if not shutil.which("gnuplot"):
            return
        svg = self.read("study/report/figures/dissimilarity.svg")
        # Of five epochs, every fourth: heights of the points, downwards.
        lines = [[float(height) for height in line] for line in re.findall(
            r"M[\d.]+,([\d.]+)" + r" L[\d.]+,([\d.]+)" * 4 + r"(?! ?L)", svg)]
        for fraction in [0.1, 0.3]:
            left = (1 - fraction) ** 8  # of the way that is still to fall, after four epochs
            self.assertTrue(any(second > first and abs((third - second) / (second - first) - left) < 0.01
                                for first, second, third, *_ in lines), (fraction, lines))

    def test_what_was_not_measured_is_not_drawn(self):
        self.make({"partial": {0.1: 70.0, 0.3: 78.0}}, [1, 2])
        self.succeed("study")
        text = self.read("study/report/report.md")
        self.assertIn("figures/mixing.svg", text)
        self.assertNotIn("dissimilarity", text)

    def test_other_settings_are_lines_of_their_own(self):
        self.make({"partial": {0.1: 70.0, 0.3: 78.0}})
        for number, fraction in enumerate([0.1, 0.3]):
            for seed in range(1, 11):
                made_runs.make_run(self.folder / f"more/{number}/{seed}", seed, "random", warmup=5,
                                   exchange="partial", fraction=fraction)
        self.succeed("study/runs", "more", "--no-figures", "-o", "out")
        self.assertIn("partial warmup=5", self.read("out/report.md"))

    def test_one_fraction_is_no_curve(self):
        self.make({"partial": {0.1: 70.0}, "is": {0.1: 70.0}}, [1, 2])
        self.succeed("study", "--no-figures")
        self.assertNotIn("How much is exchanged", self.read("study/report/report.md"))


class LanguageTest(ReportTest):
    TEXTS = ["To be, or not to be:\nthat is", "<script>alert(3)</script>", "a|b \x1b[31m \u202e *c*",
             "\\end{document} 50% $x$", "é" * 400]

    def make(self, name, level, texts=()):
        made_runs.make_run(self.folder / name, 1, level=level, heuristic=name)
        made_runs.make_language(self.folder / name, texts)

    def test_loose_runs_of_language_models_are_judged_by_perplexity(self):
        self.make("random", 70)
        self.make("stripes", 80, self.TEXTS)
        self.succeed("random", "stripes", "--output", "report")
        html = self.read("report/report.html")
        self.assertIn("best perplexity", html)
        self.assertNotIn("accuracy", html.split("<body")[1].split('id="provenance"')[0])
        rows = list(self.rows("report/tables.csv").values())
        self.assertEqual({round(float(row["mean"]), 2) for row in rows},
                         {round(json.loads(self.read(f"{run}/summary.json"))["best_perplexity"], 2)
                          for run in ["random", "stripes"]})

    def test_their_texts_are_shown_and_do_no_harm(self):
        self.make("stripes", 80, self.TEXTS)
        self.succeed("stripes", "--output", "report")
        html, markdown = self.read("report/report.html"), self.read("report/report.md")
        self.assertIn('<section id="texts">', html)
        self.assertIn("To be, or not to be: ⏎ that is", html)
        self.assertIn("book.txt:640", html)
        self.assertIn(">35<", html)  # the id of the fifth, as it is
        self.assertIn("‘q’ 9.2", html)
        self.assertEqual(html.count("<script>"), 1)
        self.assertIn("é" * 150 + "…", html)
        for text in [html, markdown]:
            self.assertNotIn("\x1b", text)
            self.assertNotIn("\u202e", text)
        self.assertNotIn("<script>", markdown)
        self.assertNotIn("end{document}", self.read("report/tables.tex"))

    def test_broken_texts_are_left_out_with_a_word(self):
        self.make("stripes", 80, self.TEXTS)
        with open(self.folder / "stripes/texts.jsonl", "a") as file:
            file.write('{"notion": 3}\n')
        self.succeed("stripes", "--output", "report")
        self.assertRegex(self.read("report/report.html"), r"Left out: .*texts.jsonl:11: ")


class ImagesTest(ReportTest):
    ARMS = {"vanilla": {"heuristic": "random", "interval": 1}, "stripes": {"heuristic": "stripes"},
            "blocks": {"heuristic": "blocks"}}

    def make(self):
        made_runs.make_study(self.folder / "study", self.ARMS, [1, 2], examples=300)
        for number in range(3):
            made_runs.add_images(self.folder / f"study/runs/arm-{number}/1")

    def test_the_hardest_and_easiest_are_shown_where_blocks_put_them(self):
        self.make()
        self.succeed("study")
        html, markdown = self.read("study/report/report.html"), self.read("study/report/report.md")
        section = html.split('<section id="images">')[1].split("</section>")[0]
        self.assertIn("blocks, seed 1: images by loss-variance", section)
        self.assertNotIn("stripes", section)
        self.assertIn("blocks, seed 1: images by confidence", section)
        self.assertIn("<h3>heart: hardest</h3>", section)
        # 4 of each end by two notions, and of each of the 3 classes.
        self.assertEqual(section.count("<img"), 2 * 8 + 3 * 8)
        picture = base64.b64encode(made_runs.png_of((7, 90, 243))).decode()
        self.assertIn(f'<img src="data:image/png;base64,{picture}" alt="example 1: star, taken for '
                      'circle" data-picture="x-1"><b>star</b><span class="worse">→ circle</span>'
                      "<span>1</span><span>worker 1</span>", section)
        self.assertIn("- hardest: 0 (circle) 1 (star → circle) 2 (heart) 3 (circle)", markdown)
        # The first screen has the hardest, in front of all sections.
        self.assertEqual(html.split("<main>")[0].count("<img"), 4)

    def test_what_they_are_called_does_no_harm(self):
        made_runs.make_run(self.folder / "run", 1, examples=300)
        made_runs.add_images(self.folder / "run",
                             names=["<script>alert(1)</script>", "\x1b[31m\u202e", '" onload="x'])
        self.succeed("run")
        for name in ["report.html", "report.md"]:
            text = self.read(f"run/report/{name}")
            self.assertEqual(text.count("<script>"), 1 if name == "report.html" else 0)
            self.assertNotIn("\x1b", text)
            self.assertNotIn("\u202e", text)
        self.assertNotIn('" onload="x', self.read("run/report/report.html"))

    def test_broken_files_are_left_out_with_a_word(self):
        self.make()
        path = self.folder / "study/runs/arm-2/1/images.jsonl"
        for broken in ['{"id": 1}\n', path.read_text().replace('"png": "i', '"png": "?', 1)]:
            path.write_text(broken)
            self.succeed("study")
            self.assertRegex(self.read("study/report/report.html"),
                             r"Left out: .*images.jsonl:1: is no image of a run")


class TimesTest(ReportTest):
    def caution(self, **changes):
        """What is said of times, where the last of two runs has these numbers."""
        made_runs.make_run(self.folder / "runs/1", 1)
        made_runs.make_run(self.folder / "runs/2", 2)
        for run, more in [("1", {"load_average": 1.0}), ("2", {"load_average": 1.0, **changes})]:
            path = self.folder / f"runs/{run}/summary.json"
            path.write_text(json.dumps({**json.loads(path.read_text()), **more}))
        self.succeed("runs")
        found = re.search("Compare times with care: [^<]*", self.read("runs/report/report.html"))
        return found and found.group()

    def test_equal_load_is_not_worth_a_word(self):
        self.assertIsNone(self.caution())

    def test_different_load_carries_a_caution(self):
        self.assertIn("between 1.0 and 2.5 threads", self.caution(load_average=2.5))

    def test_so_do_different_times_of_one_setting(self):
        self.assertIn("took up to 2.0 times as long", self.caution(seconds_train=36.0))

if __name__ == "__main__":
    unittest.main()
