"""What the tests of the Python package share: small references in NumPy, and the command."""

import os
import shutil
import sys

import numpy as np

# The command, if the first argument is one.
IMPART = (os.path.abspath(sys.argv.pop(1))
          if len(sys.argv) > 1 and os.path.isfile(sys.argv[1]) else shutil.which("impart"))

BUILT_IN = ["loss-average", "loss-variance", "loss-last", "loss-ema", "forgetting", "confidence",
            "variability", "correctness", "prediction-variance", "threshold-closeness", "grad-norm",
            "el2n", "margin", "entropy"]


def one_batch(random, examples=16, classes=5, batch=8):
    """Ids, logits and targets."""
    return (random.permutation(examples)[:batch], random.normal(0, 2, (batch, classes)),
            random.integers(classes, size=batch))


def softmax(logits):
    logits = np.asarray(logits, np.float64)
    e = np.exp(logits - logits.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def signals_of(logits, targets, features=None):
    """Signals of rows by their definitions, in doubles."""
    logits = np.asarray(logits, np.float64)
    rows = np.arange(len(targets))
    p = softmax(logits)
    others = logits.copy()
    others[rows, targets] = -np.inf
    onehot = np.eye(logits.shape[1])[targets]
    error = np.sqrt(((p - onehot) ** 2).sum(1))
    signals = {
        "loss": -np.log(p[rows, targets]),
        "probability": p[rows, targets],
        "correct": (logits.argmax(1) == targets).astype(float),
        "margin": logits[rows, targets] - others.max(1),
        "entropy": -(p * np.log(np.where(p > 0, p, 1))).sum(1),
        "error_norm": error,
    }
    if features is not None:
        signals["gradient_bound"] = error * np.sqrt(1 + (np.asarray(features, float) ** 2).sum(1))
    return signals


def importance_of(notion, window, run):
    """The importance of one example from its visits in the window and in the run: lists of dicts.

    None if they do not say it.
    """
    def of(name, visits=window):
        return np.array([visit[name] for visit in visits])

    if notion == "forgetting":
        c = of("correct", run)
        if not len(c):
            return None
        return float(((c[:-1] == 1) & (c[1:] == 0)).sum()) if c.any() else float(len(c))
    if notion in ("loss-last", "loss-ema"):
        losses = of("loss", run)
        if not len(losses):
            return None
        if notion == "loss-last":
            return losses[-1]
        ema = losses[0]
        for loss in losses[1:]:
            ema = 0.3 * loss + 0.7 * ema
        return ema
    if not window:
        return None
    p = of("probability")
    v = p.var()
    k = len(window)
    return {
        "loss-average": lambda: of("loss").mean(),
        "loss-variance": lambda: of("loss").var(ddof=1) if k > 1 else None,
        "confidence": lambda: 1 - p.mean(),
        "variability": lambda: p.std(),
        "correctness": lambda: 1 - of("correct").mean(),
        "prediction-variance": lambda: np.sqrt(v + v * v / (k - 1)) if k > 1 else v,
        "threshold-closeness": lambda: p.mean() * (1 - p.mean()),
        "grad-norm": lambda: of("gradient_bound").mean(),
        "el2n": lambda: of("error_norm").mean(),
        "margin": lambda: -of("margin").mean(),
        "entropy": lambda: of("entropy").mean(),
    }[notion]()


def with_gaps_filled(values, previous=None):
    """Unknown: as before, else the mean of those that are known."""
    known = [previous[i] if value is None and previous is not None else value
             for i, value in enumerate(values)]
    finite = [value for value in known if value is not None]
    mean = float(np.mean(finite)) if finite else 0.0
    return np.array([mean if value is None else value for value in known]), known
