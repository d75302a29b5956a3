"""Question 6: tables and prose of docs/answers/selection.md are those of the runs kept in git:
python3 selection_answers_test.py"""

import statistics
import unittest

from answers import (ROOT, Paired, check_claims, check_corrected, check_perplexities, column, mean_of, read_runs, rows,
                     signed, spread, thousands)

PAGE = ROOT / "docs/answers/selection.md"
FAST = "experiments/gpu/results/selection-fast94.csv"
LARGER = "experiments/gpu/results/selection-cifar10.csv"
TEXT = "experiments/gpu/results/selection-language.csv"


def median_of(runs, name):
    return statistics.median(column(runs, name))


class Tables(unittest.TestCase):
    def check_table(self, head, results):
        runs = read_runs(results)
        table = rows(PAGE, head)
        self.assertEqual({row[0] for row in table}, set(runs))
        chances, written = {}, {}
        for arm, n, accuracy, difference, interval, p, visits, seconds in table:
            with self.subTest(arm):
                own = column(runs[arm], "best_accuracy")
                self.assertEqual(int(n), len(own))
                self.assertEqual(accuracy, spread(own, 3))
                self.assertEqual(visits, thousands(mean_of(runs[arm], "visits")))
                self.assertEqual(seconds, f"{median_of(runs[arm], 'seconds_train'):.2f} s")
                if arm == "vanilla":
                    continue
                paired = Paired(runs[arm], runs["vanilla"])
                self.assertEqual(difference, signed(paired.mean, 3))
                self.assertEqual(interval, paired.interval(3))
                chances[arm], written[arm] = paired.p, p
        check_corrected(self, written, chances)

    def test_fast94(self):
        self.check_table("| setting | n | accuracy |", FAST)

    def test_the_larger_model(self):
        self.check_table("| recipe95 | n | accuracy |", LARGER)

    def test_text(self):
        check_perplexities(self, rows(PAGE, "| language | n | perplexity |"), read_runs(TEXT), "vanilla",
                           lambda own: thousands(mean_of(own, "visits")))


class Prose(unittest.TestCase):
    def test_of_fast94(self):
        runs = read_runs(FAST)

        def against(arm, other):
            return Paired(runs[arm], runs[other])

        def cost(arm):
            return -against(arm, "vanilla").mean

        def fewer(arm):
            return f"{100 * (1 - mean_of(runs[arm], 'visits') / mean_of(runs['vanilla'], 'visits')):.0f}"
        self.assertEqual({run["visits_max_over_mean"] for own in runs.values() for run in own.values()}, {"1"})
        infobatch = mean_of(runs["infobatch"], "seconds_train") / mean_of(runs["vanilla"], "seconds_train")
        contrasts = [against("infobatch", "random"), against("infobatch", "fewer-epochs"),
                     against("kakurenbo", "infobatch"), against("sampling", "random")]
        more = mean_of(runs["kakurenbo"], "visits") / mean_of(runs["infobatch"], "visits") - 1
        fine = f"{against('kakurenbo', 'vanilla').not_worse(0.1):.4f}"
        check_claims(self, PAGE, [
            ("kakurenbo saves {} % of the visits for nothing that 50 seeds can see ({} points; not worse than vanilla by "
             "more than 0.1: p = {}), infobatch {} % for {} points", fewer("kakurenbo"), signed(-cost("kakurenbo"), 3),
             fine, fewer("infobatch"), f"{cost('infobatch'):.2f}"),
            ("as many visits as infobatch makes costs {} points, as many fewer epochs {}",
             f"{cost('random'):.2f}", f"{cost('fewer-epochs'):.2f}"),
            ("by more than 0.2 points is not shown (p = {})", f"{against('infobatch', 'vanilla').not_worse(0.2):.3f}"),
            ("Infobatch takes {} % less time for its steps", f"{100 * (1 - infobatch):.0f}"),
            ("infobatch against random {} points (p = {}), against fewer epochs {} (p = {}), kakurenbo against infobatch "
             "{} with {} % more visits. Sampling against random: {}.",
             contrasts[0].text(3), f"{contrasts[0].p:.4f}", contrasts[1].text(3), f"{contrasts[1].p:.3f}",
             contrasts[2].text(3), f"{100 * more:.0f}", contrasts[3].text(3)),
        ])
        check_claims(self, ROOT / "docs/answers/README.md", [
            ("kakurenbo saves {} % of the visits for nothing that can be seen ({} against {}), infobatch {} % for {} points; a "
             "random choice of as many costs {}, as many fewer epochs {}", fewer("kakurenbo"),
             *(f"{mean_of(runs[arm]):.3f}" for arm in ["kakurenbo", "vanilla"]), fewer("infobatch"),
             *(f"{cost(arm):.3f}" for arm in ["infobatch", "random", "fewer-epochs"])),
            ("Sampling by gradient norms is not ({})", f"{mean_of(runs['sampling']):.3f}"),
            ("kakurenbo not worse by 0.1 points: p = {}; infobatch against random {}", fine, contrasts[0].text(3)),
        ])

    def test_of_the_larger_model(self):
        runs = read_runs(LARGER)
        judged = {arm: Paired(own, runs["vanilla"]).not_worse(0.2) for arm, own in runs.items() if arm != "vanilla"}
        self.assertEqual([arm for arm, p in judged.items() if p < 0.05], ["sampling"])
        vanilla = median_of(runs["vanilla"], "seconds_train")
        saved = {arm: 100 * (1 - median_of(runs[arm], "seconds_train") / vanilla) for arm in ["infobatch", "kakurenbo"]}
        again = median_of(runs["kakurenbo"], "seconds_refresh")
        check_claims(self, PAGE, [
            ("kakurenbo is better than infobatch by {}, and", Paired(runs["kakurenbo"], runs["infobatch"]).text(3).lstrip("+")),
            ("not worse by 0.2 (p = {}; kakurenbo {})", f"{judged['sampling']:.3f}", f"{judged['kakurenbo']:.2f}"),
            ("−{} % for infobatch, −{} % for kakurenbo, of which its pass over what was hidden ({} s) takes {} points back",
             f"{saved['infobatch']:.0f}", f"{saved['kakurenbo']:.0f}", f"{again:.1f}", f"{100 * again / vanilla:.0f}"),
            ("and leaves {} % less with `recipe95`", f"{saved['kakurenbo'] - 100 * again / vanilla:.0f}"),
        ])

    def test_of_text(self):
        runs = read_runs(TEXT)
        visits, means = ({arm: mean_of(own, name) for arm, own in runs.items()} for name in ("visits", "best_perplexity"))
        plain = ["six-epochs", "seven-epochs", "vanilla"]
        slope = (means[plain[1]] - means[plain[0]]) / (visits[plain[1]] - visits[plain[0]])
        line = {arm: means[plain[0]] + slope * (visits[arm] - visits[plain[0]]) for arm in runs}
        contrasts = [Paired(runs[arm], runs["random"], "best_perplexity").text(2) for arm in ["sampling", "infobatch"]]
        check_claims(self, PAGE, [
            ("Plain training has perplexity {} with {} visits, {} with {} and {} with {}.",
             *(text for arm in plain for text in (f"{means[arm]:.2f}", thousands(visits[arm])))),
            ("has {} at infobatch's visits, {} at random's and {} at sampling's",
             *(f"{line[arm]:.1f}" for arm in ["infobatch", "random", "sampling"])),
            ("sampling {} with {} % more visits, infobatch {} with {} % fewer", contrasts[0],
             f"{100 * (visits['sampling'] / visits['random'] - 1):.0f}", contrasts[1],
             f"{100 * (1 - visits['infobatch'] / visits['random']):.0f}"),
        ])
        check_claims(self, ROOT / "docs/answers/README.md", [
            ("perplexity {} after seven of eight epochs, {} by sampling, {} by chance, {} by infobatch",
             *(f"{means[arm]:.2f}" for arm in ["seven-epochs", "sampling", "random", "infobatch"])),
        ])


if __name__ == "__main__":
    unittest.main()
