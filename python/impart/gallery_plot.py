"""The hardest and easiest images, side by side. Needs matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional, Sequence, Union

import numpy as np

from impart import ConfigError, DataError
from impart.plots import importance_of, new_axes
from impart.runs import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from impart import Tracker

_GAP = 0.08  # between tiles, whose side is 1
_CAPTION = 0.22  # height of the line below a tile


def gallery(source: Union[Tracker, Run, np.ndarray, Sequence[float]], dataset: Any,
            ax: Optional[Axes] = None, *, notion: Optional[str] = None, count: int = 8,
            class_names: Optional[Sequence[str]] = None) -> Axes:
    """Draw the hardest examples of a data set of images in one row, the easiest in another.

    Parameters
    ----------
    source
        Importance of every example, or a Tracker or Run that knows it.
    dataset
        Gives the image of an id: ``dataset[id]`` is an image, or a tuple or dict that begins with
        one, its class next, as data sets of torchvision are (without random changes, please). An
        image is of Pillow, or an array or tensor with channels first or last; floats beyond 0 to 1
        are brought there.
    ax
        Where to draw; default: a new figure.
    notion
        Which one; default: the one that decides.
    count
        Images in a row.
    class_names
        What classes are called; default: ``dataset.classes`` if there is one, else numbers.

    Examples
    --------
    >>> import impart, torchvision  # doctest: +SKIP
    >>> photos = torchvision.datasets.ImageFolder("photos/train")  # doctest: +SKIP
    >>> impart.gallery(impart.read_run("runs/a"), photos)  # doctest: +SKIP
    """
    importance, name = importance_of(source, notion)
    if count < 1:
        raise ConfigError(f"count is {count}; it must be 1 or more")
    if len(dataset) != len(importance):
        raise DataError(f"a data set of {len(dataset)} examples, but importance of {len(importance)}")
    names = getattr(dataset, "classes", None) if class_names is None else class_names
    ranking = _hardest_first(importance)
    shown = min(count, len(ranking))
    axes = new_axes(ax, 1.1 * max(shown, 2), 3.2)
    _draw_row(axes, 0, ranking[:shown], dataset, names)
    _draw_row(axes, 1, ranking[::-1][:shown], dataset, names)
    below = 2 + _GAP + 2 * _CAPTION
    axes.set(xlim=(0, max(shown, 1) * (1 + _GAP)), ylim=(below, 0), aspect="equal", xticks=[],
             yticks=[0.5, 1.5 + _GAP + _CAPTION], yticklabels=["hardest", "easiest"])
    axes.tick_params(length=0)
    axes.grid(False)
    axes.spines[:].set_visible(False)
    axes.set_title(f"by {name}" if name else "by importance", fontsize="small", loc="left")
    return axes


def _hardest_first(importance: np.ndarray) -> np.ndarray:
    """Ids of examples whose importance is known; of equal ones the smaller id first."""
    ids = np.flatnonzero(np.isfinite(importance))
    return ids[np.argsort(-importance[ids], kind="stable")]


def _draw_row(axes: Axes, row: int, ids: np.ndarray, dataset: Any,
              names: Optional[Sequence[str]]) -> None:
    top = row * (1 + _GAP + _CAPTION)
    for column, example in enumerate(ids.tolist()):
        image, label = _image_and_label(dataset[example])
        left = column * (1 + _GAP)
        pixels = _pixels(image, example)
        axes.imshow(pixels, extent=(left, left + 1, top + 1, top), interpolation="nearest",
                    cmap="gray", vmin=0, vmax=255)
        axes.text(left + 0.5, top + 1.03, _caption(example, label, names), ha="center", va="top",
                  fontsize="x-small", clip_on=True)


def _caption(example: int, label: Any, names: Optional[Sequence[str]]) -> str:
    if label is None:
        return str(example)
    return f"{example} {label if names is None else names[int(label)]}"


def _image_and_label(example: Any) -> tuple[Any, Any]:
    if isinstance(example, dict):
        image = next((example[key] for key in ("image", "img", "pixel_values") if key in example), None)
        return image, next((example[key] for key in ("label", "labels") if key in example), None)
    if isinstance(example, (tuple, list)):
        return example[0], example[1] if len(example) > 1 else None
    return example, None


def _pixels(image: Any, example: int) -> np.ndarray:
    """Bytes, (height, width) or (height, width, 3)."""
    if hasattr(image, "convert"):  # Pillow's
        image = image.convert("RGB")
    values = np.asarray(image.detach().cpu() if hasattr(image, "detach") else image)
    if values.ndim == 3 and values.shape[0] in (1, 3) and values.shape[2] not in (1, 3):
        values = values.transpose(1, 2, 0)
    if values.ndim == 3 and values.shape[2] == 1:
        values = values[:, :, 0]
    if values.ndim not in (2, 3) or values.dtype.kind not in "uif":
        raise DataError(f"example {example} is no image: an array of shape {values.shape}, "
                        f"{values.dtype}")
    if values.dtype == np.uint8:
        return values
    low, high = float(values.min(initial=0)), float(values.max(initial=0))
    if values.dtype.kind != "f" or low < 0 or high > 1:
        values = (values - low) / ((high - low) or 1)
    return (values * 255).round().astype(np.uint8)
