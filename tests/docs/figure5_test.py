"""Question 1: docs/answers/figure5.md is what the published runs and ours say: python3 figure5_test.py"""

import math
import statistics
import unittest

from answers import ROOT, Paired, check_claims, column, holm, mean_of, quantile_of_t, read_runs, read_table, rows, signed, spread

PAGE = ROOT / "docs/answers/figure5.md"
STUDY = "resnet18-cifar10"
NETS = {"resnet18-cifar10": "ResNet-18, CIFAR-10", "resnet34-cifar10": "ResNet-34, CIFAR-10",
        "resnet34-cifar100": "ResNet-34, CIFAR-100"}
ALL_RUNS, SETTINGS = 280, 36


class Published:
    """One setting's ten runs, of which mean and deviation are kept."""

    def __init__(self, row):
        self.study, self.arm, self.in_figure = row["study"], row["arm"], row["in_figure"] == "yes"
        self.table = self.arm.split(" W")[0]
        self.n, self.mean, self.deviation = int(row["n"]), float(row["mean"]), float(row["standard_deviation"])
        self.error = self.deviation / math.sqrt(self.n)

    def interval(self):
        half = quantile_of_t(self.n - 1) * self.error
        return self.mean - half, self.mean + half

    def place_of(self, mean):
        low, high = self.interval()
        return "inside" if low <= mean <= high else "below" if mean < low else "above"


class Figure5(unittest.TestCase):
    def setUp(self):
        self.published = [Published(row) for row in read_table("experiments/figure5/published.csv")]
        self.tables = {}
        for setting in self.published:
            self.tables.setdefault((setting.study, setting.table), []).append(setting)
        self.shown = {one.arm: one for one in self.published if one.study == STUDY and one.in_figure}
        self.runs = read_runs(f"experiments/figure5/{STUDY}.csv")
        self.means = {arm: mean_of(runs) for arm, runs in self.runs.items()}
        self.inside = sum(self.shown[arm].place_of(mean) == "inside" for arm, mean in self.means.items())
        self.others = [arm for arm in self.means if arm != "vanilla"]
        self.to_vanilla = {arm: Paired(runs, self.runs["vanilla"]) for arm, runs in self.runs.items() if arm != "vanilla"}

    def mean_of_table(self, arm):
        return statistics.mean(one.mean for one in self.tables[STUDY, self.shown[arm].table])

    def test_what_is_published_is_whole(self):
        sizes = {key: len(settings) for key, settings in self.tables.items()}
        self.assertEqual(sorted(sizes.values()), [1] * 3 + [SETTINGS] * 5)
        self.assertEqual(sum(one.n for one in self.published), 1830)
        for key, settings in self.tables.items():
            best = sorted(settings, key=lambda one: -one.mean)[:5]
            self.assertEqual({one.arm for one in best}, {one.arm for one in settings if one.in_figure}, key)

    def test_the_cells_are_those_of_the_runs(self):
        table = rows(PAGE, "| setting | published, n 10 |")
        self.assertEqual([row[0] for row in table], list(self.shown))
        corrected = holm({arm: paired.p for arm, paired in self.to_vanilla.items()})
        for arm, published, interval, n, ours, place, less, less_all, vanilla in table:
            with self.subTest(arm):
                theirs, mean = self.shown[arm], mean_of(self.runs[arm])
                low, high = theirs.interval()
                self.assertEqual(published, f"{theirs.mean:.2f} ± {theirs.deviation:.2f}")
                self.assertEqual(interval, f"{low:.2f} … {high:.2f}")
                self.assertEqual((int(n), ours), (len(self.runs[arm]), spread(column(self.runs[arm], "best_accuracy"), 2)))
                self.assertEqual(place, theirs.place_of(mean))
                self.assertEqual(less, signed(mean - theirs.mean, 2))
                if arm == "vanilla":
                    self.assertEqual((less_all, vanilla), ("", ""))
                    continue
                self.assertEqual(less_all, signed(mean - self.mean_of_table(arm), 2))
                self.assertEqual(vanilla, f"{self.to_vanilla[arm].text(2)} ({corrected[arm]:.2f})")

    def test_settings_lie_no_further_apart_than_seeds_put_them(self):
        table = rows(PAGE, "| net and data | table |")
        self.assertEqual(len(table), 5)
        for net, name, vanilla, everything, best, deviation, chance in table:
            with self.subTest(f"{net}: {name}"):
                study = next(study for study, title in NETS.items() if title == net)
                settings = self.tables[study, name]
                means = [one.mean for one in settings]
                by_chance = math.sqrt(statistics.mean(one.error ** 2 for one in settings))
                self.assertEqual(vanilla, f"{self.tables[study, 'vanilla'][0].mean:.2f}")
                self.assertEqual(everything, f"{statistics.mean(means):.2f}")
                self.assertEqual(best, f"{statistics.mean(one.mean for one in settings if one.in_figure):.2f}")
                self.assertEqual((deviation, chance), (f"{statistics.stdev(means):.3f}", f"{by_chance:.3f}"))
                self.assertEqual(statistics.stdev(means) < by_chance, name.startswith("stripes"))

    def test_nothing_is_shown_to_be_better_than_vanilla(self):
        self.assertGreater(min(paired.p for paired in self.to_vanilla.values()), 0.05)
        for one in self.published:
            if one.in_figure and one.arm != "vanilla":
                vanilla = self.tables[one.study, "vanilla"][0]
                self.assertLess((one.mean - vanilla.mean) / math.hypot(one.error, vanilla.error), 1.96, one.arm)

    def test_the_prose_is_that_of_the_runs(self):
        self.assertEqual({self.shown[arm].place_of(mean) for arm, mean in self.means.items()}, {"inside", "below"})
        done = sum(len(runs) for runs in self.runs.values())
        lowest = [min(runs, key=lambda seed: float(runs[seed]["best_accuracy"])) for runs in self.runs.values()]
        intervals = {}
        for one in self.tables[STUDY, "blocks loss-variance"]:
            intervals.setdefault(int(one.arm.split(" I")[1]), []).append(one.mean)
        check_claims(self, PAGE, [
            ("As far as {} of its {} runs tell", done, ALL_RUNS),
            ("{} of {} cells are inside the published 95 % interval, and the others below it. The {} that the figure chose are {} "
             "points lower on average", self.inside, len(self.means), len(self.others),
             f"{statistics.mean(self.shown[arm].mean - self.means[arm] for arm in self.others):.2f}"),
            ("they are {} points lower, as vanilla, which nobody chose, is by {}.",
             f"{statistics.mean(self.mean_of_table(arm) - self.means[arm] for arm in self.others):.2f}",
             f"{self.shown['vanilla'].mean - self.means['vanilla']:.2f}"),
            ("Holm's correction over the {}.", len(self.others)),
            ("seed {} is the lowest of all but one", statistics.mode(lowest)),
            ("by interval their means are {} (1 epoch), {} (5 epochs), {} (8 epochs), {} (10 epochs), {} (15 epochs), {} (30 "
             "epochs)", *(f"{statistics.mean(intervals[length]):.2f}" for length in sorted(intervals))),
            ("{} of the 160 runs of ResNet-18", 160 - done),
        ])
        self.assertEqual(lowest.count(statistics.mode(lowest)), len(lowest) - 1)

    def test_the_list_of_answers_says_so(self):
        stripes, blocks = (self.tables[STUDY, f"{name} loss-variance"] for name in ["stripes", "blocks"])

        def of_interval(length):
            return f"{statistics.mean(one.mean for one in blocks if one.arm.endswith(f' I{length}')):.2f}"
        check_claims(self, ROOT / "docs/answers/README.md", [
            ("{} of {} cells of Figure 5 are inside the published 95 % interval (vanilla {} against {}), the others "
             "below it. The {} that the figure chose are {} points lower on average, {} than the mean of all {} settings",
             self.inside, len(self.means), f"{self.means['vanilla']:.2f}", f"{self.shown['vanilla'].mean:.2f}",
             len(self.others),
             f"{statistics.mean(self.shown[arm].mean - self.means[arm] for arm in self.others):.2f}",
             f"{statistics.mean(self.mean_of_table(arm) - self.means[arm] for arm in self.others):.2f}", SETTINGS),
            ("(deviation of {} means {}, by chance {}); Blocks do ({} dealt anew every epoch, {} every 30)", SETTINGS,
             f"{statistics.stdev(one.mean for one in stripes):.3f}",
             f"{math.sqrt(statistics.mean(one.error ** 2 for one in stripes)):.3f}", of_interval(1), of_interval(30)),
            ("| {} to {} | Holm p of {} cells against vanilla, the least: {} |", min(map(len, self.runs.values())),
             max(map(len, self.runs.values())), len(self.others),
             f"{min(holm({arm: paired.p for arm, paired in self.to_vanilla.items()}).values()):.2f}"),
        ])


if __name__ == "__main__":
    unittest.main()
