"""Outer steps: how ranks that train on their own for some steps agree on common weights."""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Optional

import torch

from impart import _core
from impart._distributed import rank_and_size
from impart.named import OUTERS, find

OuterState = Dict[str, List[torch.Tensor]]


def outer_state(parameters: Iterable[torch.Tensor]) -> OuterState:
    """Return what :func:`outer_step` keeps from step to step.

    Call it before the first inner step, when all ranks have the same weights.

    Parameters
    ----------
    parameters : iterable of torch.Tensor
        The weights that all ranks start from, such as ``model.parameters()``.

    Returns
    -------
    dict of str to list of torch.Tensor
        ``start``, the last common weights, and ``velocity``, the momentum of the outer rule. It is
        for a checkpoint what an optimiser's ``state_dict()`` is.

    Examples
    --------
    >>> import impart, torch
    >>> sorted(impart.outer_state([torch.ones(2)]))
    ['start', 'velocity']
    """
    start = [parameter.detach().clone() for parameter in parameters]
    return {"start": start, "velocity": [torch.zeros_like(tensor) for tensor in start]}


@torch.no_grad()
def outer_step(parameters: Iterable[torch.Tensor], state: OuterState, outer: str = "nesterov", *,
               lr: Optional[float] = None, momentum: Optional[float] = None,
               inner_lr: Optional[float] = None, visits: float = 1.0, group: Any = None) -> None:
    """Let the ranks agree: their weights become common ones, in place.

    The mean of all ranks' weights, each weighted by its visits since they last agreed, and then a
    step of the outer rule. The inner optimiser and its state stay as they are.

    Parameters
    ----------
    parameters : iterable of torch.Tensor
        The weights of this rank; those that ``state`` was made of.
    state : dict
        From :func:`outer_state`; it is changed.
    outer : str
        A row of :func:`outers`: ``average``, ``nesterov`` (DiLoCo) or ``slowmo``.
    lr, momentum : float, optional
        Of the outer step. As published if left out.
    inner_lr : float, optional
        The learning rate of this rank's last step; ``slowmo`` needs it.
    visits : float
        How many examples this rank has trained on since the last outer step.
    group : optional
        A process group of torch.distributed; the default one if left out. Without any, the process
        is alone.

    Raises
    ------
    ConfigError
        If there is no such rule, it needs a rate that is missing, or the tensors do not fit.

    Examples
    --------
    >>> import impart, torch
    >>> weight = torch.ones(2)
    >>> state = impart.outer_state([weight])
    >>> weight -= 0.5  # what some inner steps did
    >>> impart.outer_step([weight], state, "nesterov", lr=0.7, momentum=0.9)
    >>> weight
    tensor([0.3350, 0.3350])
    """
    weights = [parameter.detach() for parameter in parameters]
    _check(weights, state)
    row = find(OUTERS, "outer", outer)
    if outer == "slowmo" and inner_lr is None:
        raise _core.ConfigError("outer 'slowmo' needs inner_lr: the learning rate of the last step")
    keep, gain, back, push = _core.outer_factors(
        outer, row.lr if lr is None else lr, row.momentum if momentum is None else momentum,
        1.0 if inner_lr is None else inner_lr)
    means = _mean_over_ranks(weights, visits, group)
    for weight, mean, start, velocity in zip(weights, means, state["start"], state["velocity"]):
        if back != 0 or push != 0:
            change = start - mean
            velocity.mul_(keep).add_(change, alpha=gain)
            mean.add_(change, alpha=back).add_(velocity, alpha=push)
        weight.copy_(mean)
        start.copy_(mean)


def _check(weights: List[torch.Tensor], state: OuterState) -> None:
    shapes = [weight.shape for weight in weights]
    if shapes != [start.shape for start in state["start"]]:
        raise _core.ConfigError("the state is of other parameters: make it with outer_state of these")


def _mean_over_ranks(weights: List[torch.Tensor], visits: float, group: Any) -> List[torch.Tensor]:
    _, size = rank_and_size(group)
    if size == 1:
        return [weight.clone() for weight in weights]
    import torch.distributed as distributed

    total = torch.tensor([float(visits)], dtype=torch.float64, device=weights[0].device)
    distributed.all_reduce(total, group=group)
    if not total.item() > 0:
        raise _core.ConfigError("no rank has visited an example since the last outer step")
    share = visits * size / total.item()  # 1 where all have visited as many
    flat = torch.cat([weight.reshape(-1) for weight in weights]).mul_(share)
    distributed.all_reduce(flat, group=group)
    flat.div_(size)
    pieces = flat.split([weight.numel() for weight in weights])
    return [piece.reshape(weight.shape) for piece, weight in zip(pieces, weights)]
