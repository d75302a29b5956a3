# %% [markdown]
# # What did the study say, and about which examples?
#
# Cells as VS Code, Spyder and Jupytext know them; as a script it saves its pictures:
#
#     impart study presets/studies/quick.yaml          # a few minutes, once
#     STUDY=studies/quick OUT=pictures python3 examples/python/notebook.py

# %%
import os
import pathlib

import matplotlib.pyplot as plt
import numpy as np

import impart

study = impart.read_study(os.environ.get("STUDY", "studies/quick"))
out = pathlib.Path(os.environ.get("OUT", "pictures"))
out.mkdir(parents=True, exist_ok=True)
study.arms

# %% [markdown]
# ## Results
# One row per run; what may be *claimed* is for `impart report` to say, which corrects for the
# number of arms.

# %%
done = study.runs[study.runs.status == "done"]
table = done.groupby("arm", sort=False)[study.metric].agg(["count", "mean", "std"])
if study.baseline is not None:
    table["difference"] = table["mean"] - table["mean"][study.baseline]
print(table.round(2))

# %%
axes = impart.plot_curves(study)
axes.figure.savefig(out / "curves.png")

# %% [markdown]
# ## One run
# Its metrics are a table, too: when did it repartition, and how much had to move?

# %%
arm = "blocks" if "blocks" in set(done.arm) else done.arm.iloc[-1]
run = study.run(arm, done[done.arm == arm].seed.iloc[0])
events = run.metrics.dropna(subset=["placement_event"])
print(events[["epoch", "placement_event", "placement_moved", "placement_imbalance_cv"]])

# %% [markdown]
# ## Examples
# The data map: easy ones top left, ambiguous ones on the right, hard ones bottom left. It is over
# the last window of a run, so the run with the most visits in it says most.

# %%
several = [study.run(name, done[done.arm == name].seed.iloc[0]) for name in done.arm.unique()]
most_visits = max(several, key=lambda one: one.importance.visits.mean())
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), dpi=120, layout="constrained")
impart.plot_data_map(most_visits, left)
impart.plot_importance(most_visits, ax=right)
figure.savefig(out / "examples.png")

# %%
places = impart.data_map(most_visits)
hardest = places.sort_values("confidence").head(10)
print("the ten examples that the model trusts least:")
print(hardest.round(2))

# %% [markdown]
# ## Who trained on what
# Importance by worker, with the first partition, which is random, and with the last.

# %%
if len(run.partitions) > 1:
    first, last = min(run.partitions), max(run.partitions)
    figure, both = plt.subplots(1, 2, figsize=(11, 4.2), dpi=120, layout="constrained", sharey=True)
    for axes, epoch in zip(both, (first, last)):
        impart.plot_importance(run, epoch, axes)
        axes.set_title(f"from epoch {epoch} on", loc="left", fontsize="small")
    figure.savefig(out / "workers.png")
    moved = impart.move_plan(run.partitions[first], run.partitions[last])
    print(f"{len(moved.examples)} of {len(run.partitions[last])} examples changed their worker")

# %% [markdown]
# ## What if?
# The pure functions of the core work on any scores: what would other heuristics have dealt?

# %%
scores = run.importance[run.config["importance"]["notion"]].to_numpy()
for heuristic in ["random", "stripes", "snake", "balanced", "blocks"]:
    dealt = impart.partition(scores, heuristic, workers=4)
    sums = np.array([scores[part].sum() for part in dealt.parts])
    print(f"{heuristic:>10}: importance per worker {sums.min():8.1f} to {sums.max():8.1f}")
