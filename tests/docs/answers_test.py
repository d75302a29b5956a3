"""Numbers of docs/answers stand on the pages that their rows link, and tables of studies are those of
the results kept in git: python3 answers_test.py"""

import csv
import functools
import math
import pathlib
import re
import statistics
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
ANSWERS = ROOT / "docs" / "answers" / "README.md"
NUMBER = re.compile(r"(?<![\w.])\d+(?: \d{3})*(?:\.\d+)?(?![\w.]*\d)")
LINK = re.compile(r"\[([^\]]*)\]\(([^)#]*)[^)]*\)")
NOT_RUN = "not run yet"


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def rows(page, head):
    """The rows of the table whose head begins so, as lists of cells."""
    lines = page.read_text().splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(head))
    table = []
    for line in lines[start + 2:]:
        if not line.startswith("|"):
            break
        table.append(cells(line))
    return table


def numbers(text):
    """As written, without links' targets and thin blanks between thousands."""
    return NUMBER.findall(LINK.sub(r"\1", text))


class Answers(unittest.TestCase):
    def test_there_is_a_row_for_each_of_the_ten_questions(self):
        table = rows(ANSWERS, "| | question |")
        self.assertEqual([row[0] for row in table], [str(i) for i in range(1, 11)])
        for row in table:
            with self.subTest(row[1]):
                self.assertTrue(row[1].endswith("?"))
                if row[2] == NOT_RUN:
                    self.assertEqual(row[3:], ["", "", ""])
                else:
                    self.assertTrue(all(row[2:]), "an answer has n, an interval or p, and a source")

    def test_every_number_stands_on_a_page_that_its_row_links(self):
        checked = 0
        for row in rows(ANSWERS, "| | question |"):
            # What was not run says what would be: those numbers are plans.
            claims = [part for part in re.split(r"[;.] ", " | ".join(row[2:5])) if NOT_RUN not in part]
            pages = [(ANSWERS.parent / target).resolve() for _, target in LINK.findall(" ".join(row))]
            text = "\n".join(page.read_text() for page in pages)
            for number in numbers(" ".join(claims)):
                with self.subTest(f"question {row[0]}: {number}"):
                    self.assertRegex(text, rf"(?<![\d.]){re.escape(number)}(?!\d|\.\d)")
                    checked += 1
        self.assertGreater(checked, 20)


def beyond(t, degrees, steps=2000):
    """How likely Student's t is to exceed t, by Simpson's rule."""
    scale = math.gamma((degrees + 1) / 2) / math.gamma(degrees / 2) / math.sqrt(degrees * math.pi)
    width = t / steps
    return 0.5 - scale * width / 3 * sum(
        (4 if i % 2 else 2 if 0 < i < steps else 1)
        * (1 + (i * width) ** 2 / degrees) ** (-(degrees + 1) / 2) for i in range(steps + 1))


@functools.cache
def quantile_of_t(degrees, tail=0.025):
    low, high = 0.0, 100.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if beyond(middle, degrees) > tail else (low, middle)
    return low


class FastRecipe(unittest.TestCase):
    """Who trains on what, on one GPU: every number of the table, from the runs."""

    def setUp(self):
        self.values = {}
        with open(ROOT / "experiments/gpu/results/fast94.csv", newline="") as file:
            for run in csv.DictReader(file):
                self.values.setdefault(run["arm"], {})[run["seed"]] = float(run["final_accuracy"])

    def differences(self, arm):
        base = self.values["vanilla"]
        return [value - base[seed] for seed, value in self.values[arm].items() if seed in base]

    def test_the_table_is_that_of_the_runs(self):
        table = rows(ROOT / "docs/results/gpu.md", "| arm | n | accuracy |")
        self.assertEqual({row[0] for row in table}, set(self.values))
        chances = {}
        for arm, n, mean, deviation, paired, _ in table:
            with self.subTest(arm):
                own = list(self.values[arm].values())
                self.assertEqual(int(n), len(own))
                self.assertEqual(mean.strip("*"), f"{statistics.mean(own):.2f}")
                self.assertEqual(deviation, f"{statistics.stdev(own):.2f}")
                if arm == "vanilla":
                    continue
                pairs = self.differences(arm)
                error = statistics.stdev(pairs) / math.sqrt(len(pairs))
                middle = statistics.mean(pairs)
                half = quantile_of_t(len(pairs) - 1) * error
                self.assertEqual(paired, f"{middle:.3f} ± {half:.3f}".replace("-", "−"))
                chances[arm] = 2 * beyond(abs(middle) / error, len(pairs) - 1)
        smallest = min(chances, key=chances.get)  # Holm: of two, the smaller counts twice
        for arm, *_, written in table:
            if arm in chances:
                adjusted = 2 * chances[arm] if arm == smallest else chances[arm]
                self.assertAlmostEqual(float(written), adjusted, delta=0.006)


def signed(number, digits):
    return f"{number:+.{digits}f}".replace("-", "−")


def thousands(number):
    return f"{number:,.0f}".replace(",", " ")


def spread(values, digits):
    return f"{statistics.mean(values):.{digits}f} ± {statistics.stdev(values):.{digits}f}"


class Paired:
    """Differences of the runs of two arms with the same seeds, by Student's t."""

    def __init__(self, runs, base, measure="best_accuracy"):
        differences = [float(run[measure]) - float(base[seed][measure])
                       for seed, run in runs.items() if seed in base]
        degrees = len(differences) - 1
        error = statistics.stdev(differences) / math.sqrt(len(differences))
        self.pairs = len(differences)
        self.mean = statistics.mean(differences)
        self.half = quantile_of_t(degrees) * error
        self.degrees, self.error = degrees, error
        self.p = 2 * max(0, beyond(abs(self.mean) / error, degrees))

    def not_worse(self, margin):
        """p of "worse by the margin", where the mean is better than that."""
        return beyond((self.mean + margin) / self.error, self.degrees)

    def interval(self, digits):
        return f"{signed(self.mean - self.half, digits)} … {signed(self.mean + self.half, digits)}"


def holm(chances):
    """By name, corrected."""
    adjusted, found = 0, {}
    for rank, name in enumerate(sorted(chances, key=chances.get)):
        adjusted = max(adjusted, min(1, (len(chances) - rank) * chances[name]))
        found[name] = adjusted
    return found


def written_p(text):
    return 0 if text.startswith("<") else float(text)


def read_runs(path, name=lambda run: run["arm"]):
    """{arm: {seed: run}}"""
    runs = {}
    with open(ROOT / path, newline="") as file:
        for run in csv.DictReader(file):
            runs.setdefault(name(run), {})[run["seed"]] = run
    return runs


def column(runs, name):
    return [float(run[name]) for run in runs.values()]


class Selection(unittest.TestCase):
    """Which visits can be saved: every number of the tables, from the runs."""

    def check_table(self, head, results):
        runs = read_runs(results)
        table = rows(ROOT / "docs/answers/selection.md", head)
        self.assertEqual({row[0] for row in table}, set(runs))
        chances, written = {}, {}
        for arm, n, accuracy, difference, interval, p, visits, seconds in table:
            with self.subTest(arm):
                own = column(runs[arm], "best_accuracy")
                self.assertEqual(int(n), len(own))
                self.assertEqual(accuracy, spread(own, 3))
                self.assertEqual(visits, thousands(statistics.mean(column(runs[arm], "visits"))))
                self.assertEqual(seconds, f"{statistics.median(column(runs[arm], 'seconds_train')):.2f} s")
                if arm == "vanilla":
                    continue
                paired = Paired(runs[arm], runs["vanilla"])
                self.assertEqual(difference, signed(paired.mean, 3))
                self.assertEqual(interval, paired.interval(3))
                chances[arm], written[arm] = paired.p, written_p(p)
        for arm, adjusted in holm(chances).items():
            self.assertAlmostEqual(written[arm], adjusted, delta=0.0006)

    def test_the_table_is_that_of_the_runs(self):
        self.check_table("| setting | n | accuracy |", "experiments/gpu/results/selection-fast94.csv")

    def test_the_table_of_the_larger_model_is_that_of_the_runs(self):
        self.check_table("| recipe95 | n | accuracy |", "experiments/gpu/results/selection-cifar10.csv")

    def test_not_worse_by_a_tenth_of_a_point_or_two(self):
        runs = read_runs("experiments/gpu/results/selection-fast94.csv")
        for arm, margin, p in [("kakurenbo", 0.1, 0.0004), ("infobatch", 0.2, 0.059)]:
            with self.subTest(arm):
                self.assertAlmostEqual(Paired(runs[arm], runs["vanilla"]).not_worse(margin), p, delta=0.0006)

    def test_the_table_of_text_is_that_of_the_runs(self):
        runs = read_runs("experiments/gpu/results/selection-language.csv")
        check_perplexities(self, rows(ROOT / "docs/answers/selection.md", "| language | n | perplexity |"),
                           runs, "vanilla", lambda own: thousands(statistics.mean(column(own, "visits"))))


def check_perplexities(test, table, runs, base, last):
    """Rows of arm, n, perplexity, difference to the base, interval, Holm's p, and `last` of the runs."""
    test.assertEqual({row[0] for row in table}, set(runs))
    chances, written = {}, {}
    for arm, n, perplexity, difference, interval, p, end in table:
        with test.subTest(arm):
            test.assertEqual(int(n), len(runs[arm]))
            test.assertEqual(perplexity, spread(column(runs[arm], "best_perplexity"), 2))
            test.assertEqual(end, last(runs[arm]))
            if arm == base:
                continue
            paired = Paired(runs[arm], runs[base], "best_perplexity")
            test.assertEqual(difference, signed(paired.mean, 2))
            test.assertEqual(interval, paired.interval(2))
            chances[arm], written[arm] = paired.p, written_p(p)
    for arm, adjusted in holm(chances).items():
        test.assertAlmostEqual(written[arm], adjusted, delta=0.0006)


class Exchange(unittest.TestCase):
    """How much must be exchanged from parts of one class: both tables, from the runs."""

    EPOCHS = 20

    def setUp(self):
        self.runs = {arm.replace(" fraction=", " "): runs for arm, runs in
                     read_runs("experiments/exchange-fraction/results.csv").items()
                     if "group norm" not in arm}
        self.page = ROOT / "docs/answers/exchange.md"

    def test_the_table_is_that_of_the_runs(self):
        table = rows(self.page, "| setting | n | accuracy |")
        self.assertEqual({row[0] for row in table}, set(self.runs))
        chances, written = {}, {}
        for arm, n, accuracy, difference, interval, p, moved, messages in table:
            with self.subTest(arm):
                runs = self.runs[arm]
                self.assertEqual(int(n), len(runs))
                self.assertEqual(accuracy, spread(column(runs, "best_accuracy"), 2))
                for text, name in [(moved, "examples_moved"), (messages, "messages")]:
                    self.assertEqual(text, thousands(statistics.mean(column(runs, name)) / self.EPOCHS))
                if arm == "global":
                    continue
                paired = Paired(runs, self.runs["global"])
                self.assertEqual(difference, signed(paired.mean, 2))
                self.assertEqual(interval, paired.interval(2))
                chances[arm], written[arm] = paired.p, written_p(p)
        for arm, adjusted in holm(chances).items():
            self.assertAlmostEqual(written[arm], adjusted, delta=0.0006)

    def test_importance_is_held_against_chance(self):
        for fraction, *differences in rows(self.page, "| exchanged | is − partial |"):
            for strategy, text in zip(["is", "is-pair", "ilag-pair"], differences):
                with self.subTest(f"{strategy} {fraction}"):
                    paired = Paired(self.runs[f"{strategy} {fraction}"], self.runs[f"partial {fraction}"])
                    self.assertEqual(text, f"{signed(paired.mean, 2)} ± {paired.half:.2f}")


class LocalUpdates(unittest.TestCase):
    """Where local updates make placement matter: both tables, from the runs."""

    PLACES = {"every step": "step", "every 10 steps": "10", "every 50 steps": "50", "once an epoch": "epoch"}

    @staticmethod
    def cell_of(run):
        place = run["config.partition.heuristic"]
        if run["config.partition.start"] == "by-class":
            place = "by-class"
        if run["config.exchange.strategy"] == "is-pair":
            place += ", is-pair 0.1"
        if run["config.model.norm"] == "group" or run["arm"] == "vanilla":
            place = run["arm"]
        return run["config.workers.outer"], place, run["config.workers.sync"]

    def setUp(self):
        self.runs = read_runs("experiments/local-placement/results.csv", self.cell_of)
        self.page = ROOT / "docs/answers/local.md"

    def test_the_table_of_language_is_that_of_the_runs(self):
        check_perplexities(self, rows(ROOT / "docs/answers/local.md", "| local language | n | perplexity |"),
                           read_runs("experiments/gpu/results/local-gpt-mini.csv"), "synchronous",
                           lambda own: f"{statistics.mean(column(own, 'bytes_weights')) / 1e9:.1f} GB")

    def test_the_table_is_that_of_the_runs(self):
        for rule, place, *means in rows(self.page, "| outer rule | placement | every step |"):
            for text, sync in zip(means, self.PLACES.values()):
                with self.subTest(f"{rule} {place} {sync}"):
                    runs = self.runs.get((rule, place, sync), {})
                    expected = spread(column(runs, "best_accuracy"), 2) if runs else ""
                    self.assertEqual(text, expected + (f" (n {len(runs)})" if len(runs) == 2 else ""))

    def test_differences_are_those_of_paired_seeds(self):
        table = rows(self.page, "| outer rule | placement | H |")
        chances = {}
        for rule, place, sync, difference, interval, p, _ in table:
            with self.subTest(f"{rule} {place} {sync}"):
                paired = Paired(self.runs[rule, place, sync], self.runs[rule, "random", sync])
                self.assertEqual(paired.pairs, 3)
                self.assertEqual(difference, signed(paired.mean, 2))
                self.assertEqual(interval, paired.interval(2))
                self.assertAlmostEqual(float(p), paired.p, delta=0.001)
                chances[rule, place, sync] = paired.p
        adjusted = holm(chances)
        for rule, place, sync, *_, written in table:
            self.assertAlmostEqual(float(written), adjusted[rule, place, sync], delta=0.006)


if __name__ == "__main__":
    unittest.main()
