#!/usr/bin/env python3
"""What was trained on images is ready to use: evaluate, predict, export, fine-tune.

    /usr/bin/python3 trained_images_test.py path/to/impart
"""

import json
import random
import shutil
import unittest

from training import RunFolder, settings
from trained import BASE, FROZEN, NO_TORCHVISION, UseTest, load_script, write_safetensors

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
        cls.evaluated = json.loads(cls.run_impart("evaluate", "run", "--json").stdout)

    def test_evaluate_says_what_the_run_said(self):
        last = self.trained.metrics()[-1]
        found = self.evaluated
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
        self.assertEqual(self.answer("evaluate", "gpu", "device=cpu"), self.evaluated)

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
        self.fail_with(2, "the data has no classes, which are what the model learned", "evaluate", "run",
                       "data.name=generated")
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
        self.assertEqual(evaluated, self.evaluated)
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
        self.assertEqual(self.answer("evaluate", "old"), self.evaluated)
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


@unittest.skipIf(NO_TORCHVISION, NO_TORCHVISION)
class GroupNormTest(UseTest):
    """model.norm: group, whose exports are torchvision's ResNets with another norm_layer."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        draw = random.Random(3)
        for part, count in [("train", 6), ("val", 3)]:
            for i in range(count):
                for name, colour in zip(CLASSES, (2, 1, 0)):
                    write_picture(cls.folder / f"pictures/{part}/{name}/{i}.png", colour, draw)
        cls.trained, _ = cls.train(IMAGES, "run", model__norm="group")

    def test_the_export_evaluates_to_the_same_in_torchvision(self):
        import torch
        from PIL import Image
        done = self.run_impart("export", "run", "--to", "torchvision")
        self.assertIn("torch.nn.GroupNorm; load.py changes that", done.stderr)
        loaded = load_script(self.folder / "run-torchvision/load.py")
        model, transform = loaded.load_model(), loaded.load_transform()
        self.assertEqual(list(model.buffers()), [])
        pictures = sorted((self.folder / "pictures/val").rglob("*.png"))
        labels = torch.tensor([CLASSES.index(path.parent.name) for path in pictures])
        with torch.no_grad():
            logits = model(torch.stack([transform(Image.open(path)) for path in pictures]))
        loss = float(torch.nn.functional.cross_entropy(logits, labels))
        self.assertAlmostEqual(loss, self.answer("evaluate", "run")["loss"], delta=1e-4)

    def test_a_run_starts_from_one_with_the_same_norm_only(self):
        start = {**IMAGES, **FROZEN, "model.from": "run"}
        self.fail_with(65, "they have no batch norm: model.norm=group", "train", *settings(start),
                       "output=other")
        again, _ = self.train(start, "again", model__norm="group")
        self.assertAlmostEqual(again.metrics()[-1]["test_loss"],
                               self.trained.metrics()[-1]["test_loss"], delta=1e-3)


class SmallTest(UseTest):
    """A model that no library has."""

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


if __name__ == "__main__":
    unittest.main()
