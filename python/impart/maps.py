"""Data maps: where a model is sure, unsure and wrong (Swayamdipta et al., EMNLP 2020)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Union

import numpy as np

from impart import ConfigError, DataError
from impart.run_files import pandas
from impart.runs import Run

if TYPE_CHECKING:
    import pandas as pd

    from impart import Tracker

#: The notions a map is made of. Notions are larger for harder examples, so all but the second are
#: turned round.
MAP_NOTIONS = ("confidence", "variability", "correctness")


def data_map(source: Union[Tracker, Run]) -> pd.DataFrame:
    """The coordinates of every example, one row each (index `id`).

    Parameters
    ----------
    source
        A Tracker with the notions `confidence`, `variability` and `correctness`, or a Run that
        recorded them (`importance.record: [confidence, variability, correctness]`).

    Returns
    -------
    DataFrame
        `confidence`: mean probability of the true class, 0 to 1; `variability`: its standard
        deviation over visits, 0 to 0.5; `correctness`: share of visits with a right prediction,
        0 to 1, left out if the source did not keep it. Hard to learn is low confidence, ambiguous
        is high variability, easy is high confidence. All over the window that importance is over:
        use window="run" for a map of the whole run. An example without a visit in it has what it
        had before, or else the mean of the others.

    Raises
    ------
    ConfigError, DataError
        If the tracker or the run did not keep confidence and variability.

    Examples
    --------
    >>> import impart
    >>> tracker = impart.Tracker(2, ["confidence", "variability"])
    >>> tracker.observe([0, 1], logits=[[9.0, 0.0], [0.0, 9.0]], targets=[0, 0])
    >>> impart.data_map(tracker).confidence.round(2).tolist()
    [1.0, 0.0]
    """
    columns = _columns_of_run(source) if isinstance(source, Run) else _columns_of_tracker(source)
    turned = {name: values if name == "variability" else 1 - values
              for name, values in columns.items()}
    table = pandas().DataFrame({name: turned[name] for name in MAP_NOTIONS if name in turned})
    table.index.name = "id"
    return table


def _columns_of_run(run: Run) -> dict[str, np.ndarray]:
    kept = [name for name in MAP_NOTIONS if name in run.importance]
    found = {name: run.importance[name].to_numpy() for name in kept}
    if not {"confidence", "variability"} <= found.keys():
        raise DataError(f"{run.folder / 'importance.csv'}: a data map needs confidence and "
                        "variability: train with importance.record=[confidence, variability, "
                        "correctness]")
    return found


def _columns_of_tracker(tracker: Any) -> dict[str, np.ndarray]:
    kept = [name for name in MAP_NOTIONS if name in tracker.notions]
    if not {"confidence", "variability"} <= set(kept):
        raise ConfigError("a data map needs a Tracker with the notions confidence, variability and "
                          f"correctness; this one keeps {', '.join(tracker.notions)}")
    return {name: np.asarray(tracker.importance(name)) for name in kept}
