"""Numbers of docs/answers stand on the pages that their rows link; that they are those of the results kept
in git is tested here and, page by page, in the files beside: python3 answers_test.py"""

import re
import statistics
import unittest

from answers import (ROOT, Paired, check_claims, check_corrected, column, mean_of, power, read_runs, read_table, rows,
                     spread)

ANSWERS = ROOT / "docs" / "answers" / "README.md"
NUMBER = re.compile(r"(?<![\w.])\d+(?: \d{3})*(?:\.\d+)?(?![\w.]*\d)")
LINK = re.compile(r"\[([^\]]*)\]\(([^)#]*)[^)]*\)")
NOT_RUN = "not run yet"


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


class FastRecipe(unittest.TestCase):
    """Question 2: who trains on what, on one GPU, docs/results/gpu.md."""

    PAGE = ROOT / "docs/results/gpu.md"

    def setUp(self):
        self.runs = read_runs("experiments/gpu/results/fast94.csv")
        self.paired = {arm: Paired(self.runs[arm], self.runs["vanilla"], "final_accuracy") for arm in ["stripes", "blocks"]}

    def test_the_table_is_that_of_the_runs(self):
        table = rows(self.PAGE, "| arm | n | accuracy |")
        self.assertEqual({row[0] for row in table}, set(self.runs))
        for arm, n, mean, deviation, paired, _ in table:
            with self.subTest(arm):
                own = column(self.runs[arm], "final_accuracy")
                self.assertEqual(int(n), len(own))
                self.assertEqual(f"{mean.strip('*')} ± {deviation}", spread(own, 2))
                if arm != "vanilla":
                    self.assertEqual(paired, self.paired[arm].text(3).lstrip("+"))
        check_corrected(self, {row[0]: row[-1] for row in table},
                        {arm: paired.p for arm, paired in self.paired.items()}, delta=0.006)

    def shared(self, arm):
        """Correlation over seeds, and the share of a difference's variance that pairing removes."""
        base = self.runs["vanilla"]
        own, other = ([float(runs[seed]["final_accuracy"]) for seed in base] for runs in (self.runs[arm], base))
        alone = statistics.variance(own) + statistics.variance(other)
        together = statistics.variance([a - b for a, b in zip(own, other)])
        return statistics.correlation(own, other), 1 - together / alone

    def test_what_a_hundred_seeds_can_see(self):
        stripes = self.paired["stripes"]
        shift = 0.05 / stripes.error
        (r_stripes, stripes_removed), (r_blocks, blocks_removed) = self.shared("stripes"), self.shared("blocks")
        check_claims(self, self.PAGE, [
            ("not worse by 0.05 points (p = {})", f"{stripes.not_worse(0.05):.3f}"),
            ("The standard deviation of a paired difference is {} for Stripes and {} for Blocks",
             *(f"{self.paired[arm].error * 10:.2f}" for arm in ["stripes", "blocks"])),
            ("a hundred seeds see 0.05 points of the former with a power of {} %, or {} with 80 %; corrected for two arms "
             "with {} %, or {} with 80 %", f"{100 * power(99, shift):.0f}", f"{stripes.detectable():.3f}",
             f"{100 * power(99, shift, 2):.0f}", f"{stripes.detectable(2):.3f}"),
            ("correlate with vanilla's of the same seed by {} and {}, which takes {} and {} % off the variance of a difference",
             f"{r_stripes:.2f}", f"{r_blocks:.2f}", f"{100 * stripes_removed:.0f}", f"{100 * blocks_removed:.0f}"),
        ])

    def test_the_list_of_answers_says_what_the_runs_say(self):
        means = {arm: f"{mean_of(runs, 'final_accuracy'):.2f}" for arm, runs in self.runs.items()}
        check_claims(self, ANSWERS, [
            ("Stripes do not ({} against {}, and not worse by 0.05 points: p = {}), Blocks are a little worse ({})",
             means["stripes"], means["vanilla"], f"{self.paired['stripes'].not_worse(0.05):.3f}", means["blocks"]),
            ("Stripes {}, Blocks {}; Holm p", *(self.paired[arm].text(3) for arm in ["stripes", "blocks"])),
        ])


class Mixing(unittest.TestCase):
    """How fast exchanges make workers alike: the table and its law, from the runs."""

    PAGE = ROOT / "docs/answers/mixing.md"
    WORKERS, CHANCE = 16, 0.05  # of what was measured, the most that random parts leave

    def setUp(self):
        self.shares = {}
        for run in read_table("experiments/dissimilarity/law.csv"):
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


if __name__ == "__main__":
    unittest.main()
