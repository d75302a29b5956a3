"""`impart study` with an engine that only pretends: python3 study_test.py path/to/impart"""

import json
import os
import pathlib
import pty
import resource
import signal
import unittest

from studies import IMPART, SMALL, FAKE_ENGINE, StudyTest, wait_until


class WholeStudies(StudyTest):
    def test_runs_every_arm_with_every_seed_and_compares_them(self):
        out, err = self.succeed(self.write())
        record = self.record()
        self.assertEqual([(run["arm"], run["seed"]) for run in record["runs"]],
                         [(arm, seed) for seed in (5, 6) for arm in ("vanilla", "stripes", "blocks")])
        self.assertEqual(len(self.results()), 6)
        self.assertEqual(err.count("\n"), 6)
        self.assertIn("[6/6]", err)
        values = {folder: json.loads(text)["best_accuracy"] for folder, text in self.results().items()}
        status = self.status()
        arms = {arm["name"]: arm for arm in status["stages"][0]["arms"]}
        stripes = [values[f"runs/stripes/{seed}"] for seed in (5, 6)]
        vanilla = [values[f"runs/vanilla/{seed}"] for seed in (5, 6)]
        self.assertAlmostEqual(arms["stripes"]["mean"], sum(stripes) / 2)
        self.assertAlmostEqual(arms["stripes"]["std"], abs(stripes[0] - stripes[1]) / 2 ** 0.5)
        self.assertAlmostEqual(arms["stripes"]["difference"], (sum(stripes) - sum(vanilla)) / 2)
        self.assertIsNone(arms["vanilla"]["difference"])
        self.assertIn(f"{sum(stripes) / 2:.2f} ±", out)
        self.assertEqual((self.study / "study.yaml").read_text(), SMALL)
        self.assertEqual(record["arms"][1],
                         {"name": "stripes", "settings": {"partition.heuristic": "stripes"}})

    def test_divides_the_cores_among_the_jobs(self):
        self.succeed(self.write(), "--jobs", 1)
        cores = os.cpu_count()
        self.assertEqual({call[2] for call in self.calls()}, {f"threads={cores}"})
        self.succeed(self.write(), "--jobs", 2 * cores, "output=other")
        calls = (self.folder / "other/calls.txt").read_text().split("\n")[0].split()
        self.assertEqual(calls[2:], ["threads=1", "1"])

    def test_runs_as_many_at_a_time_as_it_is_told(self):
        self.behave({"*": {"epoch_seconds": 60}})
        process = self.start(self.write(), "--jobs", 3)
        self.assertTrue(wait_until(lambda: len(self.calls()) == 3))
        self.assertEqual(list(self.states().values()), 3 * ["running"] + 3 * ["waiting"])
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)

    def test_dry_run_lists_the_runs_and_touches_nothing(self):
        name = self.write()
        before = sorted(os.listdir(self.folder))
        out, _ = self.succeed(name, "--dry-run")
        self.assertEqual(sorted(os.listdir(self.folder)), before)
        self.assertIn("waiting   study/runs/stripes/6  stripes seed 6", out)
        self.assertIn("3 arms; 0 of 6 runs done, 6 waiting", out)
        self.succeed(name)
        (self.study / "runs/blocks/6/DONE").unlink()
        out, _ = self.succeed(name, "--dry-run", "--jobs", 1)
        self.assertIn("stopped   study/runs/blocks/6", out)
        self.assertIn("5 of 6 runs done", out)
        self.assertIn("left", out)

    def test_overrides_change_all_arms_but_not_what_arms_say(self):
        name = self.write()
        self.succeed(name, "epochs=4", "name=other", "output=study")
        self.assertEqual({run["epochs"] for run in self.record()["runs"]}, {4})
        self.assertEqual(self.record()["name"], "other")
        self.fail_with(2, "the arms of study.yaml say", name, "partition.heuristic=snake")
        self.fail_with(2, "did you mean 'epochs'", name, "epoch=4")

    def test_shows_a_table_on_a_terminal_and_takes_it_away(self):
        self.behave({"*": {"epoch_seconds": 0.1}})
        self.write(SMALL.replace("blocks: {", '"a\\u009b31mb\\u202e": {'))
        try:
            ours, theirs = pty.openpty()
        except OSError as error:
            self.skipTest(f"no pseudo-terminal: {error}")
        pid = os.fork()
        if pid == 0:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            os.dup2(theirs, 2)
            os.chdir(self.folder)
            os.execv(IMPART, [IMPART, "study", "study.yaml", "--jobs", "2", "--engine", str(FAKE_ENGINE)])
        os.close(theirs)
        shown = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:
                break
            if not part:
                break
            shown += part
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)
        text = shown.decode()
        self.assertIn("* best mean so far", text)
        self.assertRegex(text, "running: vanilla seed [56]  epoch [23]/3")
        self.assertRegex(text, "about [0-9]+s left")
        self.assertIn("a?31mb?", text)
        self.assertNotIn("\u009b", text)
        self.assertNotIn("\u202e", text)
        self.assertTrue(text.endswith("\x1b[J"), text[-40:])
        plain = [line.split("\x1b")[0] for line in text.split("\n")]
        self.assertLess(max(map(len, plain)), 81)


class Restarts(StudyTest):
    def test_finished_runs_are_not_done_again(self):
        name = self.write()
        self.succeed(name)
        self.succeed(name)
        self.assertEqual(len(self.calls()), 6)
        self.write(SMALL.replace("[5, 6]", "[5, 6, 7]"))
        self.succeed(name)
        self.assertEqual(len(self.calls()), 9)

    def test_a_changed_configuration_is_refused_and_fresh_moves_old_runs_aside(self):
        name = self.write()
        self.succeed(name)
        before = self.results()
        self.write(SMALL.replace("blocks: {", "blocks: {optimizer.lr: 0.05, "))
        err = self.fail_with(2, "2 runs in study are not of this study as it is now; --fresh", name)
        self.assertIn("study/runs/blocks/5 has another configuration", err)
        self.assertEqual(self.results(), before)
        self.assertEqual(len(self.calls()), 6)
        self.succeed(name, "--fresh")
        self.assertEqual([call[:2] for call in self.calls()[6:]],
                         [["runs/blocks/5", "new"], ["runs/blocks/6", "new"]])
        for seed in (5, 6):
            old = self.study / f"old/1/runs/blocks/{seed}/summary.json"
            self.assertEqual(old.read_text(), before[f"runs/blocks/{seed}"])

    def test_a_broken_summary_is_named_and_nothing_is_overwritten(self):
        name = self.write()
        self.succeed(name)
        broken = self.study / "runs/stripes/5/summary.json"
        broken.write_text('{"best_acc')
        err = self.fail_with(2, "its summary.json is broken", name)
        self.assertIn("study/runs/stripes/5", err)
        self.assertEqual(broken.read_text(), '{"best_acc')
        out, _ = self.succeed("--status", "study", engine=None)
        self.assertIn("runs/stripes/5: is marked DONE, but its summary.json is broken", out)

    def test_a_second_runner_is_refused(self):
        self.behave({"*": {"epoch_seconds": 60}})
        name = self.write()
        first = self.start(name, "--jobs", 1)
        self.assertTrue(wait_until(self.calls))
        self.fail_with(2, f"is being run by process {first.pid}", name)
        first.send_signal(signal.SIGTERM)
        first.communicate(timeout=30)
        self.assertEqual(first.returncode, 85)

    def test_a_signal_lets_runs_checkpoint_and_the_same_command_goes_on(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(number):
                self.behave({"*": {"epoch_seconds": 60}})
                name = self.write()
                process = self.start(name, "--jobs", 2)
                started = len(self.calls())
                self.assertTrue(wait_until(lambda: len(self.calls()) >= started + 2))
                process.send_signal(number)
                out, _ = process.communicate(timeout=30)
                self.assertEqual(process.returncode, 85)
                self.assertIn("the same command goes on", out)
                self.assertEqual(list(self.states().values()).count("stopped"), 2)
                self.assertEqual(len(list(self.study.glob("runs/*/*/PREEMPTED"))), 2)
        self.behave({})
        self.succeed(name)
        self.assertEqual(len(self.results()), 6)

    def test_a_second_signal_kills_runs_that_do_not_listen(self):
        self.behave({"*": {"epoch_seconds": 30, "deaf": True}})
        process = self.start(self.write(), "--jobs", 2)
        self.assertTrue(wait_until(lambda: len(self.calls()) == 2))
        process.send_signal(signal.SIGINT)
        with self.assertRaises(Exception):
            process.communicate(timeout=0.5)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=10)
        self.assertEqual(process.returncode, 85)
        self.behave({})
        self.succeed("study.yaml")
        self.assertEqual(len(self.results()), 6)

    def test_children_die_with_a_killed_runner(self):
        self.behave({"*": {"epoch_seconds": 60}})
        process = self.start(self.write(), "--jobs", 2)
        self.assertTrue(wait_until(lambda: len(self.calls()) == 2))
        process.kill()
        process.wait()

        def children():
            found = []
            for entry in pathlib.Path("/proc").iterdir():
                try:
                    if entry.name.isdigit() and str(self.folder).encode() in os.readlink(
                            entry / "cwd").encode():
                        found.append(entry.name)
                except OSError:
                    pass
            return found
        self.assertTrue(wait_until(lambda: not children(), 10), children())


class Failures(StudyTest):
    def test_a_failed_run_is_listed_and_does_not_stop_the_others(self):
        self.behave({"stripes": {"fail": "the loss is not a number"}})
        name = self.write()
        code, out, err = self.run_study(name)
        self.assertEqual(code, 1)
        self.assertEqual(len(self.results()), 4)
        self.assertIn("stripes seed 5: failed: the loss is not a number", out)
        self.assertIn("stripes seed 6: failed: the loss is not a number", err)
        self.assertIn("--retry", out)

        self.behave({})
        self.assertEqual(self.run_study(name)[0], 1)
        self.assertEqual(len(self.calls()), 6)
        self.succeed(name, "--retry")
        self.assertEqual([call[0] for call in self.calls()[6:]], ["runs/stripes/5", "runs/stripes/6"])

    def test_what_all_runs_lack_is_not_found_out_by_each(self):
        self.behave({"*": {"fail": "data/nowhere: there is no such folder"}})
        name = self.write(SMALL.replace("[5, 6]", "[5, 6, 7, 8]"))
        code, out, err = self.run_study(name, "--jobs", 1)
        self.assertEqual(code, 1)
        self.assertEqual(len(self.calls()), 5)
        self.assertIn("stopped: 5 runs failed for the same reason and none is done; when that is mended, the same "
                      "command with --retry goes on\n  data/nowhere: there is no such folder", out)
        self.behave({})
        self.succeed(name, "--retry")
        self.assertEqual(len(self.results()), 12)

    def test_runs_that_fail_alike_beside_one_that_is_done_do_not_stop_a_study(self):
        name = self.write(SMALL.replace("[5, 6]", "[5, 6, 7, 8]"))
        self.behave({"stripes": {"fail": "no"}, "blocks": {"fail": "no"}})
        self.assertEqual(self.run_study(name, "--jobs", 1)[0], 1)
        self.assertEqual(len(self.calls()), 12)

    def test_runs_that_fail_alike_wait_for_one_that_may_be_done(self):
        name = self.write(SMALL.replace("[5, 6]", "[5, 6, 7, 8]"))
        self.behave({"stripes": {"fail": "no"}, "blocks": {"fail": "no"}, "vanilla": {"epoch_seconds": 0.5}})
        self.assertEqual(self.run_study(name, "--jobs", 8)[0], 1)
        self.assertEqual(len(self.calls()), 12)

    def test_runs_that_fail_for_several_reasons_do_not_stop_a_study(self):
        name = self.write(SMALL.replace("[5, 6]", "[5, 6, 7, 8]"))
        self.behave({"vanilla": {"fail": "one"}, "stripes": {"fail": "two"}, "blocks": {"fail": "two"}})
        self.assertEqual(self.run_study(name, "--jobs", 1)[0], 1)
        self.assertEqual(len(self.calls()), 12)

    def test_a_run_that_ends_without_a_word_is_failed_with_its_last_line(self):
        self.behave({"stripes": {"exit": 3}, "blocks": {"signal": 9}})
        code, out, _ = self.run_study(self.write())
        self.assertEqual(code, 1)
        self.assertIn("stripes seed 5: failed: exit code 3: a last?[31m word", out)
        self.assertIn("blocks seed 5: failed: killed by signal 9 (Killed)", out)
        self.assertIn("exit code 3", (self.study / "runs/stripes/5/FAILED").read_text())
        self.behave({})
        self.succeed("study.yaml", "--retry")

    def test_a_run_that_was_preempted_by_others_is_not_failed(self):
        self.behave({"stripes": {"preempt": True}})
        code, out, _ = self.run_study(self.write())
        self.assertEqual(code, 85)
        self.assertEqual(self.states()["runs/stripes/5"], "stopped")
        self.behave({})
        self.succeed("study.yaml")

    def test_a_program_that_cannot_be_started_is_named(self):
        name = self.write()
        self.fail_with(74, "/nowhere/engine: cannot be started: No such file", name,
                       engine="/nowhere/engine")
        self.fail_with(74, "cannot be started: Permission denied", name,
                       engine=self.folder / "study.yaml")
        self.succeed(name)

    def test_a_program_that_vanishes_stops_the_study_and_loses_nothing(self):
        engine = self.folder / "engine.py"
        engine.write_text(FAKE_ENGINE.read_text())
        engine.chmod(0o755)
        self.behave({"*": {"epoch_seconds": 0.1}})
        process = self.start(self.write(), "--jobs", 1, engine=engine)
        self.assertTrue(wait_until(self.calls))
        engine.unlink()
        _, err = process.communicate(timeout=20)
        self.assertEqual(process.returncode, 74, err)
        self.assertIn("engine.py: cannot be started", err)
        self.succeed("study.yaml")
        self.assertEqual(len(self.results()), 6)

    def test_an_output_that_cannot_be_written_is_named(self):
        (self.folder / "file").write_text("")
        self.fail_with(74, "file/study: cannot create", self.write(), "output=file/study")

    def test_a_full_disk_stops_the_study(self):
        def small_files():
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        self.fail_with(74, "study.json", self.write(), preexec_fn=small_files)
        self.succeed("study.yaml")

    def test_a_run_that_cannot_write_stops_the_study(self):
        self.behave({"*": {"exit": 74}})
        err = self.fail_with(74, "the study stopped here", self.write(), "--jobs", 1)
        self.assertEqual(len(self.calls()), 1, err)
        self.behave({})
        self.succeed("study.yaml", "--retry")

    def test_status_of_something_else_is_a_clear_error(self):
        self.fail_with(65, "study.json", "--status", ".", engine=None)
        self.study.mkdir()
        (self.study / "study.json").write_text("{")
        self.fail_with(65, "study/study.json: offset 2: is not JSON", "--status", "study", engine=None)
        (self.study / "study.json").write_text('{"format": 9}')
        self.fail_with(65, "format 9", "--status", "study", engine=None)


HALVING = """
name: halving
config: {epochs: 9, importance.ignore: 0, partition.warmup: 1, partition.interval: 1}
arms:
  vanilla: {baseline: true, partition.heuristic: random}
  good: {partition.heuristic: stripes}
  bad: {partition.heuristic: blocks}
grid: {partition.heuristic: [snake, balanced], optimizer.lr: [0.1, 0.2, 0.4]}
seeds: [5, 6]
search: {kind: halving, eta: 3, min_epochs: 1}
confirmation_seeds: {count: 3, master: 1}
output: study
"""


class Search(StudyTest):
    def test_halving_keeps_the_best_and_confirms_on_new_seeds(self):
        out, _ = self.succeed(self.write(HALVING), "--jobs", 2)
        record = self.record()
        search = record["search"]
        self.assertEqual([(rung["epochs"], len(rung["arms"])) for rung in search["rungs"]],
                         [(1, 8), (3, 3)])
        self.assertNotIn("bad", search["rungs"][1]["arms"])
        self.assertEqual(search["winner"], "good")
        confirm = [run for run in record["runs"] if run["purpose"] == "confirm"]
        self.assertEqual({run["arm"] for run in confirm}, {"vanilla", "good"})
        self.assertEqual({run["epochs"] for run in confirm}, {9})
        self.assertEqual(len(confirm), 6)
        self.assertFalse({run["seed"] for run in confirm} & {5, 6})
        self.assertEqual(sorted({run["seed"] for run in confirm}), sorted(record["confirmation_seeds"]))
        self.assertIn("the search chose 'good'", out)
        self.assertIn("on 3 seeds that were not used to choose: good", out)
        self.assertEqual(len(self.calls()), 16 + 6 + 6)
        self.assertEqual(self.status()["winner"], "good")

    def test_a_stopped_search_comes_to_the_same(self):
        self.behave({"*": {"epoch_seconds": 0.05}})
        process = self.start(self.write(HALVING), "--jobs", 2)
        self.assertTrue(wait_until(lambda: len(self.calls()) > 18))
        process.kill()
        process.wait()
        self.behave({})
        self.succeed("study.yaml", "--jobs", 2)
        self.assertEqual(self.record()["search"]["winner"], "good")
        self.assertEqual(len(self.results()), 16 + 6 + 6)

    def test_a_candidate_that_failed_is_out(self):
        self.behave({"good": {"fail": "no"}})
        code, out, _ = self.run_study(self.write(HALVING), "--jobs", 2)
        self.assertEqual(code, 1)
        self.assertNotIn("good", self.record()["search"]["rungs"][1]["arms"])
        self.assertIsNotNone(self.record()["search"]["winner"])
        self.behave({})
        self.succeed("study.yaml", "--jobs", 2, "--retry")
        self.assertEqual(self.record()["search"]["winner"], "good")


if __name__ == "__main__":
    unittest.main()
