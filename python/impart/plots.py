"""Pictures of importance, data maps and studies. Needs matplotlib.

Each function draws into `ax`, or into a new figure, and returns the Axes; titles, limits and saving
are up to the caller: `impart.plot_curves(study).figure.savefig("curves.png")`. Colours can be told
apart with any colour vision (Okabe and Ito), and lines also by their dashes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional, Sequence, Union

import numpy as np

from impart import ConfigError, DataError
from impart.maps import data_map
from impart.run_files import optional_module
from impart.runs import Run, Study

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from impart import Tracker

#: Okabe and Ito's colours without yellow, which is too light for lines on white. Black is kept for
#: the baseline.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
_DASHES = ("-", (0, (5, 2)), (0, (1, 1.2)), (0, (6, 1.5, 1, 1.5)))
_INK = "#222222"

_LABELS = {
    "test_accuracy": "test accuracy (%)", "train_accuracy": "training accuracy (%)",
    "test_loss": "test loss (nats)", "train_loss": "training loss (nats)",
    "test_perplexity": "test perplexity", "test_bits_per_byte": "test bits per byte",
    "learning_rate": "learning rate", "seconds": "seconds per epoch",
    "seconds_train": "seconds of training per epoch", "non_finite": "visits with NaN or ∞",
    "placement_moved": "examples moved",
    "placement_imbalance_cv": "imbalance (coefficient of variation)",
    "placement_imbalance_ks": "imbalance (Kolmogorov–Smirnov)",
}
_MOST_BOXES = 32  # more workers are drawn as bands


def new_axes(ax: Optional[Axes], width: float = 6.4, height: float = 4.4) -> Axes:
    """`ax`, or the axes of a new figure, in our style."""
    if ax is None:
        pyplot = optional_module("matplotlib.pyplot", "matplotlib", "drawing")
        _, ax = pyplot.subplots(figsize=(width, height), dpi=120, layout="constrained")
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(True, color="#dddddd", linewidth=0.6)
    ax.set_axisbelow(True)
    return ax


def _evenly_spaced(count: int, most: int) -> np.ndarray:
    """At most `most` of 0..count-1, the same ones every time."""
    return np.arange(count)[:: max(1, -(-count // most))]


def _thousands(count: int) -> str:
    return f"{count:,}".replace(",", "\u202f")


# ---- data map ----

def plot_data_map(source: Union[Tracker, Run, pd.DataFrame], ax: Optional[Axes] = None, *,
                  max_points: int = 20_000) -> Axes:
    """Draw confidence against variability, a dot per example, coloured by correctness.

    Parameters
    ----------
    source
        What `data_map` takes, or a table that it gave.
    ax
        Where to draw; default: a new figure.
    max_points
        Of larger data sets every k-th example is drawn.

    Examples
    --------
    >>> import impart
    >>> impart.plot_data_map(impart.read_run("runs/a"))  # doctest: +SKIP
    """
    table: Any = source if hasattr(source, "columns") else data_map(source)  # type: ignore[arg-type]
    missing = [name for name in ("confidence", "variability") if name not in table.columns]
    if missing:
        raise DataError(f"a data map without {missing[0]}")
    axes = new_axes(ax)
    finite = table[np.isfinite(table["confidence"]) & np.isfinite(table["variability"])]
    shown = finite.iloc[_evenly_spaced(len(finite), max_points)]
    size = float(np.clip(8000 / max(len(shown), 1), 2, 30))
    colour: dict[str, Any] = {"color": COLOURS[0]}
    if "correctness" in shown.columns:
        colour = {"c": shown["correctness"], "cmap": _steps_of_cividis(), "vmin": 0, "vmax": 1}
    dots = axes.scatter(shown["variability"], shown["confidence"], s=size, linewidths=0, alpha=0.8,
                        rasterized=len(shown) > 2000, **colour)
    if "correctness" in shown.columns:
        bar = axes.figure.colorbar(dots, ax=axes, ticks=np.linspace(0, 1, 6), pad=0.02)
        bar.set_label("correctness (share of visits with a right prediction)")
        bar.solids.set_alpha(1)
        bar.outline.set_visible(False)
    axes.set(xlabel="variability (standard deviation of the true class's probability)",
             ylabel="confidence (its mean)", ylim=(-0.02, 1.02))
    axes.set_xlim(left=-0.005)
    once = len(shown) > 0 and float(shown["variability"].max()) == 0
    _add_note(axes, _shown_of(len(shown), len(table)) + (", one visit each" if once else ""))
    return axes


def _steps_of_cividis() -> Any:
    """Five steps are easier to read off than a ramp; cividis is made for all colour vision."""
    pyplot = optional_module("matplotlib.pyplot", "matplotlib", "drawing")
    return pyplot.get_cmap("cividis", 5)


def _add_note(axes: Axes, text: str) -> None:
    axes.set_title(text, fontsize="small", loc="left", color=_INK)


def _shown_of(shown: int, count: int) -> str:
    if shown == count:
        return f"{_thousands(count)} examples"
    return f"{_thousands(shown)} of {_thousands(count)} examples"


# ---- importance ----

def plot_importance(source: Union[Tracker, Run, np.ndarray, Sequence[float]],
                    partition: Any = None, ax: Optional[Axes] = None, *,
                    notion: Optional[str] = None) -> Axes:
    """Draw how importance is spread over all examples, or over the examples of each worker.

    Parameters
    ----------
    source
        Importance of every example, or a Tracker or Run that knows it.
    partition
        The worker of every example (an array, a Partition, or an epoch whose partition the Run
        saved). Without it: importance by rank, hardest first. With it: a box per worker from the
        lower to the upper quartile, the median in it, and whiskers from the 5th to the 95th
        percentile; of more than 32 workers, the same as bands.
    ax
        Where to draw; default: a new figure.
    notion
        Which one; default: the one that decides.

    Examples
    --------
    >>> import impart
    >>> impart.plot_importance([0.9, 0.1, 0.8], [0, 1, 0])  # doctest: +SKIP
    """
    importance, name = importance_of(source, notion)
    axes = new_axes(ax)
    if partition is None:
        _draw_ranking(axes, importance)
    else:
        _draw_workers(axes, importance, _owners_of(source, partition, len(importance)))
    axes.set_ylabel(f"importance ({name})" if name else "importance")
    return axes


def importance_of(source: Any, notion: Optional[str]) -> tuple[np.ndarray, str]:
    """The importance of every example, and what the notion is called."""
    if isinstance(source, Run):
        name = notion or source.config["importance"]["notion"]
        if name not in source.importance:
            kept = ", ".join(map(str, source.importance.columns.drop("visits", errors="ignore")))
            raise ConfigError(f"{source.folder} did not record '{name}', but {kept}")
        return source.importance[name].to_numpy(), name
    if hasattr(source, "importance"):
        name = notion or source.notions[0]
        return np.asarray(source.importance(name)), name
    values = np.asarray(source, dtype=float)
    if values.ndim != 1:
        raise DataError(f"importance has {values.ndim} dimensions instead of one")
    return values, notion or ""


def _owners_of(source: Any, partition: Any, examples: int) -> np.ndarray:
    if isinstance(partition, (int, np.integer)) and isinstance(source, Run):
        saved = source.partitions
        if partition not in saved:
            known = ", ".join(map(str, saved)) or "none: train with partition.save=true"
            raise ConfigError(f"{source.folder} saved no partition of epoch {partition}; "
                              f"saved: {known}")
        partition = saved[int(partition)]
    owners = np.asarray(getattr(partition, "owners", partition))
    if owners.ndim != 1 or owners.dtype.kind not in "iu":
        raise DataError("owners must be one integer per example: its worker")
    if len(owners) != examples:
        raise DataError(f"a partition of {len(owners)} examples, but importance of {examples}")
    if len(owners) and owners.min() < 0:
        raise DataError(f"a worker below 0: {owners.min()}")
    return owners


def _draw_ranking(axes: Axes, importance: np.ndarray) -> None:
    finite = np.sort(importance[np.isfinite(importance)])[::-1]
    share = np.linspace(0, 100, len(finite)) if len(finite) > 1 else np.zeros(len(finite))
    shown = np.unique(np.linspace(0, max(len(finite) - 1, 0), 4000).astype(int))[: len(finite)]
    axes.plot(share[shown], finite[shown], color=COLOURS[0], linewidth=1.8)
    axes.fill_between(share[shown], finite[shown], min(0.0, finite.min(initial=0.0)),
                      color=COLOURS[0], alpha=0.15, linewidth=0)
    axes.set(xlabel="examples, hardest first (%)", xlim=(0, 100))
    axes.margins(y=0.02)
    _add_note(axes, _shown_of(len(finite), len(importance)))


def _draw_workers(axes: Axes, importance: np.ndarray, owners: np.ndarray) -> None:
    workers = int(owners.max()) + 1 if len(owners) else 0
    parts = [part[np.isfinite(part)] for part in _split(importance, owners, workers)]
    percentiles = np.array([np.percentile(part, [5, 25, 50, 75, 95]) if len(part) else [np.nan] * 5
                            for part in parts]).reshape(workers, 5)
    at = np.arange(workers)
    if workers > _MOST_BOXES:
        axes.fill_between(at, percentiles[:, 0], percentiles[:, 4], color=COLOURS[0], alpha=0.18,
                          linewidth=0, label="5th to 95th percentile")
        axes.fill_between(at, percentiles[:, 1], percentiles[:, 3], color=COLOURS[0], alpha=0.4,
                          linewidth=0, label="quartiles")
        axes.plot(at, percentiles[:, 2], color=_INK, linewidth=1.2, label="median")
        axes.legend(frameon=False, fontsize="small")
    else:
        boxes = [dict(zip(("whislo", "q1", "med", "q3", "whishi"), row)) for row in percentiles]
        axes.bxp(boxes, positions=at, widths=0.6, showfliers=False, patch_artist=True,
                 boxprops={"facecolor": COLOURS[5], "edgecolor": COLOURS[0]},
                 medianprops={"color": _INK, "linewidth": 1.8},
                 whiskerprops={"color": COLOURS[0]}, capprops={"color": COLOURS[0]})
        axes.set_xticks(at, [str(worker) for worker in at])
        axes.grid(False, axis="x")
    axes.set_xlabel("worker")
    _add_note(axes, "median, quartiles, 5th and 95th percentile of each worker's examples")


def _split(importance: np.ndarray, owners: np.ndarray, workers: int) -> list[np.ndarray]:
    by_owner = np.argsort(owners, kind="stable")
    ends = np.cumsum(np.bincount(owners, minlength=workers))[:-1]
    return np.split(importance[by_owner], ends) if workers else []


# ---- curves ----

def plot_curves(source: Union[Study, Run], metric: Optional[str] = None,
                ax: Optional[Axes] = None, *, arms: Optional[Sequence[str]] = None,
                band: Optional[str] = "std") -> Axes:
    """Draw a metric over epochs: for each arm the mean over seeds, with a band around it.

    Parameters
    ----------
    source
        A Study, of which finished runs are drawn, or one Run.
    metric
        A column of `metrics`; default: the curve behind the study's metric, such as
        `test_accuracy`.
    ax
        Where to draw; default: a new figure.
    arms
        Which ones, in this order; default: all.
    band
        `std` (± one standard deviation, n - 1), `range` (smallest to largest), or None.

    Examples
    --------
    >>> import impart
    >>> impart.plot_curves(impart.read_study("studies/a")).figure.savefig("a.png")  # doctest: +SKIP
    """
    if band not in ("std", "range", None):
        raise ConfigError(f"unknown band '{band}': there are std, range and None")
    metric = metric or _curve_of(source)
    curves = _curves_of_run(source, metric) if isinstance(source, Run) else \
        _curves_of_study(source, metric, arms)
    axes = new_axes(ax)
    baseline = None if isinstance(source, Run) else source.baseline
    number = 0
    for arm, curve in curves.items():
        if arm == baseline:
            _draw_curve(axes, curve, arm, band, color=_INK, linestyle=(0, (2, 1)), zorder=4)
            continue
        _draw_curve(axes, curve, arm, band, color=COLOURS[number % len(COLOURS)],
                    linestyle=_DASHES[number // len(COLOURS) % len(_DASHES)], zorder=3)
        number += 1
    axes.set(xlabel="epoch", ylabel=_LABELS.get(metric, metric.replace("_", " ")))
    axes.xaxis.get_major_locator().set_params(integer=True)
    _add_legend(axes, curves, band)
    return axes


def _curve_of(source: Union[Study, Run]) -> str:
    """The column of metrics.jsonl that the judged number is the best or last of."""
    if isinstance(source, Run):
        return "test_perplexity" if "test_perplexity" in source.metrics else "test_accuracy"
    ending = source.metric.split("_", 1)[-1]
    return f"test_{ending}" if source.metric.startswith(("best_", "final_")) else "test_accuracy"


def _curves_of_run(run: Run, metric: str) -> dict[str, pd.DataFrame]:
    _check_metric(metric, run.metrics)
    return {run.folder.name: run.metrics.set_index("epoch")[[metric]]}


def _curves_of_study(study: Study, metric: str,
                     arms: Optional[Sequence[str]]) -> dict[str, pd.DataFrame]:
    """By arm: epochs × seeds. Runs that chose an arm are left out where others confirm it."""
    metrics = study.metrics
    metrics = metrics[metrics["status"] == "done"]
    if (metrics["purpose"] == "confirm").any():
        metrics = metrics[metrics["purpose"] == "confirm"]
    metrics = metrics[metrics["purpose"] != "search"]
    if metrics.empty:
        raise DataError(f"{study.folder}: no run has finished yet")
    _check_metric(metric, metrics)
    known = [entry["name"] for entry in study.record["arms"]]
    unknown = [arm for arm in arms or () if arm not in known]
    if unknown:
        raise ConfigError(f"unknown arm '{unknown[0]}': there are {', '.join(known)}")
    finished = set(metrics["arm"])
    return {arm: metrics[metrics["arm"] == arm].pivot(index="epoch", columns="seed", values=metric)
            for arm in arms or known if arm in finished}


def _check_metric(metric: str, metrics: pd.DataFrame) -> None:
    if metric not in metrics:
        numbers = metrics.select_dtypes("number").columns
        raise ConfigError(f"unknown metric '{metric}': there are {', '.join(numbers)}")


def _draw_curve(axes: Axes, curve: pd.DataFrame, arm: str, band: Optional[str],
                **style: Any) -> None:
    curve = curve.dropna(how="all")  # epochs without an evaluation
    curve.index = curve.index + 1  # files count from 0, people from 1
    mean = curve.mean(axis=1)
    count = curve.shape[1]
    axes.plot(mean.index, mean, linewidth=1.8, label=f"{arm} (n = {count})" if count > 1 else arm,
              marker="o" if len(mean) == 1 else None, **style)
    if band is None or count < 2:
        return
    low, high = curve.min(axis=1), curve.max(axis=1)
    if band == "std":
        spread = curve.std(axis=1, ddof=1)
        low, high = mean - spread, mean + spread
    axes.fill_between(mean.index, low, high, color=style["color"], alpha=0.15, linewidth=0,
                      zorder=style["zorder"] - 2)


def _add_legend(axes: Axes, curves: dict[str, pd.DataFrame], band: Optional[str]) -> None:
    if all(curve.shape[1] < 2 for curve in curves.values()) and len(curves) < 2:
        return
    drawn = {"std": "mean ± standard deviation over seeds", "range": "mean and range over seeds",
             None: "mean over seeds"}[band]
    axes.legend(title=drawn, frameon=False, fontsize="small", title_fontsize="small",
                alignment="left", ncols=1 if len(curves) <= 8 else 2)
