"""Makes run directories, studies and published CSV files for the tests of reports."""

import base64
import json
import pathlib
import random
import struct
import zlib

CONFIG = """name: {name}
seed: {seed}
epochs: {epochs}
data:
  name: shapes
model:
  name: small-cnn
importance:
  notion: loss-variance
partition:
  heuristic: {heuristic}
  warmup: {warmup}
  interval: {interval}
exchange:
  strategy: {exchange}
  fraction: {fraction}
output: {folder}
"""


def make_run(folder, seed, heuristic="stripes", warmup=3, interval=3, epochs=20, level=80.0,
             name="run", examples=0, hidden=0.0, sync=None, exchange="none", fraction=0.1,
             dissimilarity=0):
    """A finished run whose accuracy depends on the seed and a little on chance. Returns its best.

    `hidden` is the share of visits that a selection spares it, `sync` how many of its 50 steps an epoch
    workers train on their own. An exchange mixes what was sorted; `dissimilarity` says every how many
    epochs it is measured.
    """
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True)
    chance = random.Random(f"{heuristic} {warmup} {interval} {seed}" +
                           (f" {exchange} {fraction}" if exchange != "none" else ""))
    shared = random.Random(seed).gauss(0, 0.5)
    curve = [round(level * (1 - 0.7 * 0.8 ** epoch) + shared + chance.gauss(0, 0.2), 2)
             for epoch in range(epochs)]
    lines = [json.dumps({"epoch": epoch, "step": 50 * (epoch + 1), "learning_rate": 0.1,
                         "train_loss": 1.0, "train_accuracy": value, "test_loss": 2 - value / 100,
                         "test_accuracy": value, "non_finite": 0,
                         "placement": {"event": "random" if epoch < warmup else "heuristic",
                                       "moved": 10, "messages": 2, "imbalance_cv": 0.1,
                                       "imbalance_ks": 0.1, "class_skew": 0.1,
                                       **({"mean_class_skew": 0.8 * (1 - fraction) ** epoch,
                                           "size_spread": 1.0, "seen": 0.25,
                                           "mixed": 0.75 * (1 - (1 - fraction) ** epoch)}
                                          if exchange != "none" else {})},
                         **({"dissimilarity": 60 * (1 - fraction) ** (2 * epoch)}
                            if dissimilarity and epoch % dissimilarity == 0 else {}),
                         "seconds_train": 0.9, "seconds": 1.0})
             for epoch, value in enumerate(curve)]
    (folder / "metrics.jsonl").write_text("\n".join(lines) + "\n")
    best = max(curve)
    summary = {"best_accuracy": best, "final_accuracy": curve[-1], "best_epoch": curve.index(best),
               "epochs": epochs, "examples": 1000, "workers": 4, "processes": 1, "seed": seed,
               "seconds_total": 1.2 * epochs, "seconds_train": 0.9 * epochs,
               "seconds_tracking": 0.01 * epochs, "seconds_partition": 0.02, "seconds_exchange": 0,
               "seconds_importance_pass": 0, "seconds_eval": 1,
               "visits": round(1000 * epochs * (1 - hidden)),
               "visits_hidden": round(1000 * epochs * hidden), "visits_refreshed": 0,
               "visits_max_over_mean": 1.002, "examples_moved": 10 * epochs,
               "payload_bytes_total": 3072 * 1000,
               "bytes_disk": 1 << 20, "bytes_network": 3 << 20, "messages": 2 * epochs,
               "peak_stored_examples": 250, "weights_sha256": "0" * 64,
               "config_hash": f"{seed:08x}{abs(hash((heuristic, warmup, interval))) % 2**32:08x}"}
    if sync:
        summary.update(parameters=1000, bytes_weights=50 // sync * epochs * 8 * 1000 * 3)
    (folder / "summary.json").write_text(json.dumps(summary))
    (folder / "config.yaml").write_text(CONFIG.format(
        name=json.dumps(name), seed=seed, epochs=epochs, heuristic=heuristic, warmup=warmup,
        interval=interval, exchange=exchange, fraction=fraction, folder=json.dumps(str(folder))))
    (folder / "env.json").write_text('{"commit": "unknown"}')
    (folder / "DONE").write_text("")
    if examples:
        add_examples(folder, examples, chance)
    return best


def with_sum(line):
    """A line of metrics.jsonl or ledger.jsonl with its checksum."""
    start = line[:-1]
    return f'{start},"crc32":"{zlib.crc32(start.encode()):08x}"}}'


def add_examples(folder, count, chance):
    """importance.csv with what a data map needs, partitions, and a ledger."""
    rows = ["id,visits,loss-variance,confidence,variability,correctness"]
    for example in range(count):
        hard = chance.random()
        rows.append(f"{example},5,{hard ** 2},{hard},{0.5 * hard * (1 - hard)},{round(hard, 1)}")
    (folder / "importance.csv").write_text("\n".join(rows) + "\n")
    (folder / "partitions").mkdir()
    for epoch in [0, 3]:
        (folder / f"partitions/epoch-{epoch:04}.csv").write_text(
            "id,worker\n" + "".join(f"{i},{(i * 7 + epoch) % 4}\n" for i in range(count)))
    storage = ["bytes_source", "bytes_local", "bytes_written", "bytes_sent", "bytes_received",
               "flows_sent", "flows_received", "sends", "receives",
               "examples_sent", "examples_received", "peak_stored", "cache_hits", "cache_misses"]
    phases = ["forward", "backward", "weight_exchange", "weight_update", "data_wait", "exchange",
              "importance_pass", "refresh", "partition", "tracking", "evaluation", "checkpoint"]
    lines = [json.dumps({"epoch": epoch,
                         "workers": [{"worker": w, **{name: 1 for name in storage}} for w in range(4)],
                         "processes": [{"rank": 0, "bytes_sent": 0, "sends": 0,
                                        "seconds": {name: 0.5 for name in phases}}],
                         "skipped": 0}) for epoch in range(5)]
    (folder / "ledger.jsonl").write_text("\n".join(lines) + "\n")


def png_of(colour, width=32, height=32):
    """The bytes of a PNG file of one colour."""
    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    rows = (b"\0" + bytes(colour) * width) * height
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def npy_of(numbers):
    """The bytes of a one-dimensional .npy file of uint32."""
    header = f"{{'descr': '<u4', 'fortran_order': False, 'shape': ({len(numbers)},), }}"
    header += " " * (-(10 + len(header) + 1) % 64) + "\n"
    return (b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode()
            + struct.pack(f"<{len(numbers)}I", *numbers))


def add_images(folder, count=300, names=("circle", "star", "heart")):
    """labels.npy, and images.jsonl with 4 of the hardest and easiest, of all and of each class."""
    folder = pathlib.Path(folder)
    (folder / "labels.npy").write_bytes(npy_of([i % len(names) for i in range(count)]))
    lines = []
    for i in range(8 + 8 * len(names)):
        among = "all" if i < 8 else "class"
        number = i % len(names) if i < 8 else (i - 8) // 8
        ranks = [{"notion": notion, "among": among, "end": "hardest" if i % 8 < 4 else "easiest",
                  "rank": i % 4 + 1, "importance": 1.5}
                 for notion in (["loss-variance", "confidence"] if i < 8 else ["loss-variance"])]
        lines.append(json.dumps({
            "id": i, "class": number, "label": names[number],
            "prediction": names[0] if i % 2 else names[number], "probability": 0.9, "worker": i % 4,
            "ranks": ranks, "png": base64.b64encode(png_of((7 * i, 90, 250 - 7 * i))).decode()}))
    (folder / "images.jsonl").write_text("\n".join(lines) + "\n")


def add_hidden(folder, count=300):
    """What add_images lacks: stars are hidden in 15 epochs, circles in 5, hearts never."""
    folder = pathlib.Path(folder)
    lines = [json.loads(line) for line in (folder / "images.jsonl").read_text().splitlines()]
    chosen = {1: ("most", 1, 15), 4: ("most", 2, 15), 2: ("least", 1, 0), 5: ("least", 2, 0)}
    for line in lines:
        if line["id"] in chosen:
            line["hidden"] = dict(zip(["end", "rank", "times"], chosen[line["id"]]))
    (folder / "images.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "hidden.npy").write_bytes(npy_of([(5, 15, 0)[i % 3] for i in range(count)]))


def make_language(folder, texts=()):
    """Turns a made run into that of a language model: perplexity for accuracy, and its texts."""
    folder = pathlib.Path(folder)
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    for line in lines:
        line["test_perplexity"] = 400 / line["test_accuracy"]
        line["test_bits_per_byte"] = 150 / line["test_accuracy"]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    summary = json.loads((folder / "summary.json").read_text())
    del summary["best_accuracy"], summary["final_accuracy"]
    summary["best_perplexity"] = min(line["test_perplexity"] for line in lines)
    summary["final_perplexity"] = lines[-1]["test_perplexity"]
    (folder / "summary.json").write_text(json.dumps(summary))
    with open(folder / "texts.jsonl", "w") as file:
        for rank, text in enumerate(texts, 1):
            for end in ["hardest", "easiest"]:
                file.write(json.dumps({"notion": "loss-average", "end": end, "rank": rank,
                                       "id": 7 * rank, "importance": 3.5, "file": "data/book.txt",
                                       "offset": 640, "label": "", "text": text,
                                       "tokens": [["q", 9.25], ["e", 0.5]]}) + "\n")


def make_study(folder, arms, seeds, baseline="vanilla", metric="best_accuracy", **more):
    """A study directory. `arms`: name -> dict of settings for make_run."""
    folder = pathlib.Path(folder)
    runs = []
    for number, (name, settings) in enumerate(arms.items()):
        for seed in seeds:
            where = f"runs/arm-{number}/{seed}"
            make_run(folder / where, seed, name=name, **settings, **more)
            written = json.loads((folder / where / "summary.json").read_text())["config_hash"]
            runs.append({"arm": name, "seed": seed, "folder": where, "config_hash": written,
                         "purpose": "grid"})
    study = {"format": 1, "name": folder.name, "baseline": baseline, "metric": metric,
             "target": None, "seeds": list(seeds), "confirmation_seeds": [],
             "arms": [{"name": name, "settings": {f"partition.{key}": str(value)
                                                  for key, value in settings.items()
                                                  if key in ("heuristic", "warmup", "interval")}
                       | ({"workers.sync": str(settings["sync"])} if "sync" in settings else {})}
                      for name, settings in arms.items()], "runs": runs}
    (folder / "study.json").write_text(json.dumps(study))
    return study


def make_published(folder, warmups=(10, 20), intervals=(1, 5, 30), runs=10, epochs=12):
    """CSV files in the layout of the DAIS 2023 paper; blocks get worse with the interval."""
    folder = pathlib.Path(folder)
    header = ["id", *[f"epoch_{i + 1}" for i in range(epochs)], "best_accuracy", "best_epoch",
              "warmup_epochs", "interval_epochs", "measure", "heuristic", "model", "dataset"]

    def write(path, level, warmup, interval, heuristic, measure="variance"):
        chance = random.Random(str(path.relative_to(folder)))
        lines = [",".join(header)]
        for run in range(runs):
            curve = [round(level - 20 * 0.6 ** epoch + chance.gauss(0, 0.3), 2)
                     for epoch in range(epochs)]
            best = max(curve)
            lines.append(",".join(map(str, [f"r{run}", *curve, best, curve.index(best) + 1, warmup,
                                            interval, measure, heuristic, "resnet18", "cifar10"])))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(lines) + "\n")

    write(folder / "Baselines/c10-vanilla-resnet18.csv", 83, 100, 98, "none")
    for warmup in warmups:
        for interval in intervals:
            write(folder / f"CIFAR10-ResNet18-Stripes-Variance/W{warmup}-INT{interval}.csv", 83,
                  warmup, interval, "roundrobin")
            write(folder / f"CIFAR10-ResNet18-Blocks-Variance/W{warmup}-INT{interval}.csv",
                  83 - 0.05 * interval, warmup, interval, "steps")
