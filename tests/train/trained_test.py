#!/usr/bin/env python3
"""What was trained is ready to use: evaluate, predict, sample, export, fine-tune, diff.

    /usr/bin/python3 trained_test.py path/to/impart

Exports are loaded with torchvision, and with Hugging Face's transformers, where they are installed.
"""

import importlib.util
import json
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

import training
from training import IMPART, RunFolder, settings

MODELS = pathlib.Path(__file__).resolve().parents[1] / "models"
sys.path[:0] = [str(MODELS), str(MODELS / "text")]  # models written plainly, to compare with


def missing(*modules):
    """Why a test that needs them cannot run; "" if it can."""
    lacking = []
    for name in modules:
        try:
            __import__(name)
        except ImportError as error:
            lacking.append(str(error))
    return "; ".join(lacking)


NO_TORCHVISION = missing("torch", "torchvision", "PIL")
NO_TORCH = missing("torch")
NO_TRANSFORMERS = missing("torch", "transformers", "tokenizers")

BASE = {
    "threads": 1,
    "epochs": 2,
    "workers.count": 2,
    "workers.batch": 8,
    "optimizer.lr": 0.01,
    "importance.notion": "loss-last",
    "importance.ignore": 0,
    "partition.warmup": 1,
    "partition.interval": 1,
}
CLASSES = ["blue", "green", "red"]
IMAGES = {
    **BASE,
    "data.name": "imagefolder",
    "data.root": "pictures",
    "data.image_size": 16,
    "data.augment": "none",
    "model.name": "resnet18",
    "model.stem": "cifar",
}
GPT = {
    **BASE,
    "data.name": "text",
    "data.root": "books",
    "data.tokenizer": "bpe",
    "data.vocabulary": 300,
    "data.block": 24,
    "model.name": "gpt-tiny",
    "optimizer.name": "adamw",
    "optimizer.lr": 0.003,
    "epochs": 8,  # until it writes words
}
FROZEN = {"epochs": 1, "optimizer.lr": 1e-30, "optimizer.weight_decay": 0, "optimizer.momentum": 0,
          "optimizer.nesterov": "false", "partition.warmup": 1}


def write_safetensors(path, tensors):
    """name -> tensor of torch, as Python's safetensors writes them."""
    kinds = {"torch.float32": "F32", "torch.float16": "F16", "torch.int64": "I64"}
    header, data = {}, b""
    for name, tensor in tensors.items():
        content = bytes(tensor.detach().contiguous().view(-1).numpy().tobytes())
        header[name] = {"dtype": kinds[str(tensor.dtype)], "shape": list(tensor.shape),
                        "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    pathlib.Path(path).write_bytes(struct.pack("<Q", len(text)) + text + data)


def load_script(path):
    """The module in a file, fresh."""
    spec = importlib.util.spec_from_file_location(f"loaded_{abs(hash(str(path)))}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class UseTest(unittest.TestCase):
    """A folder for all tests of a class, in which one run is trained."""

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="impart-use-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)

    @classmethod
    def run_impart(cls, *args):
        return subprocess.run([IMPART, *map(str, args)], cwd=cls.folder, env=training.ENVIRONMENT,
                              text=True, errors="replace", capture_output=True, check=False)

    @classmethod
    def train(cls, base, name, **changes):
        done = cls.run_impart("train", *settings(base, **changes), f"output={name}")
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        return RunFolder(cls.folder / name), done.stderr

    def succeed(self, *args):
        done = self.run_impart(*args)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def answer(self, *args):
        return json.loads(self.succeed(*args, "--json"))

    def fail_with(self, code, message, *args):
        done = self.run_impart(*args)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn(message, done.stderr)


def write_picture(path, colour, draw, size=(24, 20)):
    """Noise with one strong colour."""
    from PIL import Image
    image = Image.new("RGB", size)
    image.putdata([tuple(draw.randrange(100) + (120 if channel == colour else 0)
                         for channel in range(3)) for _ in range(size[0] * size[1])])
    path.parent.mkdir(parents=True, exist_ok=True)
    image.save(path)


@unittest.skipIf(NO_TORCHVISION, NO_TORCHVISION)
class ImageTest(UseTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        draw = random.Random(1)
        for part, count in [("train", 16), ("val", 7)]:
            for i in range(count):
                for name, colour in zip(CLASSES, (2, 1, 0)):
                    write_picture(cls.folder / f"pictures/{part}/{name}/{i:02}.png", colour, draw)
        cls.trained, _ = cls.train(IMAGES, "run")
        cls.pictures = sorted((cls.folder / "pictures/val").rglob("*.png"))

    def test_evaluate_says_what_the_run_said(self):
        last = self.trained.metrics()[-1]
        found = self.answer("evaluate", "run")
        self.assertEqual((found["loss"], found["accuracy"]), (last["test_loss"], last["test_accuracy"]))
        self.assertEqual(found["predictions"], len(self.pictures))
        text = self.succeed("evaluate", "run")
        self.assertEqual(text, f"examples 21, loss {last['test_loss']:.4f}, "
                               f"accuracy {last['test_accuracy']:.2f} %\n")
        self.assertEqual(self.answer("evaluate", self.trained.checkpoints()[-1]), found)

    def test_a_model_that_was_trained_on_a_gpu_can_be_used_without(self):
        shutil.copytree(self.trained.path, self.folder / "gpu")
        config = self.folder / "gpu/config.yaml"
        text = config.read_text()
        self.assertIn("precision: fp32", text)
        config.write_text(text.replace("precision: fp32", "precision: bf16"))
        self.assertEqual(self.answer("evaluate", "gpu", "device=cpu"), self.answer("evaluate", "run"))

    def test_evaluate_takes_other_data_with_the_model_as_it_is(self):
        other = self.folder / "other"
        for name in CLASSES:
            for part in ["train", "val"]:
                (other / part / name).mkdir(parents=True)
                shutil.copy(self.pictures[0], other / part / name / "a.png")
        found = self.answer("evaluate", "run", "data.root=other")
        self.assertEqual(found["predictions"], 3)
        self.assertAlmostEqual(found["accuracy"], 100 / 3, places=4)
        (other / "train" / "red").rename(other / "train" / "rot")
        (other / "val" / "red").rename(other / "val" / "rot")
        self.fail_with(2, "class 2 of the data is 'rot', and that of the model 'red'", "evaluate",
                       "run", "data.root=other")
        self.fail_with(2, "images of 8x8", "evaluate", "run", "data.image_size=8")
        self.fail_with(2, "only data.…, eval.…", "evaluate", "run", "model.name=mlp")

    def test_the_export_is_a_model_of_torchvision(self):
        import torch
        from PIL import Image
        done = self.run_impart("export", "run", "--to", "torchvision", "-o", "exported")
        self.assertEqual((done.returncode, done.stdout), (0, "exported\n"), done.stderr)
        self.assertIn("load.py changes that", done.stderr)
        # From the folder alone.
        moved = self.folder / "elsewhere"
        shutil.copytree(self.folder / "exported", moved)
        loaded = load_script(moved / "load.py")
        model, transform = loaded.load_model(), loaded.load_transform()
        self.assertEqual(loaded.load_classes(), CLASSES)
        inputs = torch.stack([transform(Image.open(path)) for path in self.pictures])
        labels = torch.tensor([CLASSES.index(path.parent.name) for path in self.pictures])
        with torch.no_grad():
            logits = model(inputs)
        evaluated = self.answer("evaluate", "elsewhere")
        self.assertEqual(evaluated, self.answer("evaluate", "run"))
        loss = float(torch.nn.functional.cross_entropy(logits, labels))
        accuracy = 100 * float((logits.argmax(1) == labels).double().mean())
        self.assertAlmostEqual(loss, evaluated["loss"], delta=1e-4)
        self.assertAlmostEqual(accuracy, evaluated["accuracy"], places=4)
        lines = self.succeed("predict", "run", *self.pictures, "--json").splitlines()
        for line, path, chances in zip(lines, self.pictures, logits.softmax(1), strict=True):
            found = json.loads(line)
            self.assertEqual(found["file"], str(path))
            for entry in found["predictions"]:
                self.assertEqual(entry["name"], CLASSES[entry["class"]])
                self.assertAlmostEqual(entry["probability"], float(chances[entry["class"]]),
                                       delta=1e-4)

    def test_predict_names_the_most_probable_first_and_goes_on_after_a_bad_file(self):
        (self.folder / "broken.png").write_bytes(b"no picture")
        done = self.run_impart("predict", "run", "broken.png", "none.png", self.pictures[0],
                               "--top", 2)
        self.assertEqual(done.returncode, 65)
        self.assertEqual(done.stdout.splitlines()[0], str(self.pictures[0]))
        self.assertEqual(len(done.stdout.splitlines()), 3)
        self.assertIn("broken.png: ", done.stderr)
        self.assertIn("none.png", done.stderr)
        chances = [float(line.split()[0]) for line in done.stdout.splitlines()[1:]]
        self.assertEqual(chances, sorted(chances, reverse=True))

    def test_an_export_is_not_written_over(self):
        self.succeed("export", "run", "--to", "torchvision")
        self.assertTrue((self.folder / "run-torchvision/load.py").exists())
        self.fail_with(2, "is there already", "export", "run", "--to", "torchvision")
        self.succeed("export", "run", "--to", "torchvision", "--overwrite")
        (self.folder / "run-torchvision/notes.txt").write_text("mine")
        self.fail_with(2, "notes.txt", "export", "run", "--to", "torchvision", "--overwrite")
        self.fail_with(2, "torchvision takes resnet18, resnet34, resnet50, huggingface takes gpt-tiny",
                       "export", "run", "--to", "huggingface")
        self.fail_with(2, "did you mean 'torchvision'", "export", "run", "--to", "torchvison")
        self.fail_with(65, "is no run directory", "export", "pictures", "--to", "torchvision")

    def test_a_run_of_an_earlier_version_gets_its_card_from_its_data(self):
        shutil.copytree(self.trained.path, self.folder / "old")
        for checkpoint in RunFolder(self.folder / "old").checkpoints():
            manifest = json.loads((checkpoint / "manifest.json").read_text())
            manifest["files"] = [f for f in manifest["files"] if f["file"] != "model.json"]
            (checkpoint / "manifest.json").write_text(json.dumps(manifest))
            (checkpoint / "model.json").unlink()
        self.fail_with(65, "'impart evaluate old' makes it", "predict", "old", self.pictures[0])
        self.assertEqual(self.answer("evaluate", "old"), self.answer("evaluate", "run"))
        self.assertEqual(self.succeed("predict", "old", self.pictures[0]),
                         self.succeed("predict", "run", self.pictures[0]))

    def test_a_model_of_classes_does_not_write(self):
        self.fail_with(2, "learned classes, not a language", "sample", "run")


@unittest.skipIf(NO_TORCHVISION, NO_TORCHVISION)
class FineTuneTest(UseTest):
    """From weights of torchvision that this test makes."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        import torch
        import torchvision
        draw = random.Random(2)
        for part, count in [("train", 4), ("val", 1)]:
            for i in range(count):
                for name, colour in zip(CLASSES, (2, 1, 0)):
                    write_picture(cls.folder / f"pictures/{part}/{name}/{i}.png", colour, draw,
                                  (37, 37))
        torch.manual_seed(3)
        cls.model = torchvision.models.resnet18(num_classes=3)
        write_safetensors(cls.folder / "resnet18.safetensors", cls.model.state_dict())
        cls.start = {**IMAGES, **FROZEN, "data.image_size": 32, "model.stem": "imagenet",
                     "workers.count": 1, "workers.batch": 64}

    def images(self):
        import torch
        from PIL import Image
        from torchvision import transforms
        prepare = transforms.Compose([
            transforms.Resize(37), transforms.CenterCrop(32), transforms.ToTensor(),
            transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))])
        paths = sorted((self.folder / "pictures/train").rglob("*.png"))
        labels = torch.tensor([CLASSES.index(path.parent.name) for path in paths])
        return torch.stack([prepare(Image.open(path)) for path in paths]), labels

    def test_starts_from_equal_logits(self):
        import torch
        run, notes = self.train(self.start, "same", model__from="resnet18.safetensors")
        self.assertNotIn("replaced", notes)
        inputs, labels = self.images()
        self.model.train()
        with torch.no_grad():
            logits = self.model(inputs)
        loss = float(torch.nn.functional.cross_entropy(logits, labels))
        self.assertAlmostEqual(run.metrics()[0]["train_loss"], loss, delta=1e-4)
        # What came of a step that changes nothing is the file, but for running statistics.
        self.succeed("export", "same", "--to", "torchvision")
        weights = load_script(self.folder / "same-torchvision/load.py").load_weights()
        for name, tensor in self.model.named_parameters():
            torch.testing.assert_close(weights[name], tensor.detach(), rtol=0, atol=1e-20)
        for name, buffer in self.model.named_buffers():
            torch.testing.assert_close(weights[name], buffer, rtol=1e-4, atol=1e-5)

    def test_half_precision_and_a_folder_will_do(self):
        import torch
        (self.folder / "half").mkdir()
        write_safetensors(self.folder / "half/only.safetensors",
                          {name: tensor.half() if tensor.is_floating_point() else tensor
                           for name, tensor in self.model.state_dict().items()})
        run, _ = self.train(self.start, "from-half", model__from="half")
        self.succeed("export", "from-half", "--to", "torchvision")
        weights = load_script(self.folder / "from-half-torchvision/load.py").load_weights()
        torch.testing.assert_close(weights["fc.weight"],
                                   self.model.fc.weight.detach().half().float())

    def test_a_head_of_another_size_is_replaced_and_said(self):
        import torch
        import torchvision
        other = torchvision.models.resnet18(num_classes=7)
        write_safetensors(self.folder / "seven.safetensors", other.state_dict())
        _, notes = self.train(self.start, "head", model__from="seven.safetensors")
        self.assertIn("fc.weight is for 7 classes, here there are 3: it is replaced", notes)
        self.succeed("export", "head", "--to", "torchvision")
        weights = load_script(self.folder / "head-torchvision/load.py").load_weights()
        torch.testing.assert_close(weights["layer1.0.conv1.weight"],
                                   other.layer1[0].conv1.weight.detach(), rtol=0, atol=1e-20)
        self.assertEqual(tuple(weights["fc.weight"].shape), (3, 512))
        self.assertGreater(float(weights["fc.weight"].abs().max()), 0)

    def test_weights_of_another_model_are_refused_before_anything_is_written(self):
        def refuse(message, **changes):
            self.fail_with(65, message, "train", *settings(self.start, **changes), "output=none")
            self.assertFalse((self.folder / "none").exists())

        refuse("unexpected: layer1.2.conv1.weight", model__from=self.write_resnet34())
        refuse("conv1.weight is [64, 3, 7, 7], not [64, 3, 3, 3]",
               model__from="resnet18.safetensors", model__stem="cifar")
        refuse("there is no such file or folder", model__from="nowhere")
        (self.folder / "old.pth").write_bytes(b"PK\x03\x04 and so on")
        refuse("is a pickle of PyTorch", model__from="old.pth")
        self.fail_with(65, "missing: conv1.weight", "train", *settings(self.start), "output=none",
                       f"model.from={self.write_gpt()}")

    def write_resnet34(self):
        import torchvision
        write_safetensors(self.folder / "resnet34.safetensors",
                          torchvision.models.resnet34(num_classes=3).state_dict())
        return "resnet34.safetensors"

    def write_gpt(self):
        import torch
        write_safetensors(self.folder / "wte.safetensors", {"wte.weight": torch.zeros(3, 4)})
        return "wte.safetensors"

    def test_a_resumed_run_does_not_need_the_file_any_more(self):
        shutil.copy(self.folder / "resnet18.safetensors", self.folder / "passing.safetensors")
        run, _ = self.train(self.start, "going", model__from="passing.safetensors")
        (self.folder / "passing.safetensors").unlink()
        (run.path / "DONE").unlink()
        self.succeed("train", "--resume", "going")


class TrainedGpt(UseTest):
    """A GPT with words of its own."""

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
        cls.trained, _ = cls.train(GPT, "run")
        cls.test_text = (cls.folder / "books/valid.txt").read_text()


class GptTest(TrainedGpt):
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
        self.train(GPT, "again", seed=2, epochs=8, optimizer__lr=0.004)
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
    """What cannot be exported, texts with classes, and models of token files."""

    def test_models_that_no_library_has_are_named(self):
        self.train({**BASE, "data.train_examples": 64, "data.test_examples": 16, "epochs": 1,
                    "model.name": "small-cnn"}, "shapes")
        self.fail_with(2, "torchvision has no model 'small-cnn'", "export", "shapes", "--to",
                       "torchvision")
        found = self.answer("evaluate", "shapes")
        last = RunFolder(self.folder / "shapes").metrics()[-1]
        self.assertEqual((found["loss"], found["accuracy"]), (last["test_loss"], last["test_accuracy"]))
        # Other shapes have another mean; the model keeps its own.
        self.assertEqual(self.answer("evaluate", "shapes", "data.train_examples=20")["loss"],
                         found["loss"])

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
