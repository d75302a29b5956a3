#!/usr/bin/env bash
# ./quickstart --cuda: builds for this machine's NVIDIA GPU and trains on it. What is missing is
# named with the command that helps.
#
#   --python PYTHON   take torch from this Python, instead of an environment made here
#   --arch 9.0        build for a GPU of another machine, by its compute capability; nothing is run
set -euo pipefail
cd "$(dirname "$0")/.."

python="" arch=""
while [ $# -gt 0 ]; do
  case "$1" in
    --python) python=${2:?"--python needs the path of a Python"} ;;
    --arch) arch=${2:?"--arch needs a compute capability, such as 9.0"} ;;
    *) echo "quickstart --cuda: unknown option $1; there are --python PYTHON and --arch 9.0" >&2; exit 2 ;;
  esac
  shift 2
done

fail() {
  printf 'quickstart: %s\n' "$@" >&2
  exit 1
}

find_gpu() {
  command -v nvidia-smi >/dev/null || fail "there is no NVIDIA driver: nvidia-smi was not found." \
    "Debian: apt install nvidia-driver (section non-free), then reboot. In a container: start it with --gpus all."
  local found
  found=$(nvidia-smi --query-gpu=compute_cap,driver_version,name --format=csv,noheader 2>&1) ||
    fail "the NVIDIA driver does not answer: $(echo "$found" | head -1)" \
      "After an update of the driver a reboot helps; 'dmesg | grep -i nvidia' says more."
  IFS=', ' read -r arch driver name <<<"$(echo "$found" | head -1)"
  [[ $arch =~ ^[0-9]+\.[0-9]+$ ]] || fail "no GPU was found: nvidia-smi said '$found'." \
    "'nvidia-smi -L' lists the GPUs that the driver knows; CUDA_VISIBLE_DEVICES may hide them."
  echo "GPU: $name, compute capability $arch, driver $driver"
}

find_nvcc() {
  nvcc=$(PATH="$PATH:/usr/local/cuda/bin" command -v "${CUDACXX:-nvcc}") || fail "nvcc, CUDA's compiler, was not found." \
    "Debian: apt install nvidia-cuda-toolkit (section non-free); or NVIDIA's cuda-toolkit, then export CUDACXX=/usr/local/cuda/bin/nvcc"
  cuda=$("$nvcc" --version | sed -n 's/.*release \([0-9.]*\).*/\1/p')
  echo "nvcc: $nvcc, CUDA $cuda"
  "$nvcc" --list-gpu-arch | grep -qx "compute_${arch/./}" ||
    fail "nvcc of CUDA $cuda does not know GPUs of compute capability $arch." \
      "Install another version of NVIDIA's cuda-toolkit, and export CUDACXX=/usr/local/cuda-VERSION/bin/nvcc"
}

find_torch() {
  if [ -z "$python" ]; then
    python=build/cuda-env/bin/python
    [ -x "$python" ] || python3 -m venv build/cuda-env ||
      fail "Python cannot make environments. Debian: apt install python3-venv"
    "$python" -c 'import torch' 2>/dev/null || "$python" -m pip install --quiet torch ||
      fail "pip cannot install torch." "With a torch that is already there: ./quickstart --cuda --python PYTHON"
  fi
  local found  # the last line, since torch may warn before: of numpy, where that is missing
  found=$("$python" -c 'import torch; print(torch.version.cuda, torch.utils.cmake_prefix_path, torch.__version__)' 2>&1 | tail -1) ||
    fail "$python has no torch: $found" "$python -m pip install torch"
  read -r torch_cuda torch_path torch_version <<<"$found"
  [ "$torch_cuda" != None ] || fail "torch $torch_version of $python is for CPUs only." \
    "$python -m pip install --upgrade --force-reinstall torch    # the usual one is for CUDA"
  [ "${torch_cuda%%.*}" = "${cuda%%.*}" ] ||
    fail "torch $torch_version is for CUDA $torch_cuda, but nvcc is of CUDA $cuda: the first numbers must agree." \
      "Install CUDA ${torch_cuda%%.*} and export CUDACXX=/usr/local/cuda-${torch_cuda%%.*}/bin/nvcc, or another torch: $python -m pip install torch==VERSION"
  echo "torch: $torch_version of $python, CUDA $torch_cuda"
}

build() {
  # LibTorch is Python's, not Debian's.
  tools/install_packages.sh $(grep -hv -e '^#' -e libtorch tools/packages-command.txt tools/packages.txt)
  echo "Building in build/gpu (the first time takes some minutes)..."
  local log
  log=$(mktemp)
  cmake --preset gpu -DCMAKE_CUDA_COMPILER="$nvcc" -DCMAKE_CUDA_ARCHITECTURES="${arch/./}" \
    -DCMAKE_PREFIX_PATH="$torch_path" -DIMPART_TESTS=OFF -DIMPART_BENCH=OFF >"$log" 2>&1 &&
    cmake --build build/gpu --target impart >>"$log" 2>&1 || {
    tail -n 40 "$log"
    fail "the build failed; all of it is in $log"
  }
  rm -f "$log"
}

show() {
  printf '\n$ impart %s\n' "$*"
  build/gpu/bin/impart "$@"
}

given_arch=$arch
[ -n "$arch" ] || find_gpu
find_nvcc
find_torch
build
if [ -n "$given_arch" ]; then
  echo "build/gpu/bin/impart is for GPUs of compute capability $arch"
  exit 0
fi
echo
echo "A ResNet-18 on 50 000 drawn shapes, 4 workers, first dealt at random, then in stripes:"
show train presets/quick.yaml device=cuda precision=bf16 model.name=resnet18 data.train_examples=50000 \
  workers.batch=128 epochs=30 output=build/gpu/quickstart --overwrite
show report build/gpu/quickstart -o build/gpu/quickstart-report
echo
echo "More: docs/gpu.md"
