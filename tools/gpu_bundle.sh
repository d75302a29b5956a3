#!/bin/sh
# Packs a build for a GPU machine that has torch for Python, but none of the other libraries:
#
#   tools/gpu_bundle.sh BUILD DEST [PROGRAM...]     e.g. tools/gpu_bundle.sh build/gpu /tmp/bundle
#
# DEST (and DEST.tar.xz) gets bin/, the programs (impart and impart-engine if none are named), stripped; lib/, every
# library they need besides those of torch, CUDA and the C and C++ runtimes; presets/ and
# experiments/; and `run`:
#
#   DEST/run impart train presets/quick.yaml        runs bin/impart with the libraries it needs
#
# `run` takes torch's libraries, and NCCL, from the machine's python3, and of lib/ only what the machine
# itself does not have.
set -eu

build=$1 dest=$2
shift 2
[ $# -gt 0 ] || set -- impart impart-engine
here=$(cd "$(dirname "$0")/.." && pwd)
rm -rf "$dest"
mkdir -p "$dest/bin" "$dest/lib"

for program; do
  cp "$build/bin/$program" "$dest/bin/"
  strip "$dest/bin/$program"
done
# Libraries of torch and CUDA are found by the folder they are in, the runtimes by their names.
for program; do ldd "$dest/bin/$program"; done |
  awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u |
  grep -v -e /torch/lib/ -e /nvidia/ -e /cuda -e '/libcuda' \
    -e '/\(libc\|libm\|libdl\|librt\|libpthread\|libresolv\|libutil\|ld-linux-x86-64\|libstdc++\|libgcc_s\|libgomp\)\.so' |
  while read -r library; do cp -L "$library" "$dest/lib/"; done
cp -r "$here/presets" "$here/experiments" "$dest/"

cat > "$dest/run" <<'RUN'
#!/bin/sh
# run PROGRAM [ARGUMENTS...]: a program of bin/ with the libraries it needs.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
if [ ! -e "$here/found" ]; then
  mkdir -p "$here/missing"
  known=$(ldconfig -p | awk '{ print $1 }')
  for library in "$here"/lib/*; do
    name=$(basename "$library")
    echo "$known" | grep -qxF "$name" || ln -sf "$library" "$here/missing/$name"
  done
  python3 - > "$here/found.$$" <<'PYTHON'
import glob, importlib.util, os
torch = os.path.dirname(importlib.util.find_spec("torch").origin)
print(":".join([torch + "/lib"] + glob.glob(os.path.dirname(torch) + "/nvidia/nccl/lib")))
PYTHON
  mv "$here/found.$$" "$here/found"
fi
program=$1
shift
export LD_LIBRARY_PATH="$(cat "$here/found"):$here/missing${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
exec "$here/bin/$program" "$@"
RUN
chmod +x "$dest/run"
XZ_OPT=-6 tar -C "$dest" -cJf "$dest.tar.xz" .
du -sh "$dest" "$dest.tar.xz"
