#!/usr/bin/env python3
"""./quickstart --cuda names what is missing, with the command that helps. Nothing is built: programs of
CUDA are played by scripts, and those of the system are the only others there."""

import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
# What the script uses before it builds.
SYSTEM = ["bash", "dirname", "sed", "grep", "head", "tail", "env"]
GPU = "9.0, 580.65.06, NVIDIA H200"
NVCC = """case "$1" in
  --version) echo "Cuda compilation tools, release {release}, V{release}.0" ;;
  --list-gpu-arch) echo compute_80; echo compute_90 ;;
esac"""


class QuickstartCuda(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for name in SYSTEM:
            os.symlink(f"/usr/bin/{name}", self.folder / name)

    def program(self, name, text):
        (self.folder / name).write_text(f"#!/usr/bin/bash\n{text}\n")
        (self.folder / name).chmod(0o755)

    def gpu(self, said=GPU, code=0):
        self.program("nvidia-smi", f"echo '{said}'; exit {code}")

    def nvcc(self, release="13.0"):
        self.program("nvcc", NVCC.format(release=release))

    def python(self, said, code=0):
        self.program("python", f"echo '{said}'; exit {code}")
        return ["--python", str(self.folder / "python")]

    def fails(self, *options, code=1, **environment):
        done = subprocess.run(["bash", str(ROOT / "quickstart"), "--cuda", *options], text=True,
                              env={"PATH": str(self.folder), **environment}, capture_output=True, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stderr

    def test_no_driver(self):
        said = self.fails()
        self.assertIn("nvidia-smi was not found", said)
        self.assertIn("apt install nvidia-driver", said)

    def test_a_driver_that_does_not_answer(self):
        self.gpu("Failed to initialize NVML: Driver/library version mismatch", code=18)
        said = self.fails()
        self.assertIn("does not answer: Failed to initialize NVML", said)
        self.assertIn("reboot", said)

    def test_a_driver_without_a_gpu(self):
        self.gpu("No devices were found")
        self.assertIn("no GPU was found: nvidia-smi said 'No devices were found'", self.fails())

    def test_no_compiler(self):
        self.gpu()
        said = self.fails(CUDACXX="/none/nvcc")
        self.assertIn("nvcc, CUDA's compiler, was not found", said)
        self.assertIn("apt install nvidia-cuda-toolkit", said)

    def test_a_compiler_that_does_not_know_the_card(self):
        self.gpu("12.0, 580.65.06, NVIDIA B200")
        self.nvcc("12.4")
        self.assertIn("nvcc of CUDA 12.4 does not know GPUs of compute capability 12.0", self.fails())

    def test_what_torch_warns_of_is_not_its_version(self):
        self.gpu()
        self.nvcc("13.0")
        self.program("python", "echo 'Failed to initialize NumPy: No module named numpy' >&2; echo 12.8 /torch 2.9.0")
        self.assertIn("torch 2.9.0 is for CUDA 12.8, but nvcc is of CUDA 13.0", self.fails("--python", str(self.folder / "python")))

    def test_a_python_without_torch(self):
        self.gpu()
        self.nvcc()
        said = self.fails(*self.python("No module named torch", code=1))
        self.assertIn("has no torch: No module named torch", said)
        self.assertIn("-m pip install torch", said)

    def test_a_torch_without_cuda(self):
        self.gpu()
        self.nvcc()
        self.assertIn("torch 2.11+cpu of", self.fails(*self.python("None /torch/share/cmake 2.11+cpu")))

    def test_a_torch_for_another_cuda(self):
        self.gpu()
        self.nvcc()
        said = self.fails(*self.python("12.8 /torch/share/cmake 2.11"))
        self.assertIn("torch 2.11 is for CUDA 12.8, but nvcc is of CUDA 13.0", said)

    def test_another_machines_card_needs_no_gpu_here(self):
        self.nvcc()
        said = self.fails("--arch", "9.0", *self.python("None /torch/share/cmake 2.11+cpu"))
        self.assertIn("for CPUs only", said)

    def test_an_unknown_option(self):
        self.assertIn("unknown option --gpu", self.fails("--gpu", code=2))


if __name__ == "__main__":
    unittest.main()
