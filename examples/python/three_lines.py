#!/usr/bin/env python3
"""The smallest loop: three lines make it importance-aware. Alone, or on several processes:

    python3 examples/python/three_lines.py
    torchrun --nproc_per_node 2 examples/python/three_lines.py
"""

import os
import time

import torch
from torch.utils.data import DataLoader

import impart
from images import load_images, small_network

if "RANK" in os.environ:
    torch.distributed.init_process_group("gloo")
torch.set_num_threads(1)
torch.manual_seed(1)
epochs = 4
data, _ = load_images(train=600)
model = small_network()
if torch.distributed.is_initialized():
    model = torch.nn.parallel.DistributedDataParallel(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

tracker = impart.Tracker(len(data), ["loss-variance"])                                   # 1
sampler = impart.ImportanceSampler(data, tracker, "stripes", warmup=2, interval=1)       # 2
loader = DataLoader(impart.IndexedDataset(data), batch_size=32, sampler=sampler)

for epoch in range(epochs):
    sampler.set_epoch(epoch)
    for index, images, classes in loader:
        logits = model(images)
        loss = torch.nn.functional.cross_entropy(logits, classes)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        tracker.observe(index, logits=logits, targets=classes)                           # 3
    print(f"epoch {epoch}: last loss {loss.item():.3f}")

tracker.synchronise()
hardest = tracker.importance().argsort()[::-1][:5]
print("hardest examples:", *hardest)
if torch.distributed.is_initialized():
    torch.distributed.barrier()
    time.sleep(0.1)  # torch 1.13 hangs if its threads still hold tensors when the group ends
    torch.distributed.destroy_process_group()
