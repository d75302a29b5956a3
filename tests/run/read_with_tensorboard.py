"""Prints what the real TensorBoard finds in a folder, as JSON; exits with 77 if it is not there."""
import json
import sys

try:
    from tensorboard.backend.event_processing import event_accumulator
    from tensorboard.util import tensor_util
except ImportError as error:
    print(error)
    sys.exit(77)

accumulator = event_accumulator.EventAccumulator(sys.argv[1], size_guidance={"tensors": 0})
accumulator.Reload()
found = {}
for tag in accumulator.Tags()["scalars"]:
    found[tag] = [[e.step, e.value] for e in accumulator.Scalars(tag)]
for tag in accumulator.Tags()["histograms"]:
    found[tag] = [[e.step, e.histogram_value.num] for e in accumulator.Histograms(tag)]
for tag in accumulator.Tags()["tensors"]:
    found[tag] = [[e.step, tensor_util.make_ndarray(e.tensor_proto).tolist()]
                  for e in accumulator.Tensors(tag)]
print(json.dumps(found))
