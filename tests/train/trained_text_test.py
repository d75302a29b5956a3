#!/usr/bin/env python3
"""What was trained on text is ready to use: evaluate, predict, sample, export, fine-tune, diff.

    /usr/bin/python3 trained_text_test.py path/to/impart
"""

import json
import pathlib
import random
import struct
import sys
import unittest

from training import RunFolder, settings
from trained import BASE, FROZEN, GPT, NO_TORCH, NO_TRANSFORMERS, UseTest, write_safetensors

MODELS = pathlib.Path(__file__).resolve().parents[1] / "models"
sys.path[:0] = [str(MODELS), str(MODELS / "text")]  # models written plainly, to compare with


class TrainedGpt(UseTest):
    """A GPT with words of its own."""

    epochs = 2

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        draw = random.Random(5)
        words = ["the", "cat", "sat", "on", "a", "mat", "and", "saw", "größer", "dogs", "2026", "!"]
        (cls.folder / "books").mkdir()
        for name, count in [("train.txt", 1500), ("valid.txt", 200)]:
            text = "".join(draw.choice(words) + draw.choice([" ", " ", "  ", "\n"])
                           for _ in range(count))
            (cls.folder / "books" / name).write_text(text)
        cls.trained, _ = cls.train(GPT, "run", epochs=cls.epochs)
        cls.test_text = (cls.folder / "books/valid.txt").read_text()


class GptTest(TrainedGpt):
    epochs = 8  # until it writes words

    def test_evaluate_says_what_the_run_said(self):
        last = self.trained.metrics()[-1]
        found = self.answer("evaluate", "run")
        self.assertEqual(found["loss"], last["test_loss"])
        self.assertEqual(found["perplexity"], last["test_perplexity"])
        self.assertEqual(found["bits_per_byte"], last["test_bits_per_byte"])
        (self.folder / "other.txt").write_text(self.test_text * 12)
        other = self.answer("evaluate", "run", "data.root=other.txt")
        self.assertNotEqual(other["predictions"], found["predictions"])
        self.assertAlmostEqual(other["loss"], found["loss"], delta=0.5)
        self.fail_with(2, "the model sees 24 tokens at most", "evaluate", "run", "data.block=25")

    def test_sample_is_the_same_for_the_same_seed(self):
        def draw(*more):
            return self.answer("sample", "run", "--prompt", "the cat", "--tokens", 12, *more)

        greedy = draw("--greedy")
        self.assertEqual(greedy, draw("--greedy"))
        self.assertEqual(greedy, draw("--top-k", 1))
        self.assertEqual(len(greedy["tokens"]), 12)
        self.assertEqual(draw("--seed", 3), draw("--seed", 3))
        self.assertNotEqual(draw("--seed", 3), draw("--seed", 4))
        self.assertEqual(draw("--temperature", 0.001), greedy)
        printed = self.succeed("sample", "run", "--prompt", "the cat", "--tokens", 12, "--greedy")
        self.assertEqual(printed, "the cat" + greedy["text"] + "\n")
        self.assertEqual(len(self.answer("sample", "run", "--tokens", 40)["tokens"]), 40)
        self.fail_with(2, "leave out --temperature", "sample", "run", "--greedy", "--seed", 3)
        self.fail_with(2, "learned a language", "predict", "run", "books/valid.txt")


class GptFineTuneTest(TrainedGpt):
    @unittest.skipIf(NO_TORCH, NO_TORCH)
    def test_fine_tuning_starts_from_equal_logits(self):
        import torch
        import compare_models
        from safetensors_reader import load
        torch.manual_seed(1)
        (self.folder / "hf").mkdir()
        weights = {name: 0.1 * torch.randn(tensor.shape) for name, tensor in
                   load(self.trained.checkpoints()[-1] / "model.safetensors").items()}
        longer = {name: tensor for name, tensor in weights.items()}
        longer["transformer.wpe.weight"] = 0.1 * torch.randn(64, 128)
        longer["lm_head.weight"] = longer["transformer.wte.weight"].clone()
        longer["transformer.h.0.attn.bias"] = torch.ones(1, 1, 64, 64)
        write_safetensors(self.folder / "hf/model.safetensors", longer)
        (self.folder / "hf/config.json").write_text(json.dumps({"model_type": "gpt2", "n_head": 4}))
        start = {**GPT, **FROZEN, "data.vocabulary_file": "run/tokenizer.txt"}
        tuned, notes = self.train(start, "tuned", model__from="hf")
        self.assertIn("the first 24 of 64 positions are used", notes)
        sampled = self.answer("sample", "tuned", "--prompt", "the cat sat on", "--tokens", 8, "--greedy")

        weights["transformer.wpe.weight"] = longer["transformer.wpe.weight"][:24]
        model = compare_models.Gpt("gpt-tiny", weights)
        model.load_state_dict(weights)
        # Greedy text and the loss of a block are those of the weights that it began with.
        tokens = self.tokens_of("the cat sat on") + sampled["tokens"]
        with torch.no_grad():
            logits = model.eval()(torch.tensor([tokens[:-1]]))[0]
        self.assertEqual(logits.argmax(1).tolist()[-8:], sampled["tokens"])

        (self.folder / "hf/config.json").write_text(json.dumps({"model_type": "gpt2", "n_head": 8}))
        self.fail_with(65, "has 8 heads, and gpt-tiny has 4", "train", *settings(start),
                       "output=none", "model.from=hf")
        (self.folder / "hf/config.json").unlink()
        self.fail_with(65, "take data.block=64", "train", *settings(start, data__block=65),
                       "output=none", "model.from=hf")
        _, notes = self.train({**start, "data.vocabulary_file": "", "data.tokenizer": "byte"},
                              "bytes", model__from="hf")
        self.assertIn("transformer.wte.weight is for ", notes)
        self.assertIn(" tokens, here there are 256: it is replaced", notes)

    def tokens_of(self, text):
        """By the saved tokenizer, merge by merge."""
        lines = (self.trained.path / "tokenizer.txt").read_text().splitlines()
        merges = [tuple(map(int, line.split())) for line in lines[4:-1]]
        tokens = []
        for word in text.replace(" ", "\0 ").split("\0"):
            pieces = list(word.encode())
            for number, pair in enumerate(merges):
                i = 0
                while i + 1 < len(pieces):
                    if (pieces[i], pieces[i + 1]) == pair:
                        pieces[i:i + 2] = [256 + number]
                    i += 1
            tokens += pieces
        return tokens


class GptExportTest(TrainedGpt):
    epochs = 8

    def export(self, run="run"):
        name = f"{run}-exported"
        if not (self.folder / name).exists():
            self.succeed("export", run, "--to", "huggingface", "-o", name)
        return self.folder / name

    def test_the_export_is_used_as_the_run_is(self):
        folder = self.export()
        self.assertEqual(sorted(path.name for path in folder.iterdir()),
                         ["config.json", "config.yaml", "generation_config.json", "model.json",
                          "model.safetensors", "tokenizer.json", "tokenizer.txt",
                          "tokenizer_config.json"])
        self.assertEqual(self.answer("evaluate", folder), self.answer("evaluate", "run"))
        prompt = ["--prompt", "a dog", "--tokens", 5]
        self.assertEqual(self.succeed("sample", folder, *prompt), self.succeed("sample", "run", *prompt))
        self.fail_with(2, "has no model 'gpt-tiny'", "export", "run", "--to", "torchvision", "-o", "x")

    def loss_of(self, model, tokens):
        """Mean loss of transformers' model over blocks, as impart makes them, and their targets."""
        import torch
        total, count = 0.0, 0
        for start in range(0, len(tokens) - 24, 24):
            block = torch.tensor([tokens[start:start + 25]])
            with torch.no_grad():
                logits = model.eval()(block[:, :-1]).logits[0]
            total += float(torch.nn.functional.cross_entropy(logits, block[0, 1:], reduction="sum"))
            count += 24
        return total / count, count

    @unittest.skipIf(NO_TRANSFORMERS, NO_TRANSFORMERS)
    def test_a_model_that_transformers_made_is_where_training_starts(self):
        import transformers
        tokenizer = transformers.AutoTokenizer.from_pretrained(self.export())
        transformers.set_seed(4)
        model = transformers.GPT2LMHeadModel(transformers.GPT2Config(
            vocab_size=len(tokenizer), n_positions=32, n_embd=128, n_layer=4, n_head=4,
            initializer_range=0.2))
        model.save_pretrained(self.folder / "random")
        run, notes = self.train({**GPT, **FROZEN, "data.vocabulary_file": "run/tokenizer.txt"},
                                "begun", model__from="random")
        self.assertIn("the first 24 of 32 positions are used", notes)
        loss, _ = self.loss_of(model, tokenizer(self.test_text)["input_ids"])
        self.assertAlmostEqual(run.metrics()[-1]["test_loss"], loss, delta=1e-4 * loss)

    @unittest.skipIf(NO_TRANSFORMERS, NO_TRANSFORMERS)
    def test_transformers_load_it_and_say_the_same(self):
        import transformers
        folder = self.export()
        model, report = transformers.AutoModelForCausalLM.from_pretrained(
            folder, output_loading_info=True)
        for kind in ["missing_keys", "unexpected_keys", "mismatched_keys"]:
            self.assertFalse(report[kind], kind)
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        tokens = tokenizer(self.test_text)["input_ids"]
        self.assertEqual(tokenizer.decode(tokens), self.test_text)
        loss, count = self.loss_of(model, tokens)
        evaluated = self.answer("evaluate", "run")
        self.assertEqual(count, evaluated["predictions"])
        self.assertAlmostEqual(loss, evaluated["loss"], delta=1e-4)
        sampled = self.answer("sample", "run", "--prompt", "the cat", "--tokens", 12, "--greedy")
        prompt = tokenizer("the cat", return_tensors="pt")
        written = model.generate(**prompt, max_new_tokens=12, do_sample=False)[0]
        self.assertEqual(written[prompt["input_ids"].shape[1]:].tolist(), sampled["tokens"])
        self.assertEqual(tokenizer.decode(written), "the cat" + sampled["text"])

    @unittest.skipIf(NO_TRANSFORMERS, NO_TRANSFORMERS)
    def test_tokenizers_of_every_kind_give_the_same_tokens(self):
        from tokenizers import Tokenizer
        draw = random.Random(8)
        text = "".join(draw.choice(self.test_text + "\t\v  ..,,äß😀\x01") for _ in range(5000))
        text += " " * 200 + "x" * 300 + "ä" * 90 + "7" * 130
        (self.folder / "wild.txt").write_text(text + self.test_text * 5)
        for kind in ["byte", "char", "bpe"]:
            with self.subTest(kind):
                run, _ = self.train(GPT, f"of-{kind}", epochs=1, data__root="wild.txt",
                                    data__tokenizer=kind, data__limit=40)
                theirs = Tokenizer.from_file(str(self.export(f"of-{kind}") / "tokenizer.json"))
                ours = self.answer("sample", f"of-{kind}", "--prompt", text, "--tokens", 1)
                self.assertEqual(ours["prompt_tokens"], theirs.encode(text).ids)
                self.assertEqual(theirs.decode(ours["prompt_tokens"]), text)


class DiffTest(TrainedGpt):
    def test_diff_tells_configuration_results_and_costs(self):
        self.train(GPT, "again", seed=2, optimizer__lr=0.004)
        found = self.answer("diff", "run", "again")
        self.assertEqual(found["configuration"],
                         {"seed": ["1", "2"], "optimizer.lr": ["0.003", "0.004"]})
        self.assertEqual(found["results"]["final_perplexity"],
                         [RunFolder(self.folder / name).summary()["final_perplexity"]
                          for name in ("run", "again")])
        self.assertIn("seconds_train", found["costs"])
        self.assertFalse(found["same_weights"])
        text = self.succeed("diff", "run", "again")
        self.assertIn("  optimizer.lr: 0.003 -> 0.004\n", text)
        same = self.succeed("diff", "run", "run")
        self.assertIn("configuration: the same", same)
        self.assertIn("the weights are the same, bit for bit", same)
        self.fail_with(65, "books: not a run directory", "diff", "run", "books")
        self.fail_with(2, "RUN", "diff", "run")


class SmallTest(UseTest):
    """Texts with classes, and models of token files."""

    def test_the_class_of_a_text(self):
        (self.folder / "reviews").mkdir()
        for part in ["train", "dev"]:
            rows = [f"{['bad', 'good'][i % 2]}\t{'awful lovely'.split()[i % 2]} film {i}"
                    for i in range(60)]
            (self.folder / f"reviews/{part}.tsv").write_text("\n".join(["label\ttext", *rows, ""]))
        self.train({**BASE, "data.name": "table", "data.root": "reviews", "epochs": 12,
                    "data.label_column": "label", "data.block": 24, "model.name": "text-encoder",
                    "data.tokenizer": "bpe", "data.vocabulary": 300, "workers.batch": 4,
                    "optimizer.name": "adamw", "optimizer.lr": 0.003}, "reviewed")
        (self.folder / "a.txt").write_text("lovely film 7\n")
        (self.folder / "b.txt").write_text("awful film 7\n")
        (self.folder / "empty.txt").write_text("\n")
        done = self.run_impart("predict", "reviewed", "a.txt", "b.txt", "empty.txt", "--json")
        self.assertEqual(done.returncode, 65)
        self.assertIn("empty.txt: there is no text in it", done.stderr)
        names = [json.loads(line)["predictions"][0]["name"] for line in done.stdout.splitlines()]
        self.assertEqual(names, ["good", "bad"])

    def test_token_files_have_no_tokenizer(self):
        (self.folder / "tokens").mkdir()
        for name in ["train.bin", "val.bin"]:
            (self.folder / "tokens" / name).write_bytes(struct.pack("<600H", *range(50), *[7] * 550))
        self.train({**GPT, "data.name": "tokens", "data.root": "tokens", "data.vocabulary": 50,
                    "data.tokenizer": "byte", "epochs": 1}, "numbers")
        found = self.answer("sample", "numbers", "--prompt", "3 4", "--tokens", 4)
        self.assertEqual(found["text"], " ".join(map(str, found["tokens"])))
        self.fail_with(2, "'x' is no token", "sample", "numbers", "--prompt", "3 x")
        self.fail_with(2, "give the numbers of tokens", "sample", "numbers")
        done = self.run_impart("export", "numbers", "--to", "huggingface")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("there is no tokenizer.json", done.stderr)
        self.assertFalse((self.folder / "numbers-huggingface/tokenizer.json").exists())


if __name__ == "__main__":
    unittest.main()
