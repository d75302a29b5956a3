#!/usr/bin/env python3
"""Hugging Face and Lightning, as they are.

    PYTHONPATH=build/dev/python python3 adapters_test.py
"""

import importlib.util
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest

JOB = pathlib.Path(__file__).resolve().parent / "adapter_job.py"
EXAMPLES, EPOCHS, STEPS = 103, 4, 13  # steps of an epoch in one process; 7 in each of two


def has(*modules):
    return all(importlib.util.find_spec(module) for module in modules)


class AdapterTest(unittest.TestCase):
    library = ""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="impart-adapters-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def run_job(self, name, processes=1, checkpoint=None, library=None):
        """Runs the job to its end; what each process left."""
        folder = self.folder / name
        folder.mkdir()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        jobs = []
        for rank in range(processes):
            environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
            if processes > 1:
                environment.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(processes),
                                   LOCAL_WORLD_SIZE=str(processes), GROUP_RANK="0",
                                   MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port),
                                   TORCHELASTIC_RUN_ID=name)
            command = [sys.executable, JOB, library or self.library, folder]
            jobs.append(subprocess.Popen([*command, checkpoint] if checkpoint else command,
                                         env=environment, text=True, stdout=subprocess.PIPE,
                                         stderr=subprocess.STDOUT))
        outputs = [job.communicate(timeout=240)[0] for job in jobs]
        for job, output in zip(jobs, outputs):
            self.assertEqual(job.returncode, 0, output)
        return [json.loads((folder / f"visits-{rank}.json").read_text())
                for rank in range(processes)]

    def visited(self, result, epoch):
        return [i for at, ids in result["visits"] for i in ids if at == epoch]

    def check_one_process(self, library=None):
        result, = self.run_job("one", library=library)
        for epoch in range(EPOCHS):
            self.assertEqual(sorted(self.visited(result, epoch)), list(range(EXAMPLES)))
        self.assertEqual(len(result["visits"]), EPOCHS * STEPS)
        self.assertEqual(len(set(result["importance"])), EXAMPLES)
        return result

    def check_resume(self, whole, checkpoint, steps):
        """A second run from a checkpoint visits what was left, and ends with the same bits."""
        resumed, = self.run_job("resumed", checkpoint=checkpoint)
        self.assertEqual(resumed["visits"], whole["visits"][steps:])
        self.assertEqual(resumed["importance"], whole["importance"])
        self.assertEqual(resumed["weights"], whole["weights"])

    def check_two_processes(self):
        """51 and 52 examples: the shorter part is padded, so one visit is not a first one."""
        first, second = self.run_job("two", processes=2)
        for epoch in range(EPOCHS):
            visits = [self.visited(result, epoch) for result in (first, second)]
            self.assertEqual([len(ids) for ids in visits], [52, 52])
            self.assertEqual(set(visits[0]) | set(visits[1]), set(range(EXAMPLES)))
            self.assertFalse(set(visits[0]) & set(visits[1]))
        self.assertEqual(first["importance"], second["importance"])
        self.assertEqual(first["owners"], second["owners"])
        self.assertEqual({first["owners"][i] for i in self.visited(first, EPOCHS - 1)}, {0})
        self.assertEqual({first["owners"][i] for i in self.visited(second, EPOCHS - 1)}, {1})
        return first, second


@unittest.skipUnless(has("transformers", "accelerate"),
                     "transformers and accelerate are not installed")
class HuggingFace(AdapterTest):
    library = "huggingface"

    def test_visits_every_example_once_and_resumes_in_mid_epoch(self):
        whole = self.check_one_process()
        self.check_resume(whole, self.folder / "one/checkpoint-20", 20)

    def test_two_processes_share_the_examples_and_agree(self):
        self.check_two_processes()

    def test_language_models_visit_every_example_once_with_loaders_of_two_processes(self):
        self.check_one_process("language")

    def test_losses_of_examples_are_those_that_the_model_itself_averages(self):
        import torch
        import transformers
        from impart.huggingface import make_trainer
        words = torch.randint(5, 50, (6, 8), generator=torch.Generator().manual_seed(1))
        gpt = transformers.GPT2LMHeadModel(transformers.GPT2Config(
            vocab_size=50, n_positions=8, n_embd=16, n_layer=1, n_head=2, bos_token_id=0,
            eos_token_id=0))
        t5 = transformers.T5ForConditionalGeneration(transformers.T5Config(
            vocab_size=50, d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2,
            decoder_start_token_id=0))
        bert = transformers.BertForTokenClassification(transformers.BertConfig(
            vocab_size=50, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
            intermediate_size=16))
        args = transformers.TrainingArguments(output_dir=str(self.folder), report_to=[], use_cpu=True)
        for model, labels in [(gpt, words), (t5, words), (bert, words % 2)]:
            with self.subTest(model=type(model).__name__):
                labels = labels.clone()
                labels[:, -2:] = -100
                trainer = make_trainer()(model=model, args=args, train_dataset=[{}] * 6,
                                         notions=["loss-average"])
                outputs = model.eval()(input_ids=words, labels=labels)
                trainer.tracker.observe(range(6), **trainer.importance_signals(outputs, labels))
                self.assertAlmostEqual(trainer.tracker.importance().mean(), outputs.loss.item(),
                                       places=5)

    def test_what_cannot_work_is_refused(self):
        import impart
        import transformers
        from impart.huggingface import make_trainer
        model = transformers.BertForSequenceClassification(transformers.BertConfig(
            vocab_size=9, hidden_size=8, num_hidden_layers=1, num_attention_heads=1,
            intermediate_size=8))
        args = transformers.TrainingArguments(output_dir=str(self.folder), report_to=[], use_cpu=True)
        trainer = make_trainer()
        with self.assertRaisesRegex(impart.ConfigError, "with a length"):
            trainer(model=model, args=args, train_dataset=None)
        with self.assertRaisesRegex(impart.ConfigError, "did you mean 'stripes'"):
            trainer(model=model, args=args, train_dataset=[{}] * 9,
                    importance={"heuristic": "stripe"})
        with self.assertRaisesRegex(impart.ConfigError, "override importance_signals"):
            made = trainer(model=model, args=args, train_dataset=[{}] * 9)
            made.importance_signals({"logits": None}, None)
        grouped = transformers.TrainingArguments(output_dir=str(self.folder), report_to=[], use_cpu=True)
        grouped.train_sampling_strategy = "group_by_length"
        with self.assertRaisesRegex(impart.ConfigError, "train_sampling_strategy"):
            trainer(model=model, args=grouped, train_dataset=[{}] * 9)
        (self.folder / "checkpoint-1").mkdir()
        made.importance_callback.resume_from = self.folder / "checkpoint-1"
        with self.assertRaisesRegex(impart.DataError, "made without.*impart"):
            made.importance_callback.on_train_begin(args, None, None)


@unittest.skipUnless(has("lightning") or has("pytorch_lightning"), "lightning is not installed")
class Lightning(AdapterTest):
    library = "lightning"

    def test_visits_every_example_once_and_resumes_in_mid_epoch(self):
        whole = self.check_one_process()
        self.check_resume(whole, self.folder / "one/step=20.ckpt", 20)

    def test_two_processes_share_the_examples_and_agree(self):
        self.check_two_processes()

    def test_what_training_step_must_return_is_told(self):
        import impart
        from impart.lightning import signals_of_outputs
        with self.assertRaisesRegex(impart.DataError, "'index'"):
            signals_of_outputs({"loss": 1.0}, None)

    def test_a_checkpoint_of_other_processes_is_refused(self):
        import impart
        from impart.lightning import ImportanceCallback
        callback = ImportanceCallback(9)
        callback.load_state_dict({"processes": [{}, {}]})
        with self.assertRaisesRegex(impart.ConfigError, "of 2 processes"):
            callback.sampler()


class WithoutTheLibraries(unittest.TestCase):
    def test_the_message_says_what_to_install(self):
        for module, package in [("huggingface", "transformers"), ("lightning", "lightning")]:
            hidden = "'transformers', 'lightning', 'lightning.pytorch', 'pytorch_lightning'"
            code = (f"import sys\nfor name in ({hidden}): sys.modules[name] = None\n"
                    f"import impart.{module}")
            done = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True,
                                  check=False)
            self.assertIn(f"pip install {package}", done.stderr)


if __name__ == "__main__":
    unittest.main()
