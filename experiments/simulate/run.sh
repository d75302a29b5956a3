#!/bin/sh
# Everything in this folder again: sh experiments/simulate/run.sh [impart]; a quarter of an hour on one core.
set -eu
impart=${1:-impart}
cd "$(dirname "$0")"
network="--network 25Gb/s --latency 5us"

# Every strategy on 128 and 2 048 nodes: ImageNet, a fat tree, two nodes for each link up.
: > strategies.csv
for strategy in partial is is-pair ilag-pair balance-pair sticky-stripes vanilla stripes sticky-blocks blocks; do
  # shellcheck disable=SC2086
  "$impart" simulate --nodes 128,2048 --examples 1281167 --payload 110KB $network --oversubscription 2 \
    --strategy $strategy --csv | awk -v first=$strategy 'NR > 1 || first == "partial"' >> strategies.csv
done

# Pairs against all-to-all as clusters grow, 625 examples on each node.
: > congestion.csv
for wiring in "1 static" "1 hashed" "1 adaptive" "2 static" "2 adaptive"; do
  up=${wiring% *} routing=${wiring#* }
  # shellcheck disable=SC2086
  "$impart" simulate --nodes 16,32,64,128,256,512,1024,2048 --examples-per-node 625 --payload 110KB $network \
    --oversubscription "$up" --routing "$routing" --strategy partial@0.1,is-pair@0.1 --csv |
    awk -v up="$up" -v routing="$routing" 'NR == 1 { if (up routing == "1static") print "oversubscription,routing," $0; next }
      { print up "," routing "," $0 }' >> congestion.csv
done

# Figure 3 of the AIST report: ImageNet, a ResNet-50, 32 examples per step and node, 100 Gb/s.
"$impart" simulate --nodes 128,512,2048 --examples 1281167 --payload 110KB --network 100Gb/s --latency 2us --step 100ms \
  --parameters 25600000 --strategy partial@0.7,is@0.3,is-pair@0.1,ilag-pair@0.1 --csv > figure3.csv
