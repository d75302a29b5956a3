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
                    self.assertTrue(re.search(rf"(?<![\d.]){re.escape(number)}(?!\d|\.\d)", text),
                                    f"{number} is on none of {[page.name for page in pages]}")
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
    """How much must be exchanged from parts of one class: the tables, from the runs."""

    # Study, epochs, heads of the tables of accuracies and of differences to chance.
    STUDIES = [("exchange-fraction", 20, "| setting | n |", "| exchanged | is − partial |"),
               ("exchange-cifar100", 20, "| CIFAR-100 | n |", "| CIFAR-100, exchanged |"),
               ("exchange-2048", 40, "| 2 048 workers | n |", "| 2 048 workers, exchanged |")]
    PAGE = ROOT / "docs/answers/exchange.md"

    @staticmethod
    def read(study):
        # Group norm did not learn at the learning rate of these runs.
        return {arm.replace(" fraction=", " "): runs for arm, runs in
                read_runs(f"experiments/{study}/results.csv").items() if "group norm" not in arm}

    def check_table(self, all_runs, epochs, table):
        self.assertEqual({row[0] for row in table}, set(all_runs))
        chances, written = {}, {}
        for arm, n, accuracy, difference, interval, p, moved, messages in table:
            with self.subTest(arm):
                runs = all_runs[arm]
                self.assertEqual(int(n), len(runs))
                self.assertEqual(accuracy, spread(column(runs, "best_accuracy"), 2))
                for text, name in [(moved, "examples_moved"), (messages, "messages")]:
                    self.assertEqual(text, thousands(statistics.mean(column(runs, name)) / epochs))
                if arm == "global":
                    continue
                paired = Paired(runs, all_runs["global"])
                self.assertEqual(difference, signed(paired.mean, 2))
                self.assertEqual(interval, paired.interval(2))
                chances[arm], written[arm] = paired.p, written_p(p)
        for arm, adjusted in holm(chances).items():
            self.assertAlmostEqual(written[arm], adjusted, delta=0.0006)

    def test_the_tables_are_those_of_the_runs(self):
        for study, epochs, head, _ in self.STUDIES:
            with self.subTest(study):
                self.check_table(self.read(study), epochs, rows(self.PAGE, head))

    def test_importance_is_held_against_chance(self):
        for study, _, _, head in self.STUDIES:
            runs = self.read(study)
            for fraction, *differences in rows(self.PAGE, head):
                for strategy, text in zip(["is", "is-pair", "ilag-pair"], differences):
                    with self.subTest(f"{study}: {strategy} {fraction}"):
                        paired = Paired(runs[f"{strategy} {fraction}"], runs[f"partial {fraction}"])
                        self.assertEqual(text, f"{signed(paired.mean, 2)} ± {paired.half:.2f}")

    def test_importance_is_held_against_chance_over_all_fractions(self):
        runs, page = self.read("exchange-cifar100"), self.PAGE.read_text()
        fractions = ["0.05", "0.1", "0.3", "0.7"]
        for strategy in ["is", "is-pair", "ilag-pair"]:
            means = [{seed: {"mean": statistics.mean(float(runs[f"{name} {q}"][seed]["best_accuracy"]) for q in fractions)}
                      for seed in runs["global"]} for name in (strategy, "partial")]
            paired = Paired(*means, "mean")
            self.assertIn(f"{signed(paired.mean, 2)} ± {paired.half:.2f}", page, strategy)

    def test_what_is_not_worse_than_dealing_anew(self):
        runs = self.read("exchange-cifar100")
        worse = {(name, q): Paired(runs[f"{name} {q}"], runs["global"]).not_worse(0.5)
                 for name in ["partial", "is", "is-pair", "ilag-pair"] for q in ["0.05", "0.1", "0.3", "0.7"]}
        self.assertEqual([cell for cell, p in worse.items() if p < 0.05], [("partial", "0.7")])
        self.assertIn(f"p = {worse['partial', '0.7']:.3f}", self.PAGE.read_text())


class BatchNorm(unittest.TestCase):
    """Whether it is batch norm that parts of one class hurt: the table, from the runs."""

    PAGE = ROOT / "docs/answers/batch_norm.md"
    STARTS = [", random start", "", ", partial", ", is-pair"]

    @staticmethod
    def read(net_and_data):
        name = net_and_data.lower().replace("-", "").replace(", ", "-")
        return read_runs(f"experiments/is-it-batch-norm/{name}.csv")

    def test_the_table_is_that_of_the_runs(self):
        chances, written, seen = {}, {}, 0
        for title, norm, n, *means, difference, interval, p in rows(self.PAGE, "| net and data |"):
            runs = self.read(title)
            with self.subTest(f"{title}: {norm}"):
                for start, text in zip(self.STARTS, means):
                    own = runs.get(norm + start, {})
                    seen += len(own)
                    self.assertEqual(text, spread(column(own, "best_accuracy"), 2) if own else "")
                    self.assertTrue(not own or len(own) == int(n))
                if norm + ", random start" not in runs:
                    self.assertEqual((difference, interval, p), ("", "", ""))
                    continue
                paired = Paired(runs[norm], runs[norm + ", random start"])
                self.assertEqual(difference, signed(paired.mean, 2))
                self.assertEqual(interval, paired.interval(2))
                chances[title, norm], written[title, norm] = paired.p, written_p(p)
        self.assertEqual(seen, 80 + 80 + 24)
        for cell, adjusted in holm(chances).items():
            self.assertAlmostEqual(written[cell], adjusted, delta=0.0006)

    def test_what_batch_norm_loses_is_lost_by_no_other_norm(self):
        for title, norm, text in [("ResNet-18, CIFAR-10", "group norm", "42.5 ± 8.1"),
                                  ("ResNet-18, CIFAR-100", "group norm", "42.7 ± 0.9"),
                                  ("ResNet-18, CIFAR-10", "shared", "43.2 ± 6.7"),
                                  ("ResNet-18, CIFAR-100", "shared", "42.1 ± 1.9")]:
            runs = self.read(title)

            def loss(norm):
                return {seed: {"loss": float(run["best_accuracy"]) - float(runs[norm][seed]["best_accuracy"])}
                        for seed, run in runs[norm + ", random start"].items()}
            with self.subTest(f"{title}: {norm}"):
                paired = Paired(loss("worker"), loss(norm), "loss")
                self.assertEqual(text, f"{paired.mean:.1f} ± {paired.half:.1f}")
                self.assertIn(text, self.PAGE.read_text())
                self.assertLess(paired.p, 0.00015)

    def test_what_an_exchange_changes(self):
        page = self.PAGE.read_text()
        for title in ["ResNet-18, CIFAR-10", "ResNet-18, CIFAR-100"]:
            runs = self.read(title)
            for norm in ["shared", "group norm"]:
                paired = Paired(runs[norm + ", partial"], runs[norm])
                self.assertIn(f"{signed(paired.mean, 2)} ± {paired.half:.2f}", page)


class Mixing(unittest.TestCase):
    """How fast exchanges make workers alike: the table and its law, from the runs."""

    PAGE = ROOT / "docs/answers/mixing.md"
    WORKERS, CHANCE = 16, 0.05  # of what was measured, the most that random parts leave

    def setUp(self):
        self.shares = {}
        with open(ROOT / "experiments/dissimilarity/law.csv", newline="") as file:
            for run in csv.DictReader(file):
                after = [float(run[f"after_{k}"]) / float(run["before"]) for k in (1, 2, 3)]
                self.shares.setdefault((run["strategy"], run["fraction"]), []).append(after)

    def law(self, strategy, fraction):
        q = float(fraction)
        if "pair" not in strategy:
            return (1 - q) ** 2
        return (1 - q) ** 2 + q ** 2 - 2 * q * (1 - q) / (self.WORKERS - 1)

    def test_the_table_is_that_of_the_runs_and_near_the_law(self):
        table = rows(self.PAGE, "| exchange | Q |")
        self.assertEqual({(row[0], row[1]) for row in table}, {key for key in self.shares if key[1] != "0"})
        for strategy, fraction, *texts in table:
            runs, law = self.shares[strategy, fraction], self.law(strategy, fraction)
            self.assertEqual(len(runs), 5)
            for k in range(3):
                with self.subTest(f"{strategy} {fraction} after {k + 1}"):
                    measured = [run[k] for run in runs]
                    self.assertEqual(texts[2 * k], spread(measured, 3))
                    self.assertEqual(texts[2 * k + 1], f"{law ** (k + 1):.3f}")
                    self.assertLess(abs(statistics.mean(measured) - law ** (k + 1)), self.CHANCE)


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

    def test_the_table_without_norms_is_that_of_the_runs(self):
        runs = read_runs("experiments/skew-local/results.csv", lambda run: (
            run["arm"] if run["arm"] == "dealt anew" else
            (run["config.partition.start"] + (", partial 0.3" if run["config.exchange.strategy"] == "partial" else ""),
             run["config.workers.sync"])))
        chances, written = {}, {}
        for place, sync, n, random, mean, difference, interval, p in rows(self.page, "| no norms | H |"):
            with self.subTest(f"{place} {sync}"):
                paired = Paired(runs[place, sync], runs["random", sync])
                self.assertEqual((int(n), paired.pairs), (5, 5))
                self.assertEqual(random, spread(column(runs["random", sync], "best_accuracy"), 2))
                self.assertEqual(mean, spread(column(runs[place, sync], "best_accuracy"), 2))
                self.assertEqual(difference, signed(paired.mean, 2))
                self.assertEqual(interval, paired.interval(2))
                chances[place, sync], written[place, sync] = paired.p, written_p(p)
        self.assertEqual(len(chances), len(runs) - 4)  # all but random parts at three H and dealing anew
        for cell, adjusted in holm(chances).items():
            self.assertAlmostEqual(written[cell], adjusted, delta=0.0006)
        self.assertIn(spread(column(runs["dealt anew"], "best_accuracy"), 2), self.page.read_text())

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
