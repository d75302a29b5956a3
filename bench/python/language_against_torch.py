#!/usr/bin/env python3
"""How fast a GPT trains beside the same model in PyTorch, compiled by torch.compile, in the same run.

    language_against_torch.py LANGUAGE_BENCH [--batch 32 64] [--rounds 3] [--steps 20]

LANGUAGE_BENCH is the program build/…/bin/language_bench, or a command that ends in it. Both train GPT-2 small
(vocabulary 50 304, block 1 024, tied head, no dropout) on random tokens: bfloat16 arithmetic, float master weights,
AdamW, gradients clipped to length 1. PyTorch's is written as its users write it (autocast, fused AdamW, flash
attention) and compiled in its default mode. Rounds of the two alternate; speed is the ratio of the medians. Both must
begin at the loss of guessing.
"""

import argparse
import math
import re
import shlex
import statistics
import subprocess
import sys
import time

import torch
from torch import nn
from torch.nn import functional

VOCABULARY, BLOCK, LAYERS, HEADS, WIDTH = 50304, 1024, 12, 12, 768


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.c_attn, self.c_proj = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.c_fc, self.mlp_proj = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, trunk):
        batch, tokens, _ = trunk.shape
        parts = self.c_attn(self.ln_1(trunk)).split(WIDTH, dim=2)
        heads = [part.view(batch, tokens, HEADS, WIDTH // HEADS).transpose(1, 2) for part in parts]
        mixed = functional.scaled_dot_product_attention(*heads, is_causal=True)
        trunk = trunk + self.c_proj(mixed.transpose(1, 2).reshape(batch, tokens, WIDTH))
        return trunk + self.mlp_proj(functional.gelu(self.c_fc(self.ln_2(trunk)), approximate="tanh"))


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(BLOCK, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.ln_f = nn.LayerNorm(WIDTH)
        for parameter in self.parameters():
            if parameter.dim() == 2:
                nn.init.normal_(parameter, std=0.02)

    def forward(self, tokens, targets):
        trunk = self.wte(tokens) + self.wpe.weight[: tokens.shape[1]]
        for layer in self.layers:
            trunk = layer(trunk)
        logits = functional.linear(self.ln_f(trunk), self.wte.weight)
        return functional.cross_entropy(logits.view(-1, VOCABULARY), targets.view(-1))


class Compiled:
    """Steps of the compiled model."""

    def __init__(self, batch, steps):
        torch.manual_seed(1)
        torch.set_float32_matmul_precision("high")
        self.model = Gpt().cuda()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=3e-4, fused=True)
        self.compiled = torch.compile(self.model)
        self.steps = steps
        self.tokens = 97 * torch.randint(100, (batch, BLOCK + 1), device="cuda")
        first = self.step().item()
        if abs(first - math.log(VOCABULARY)) > 0.3:
            sys.exit(f"wrong answer: the first loss is {first}, not that of guessing")
        for _ in range(5):
            self.step()

    def step(self):
        with torch.autocast("cuda", torch.bfloat16):
            loss = self.compiled(self.tokens[:, :-1].contiguous(), self.tokens[:, 1:].contiguous())
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return loss

    def milliseconds(self):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(self.steps):
            self.step()
        torch.cuda.synchronize()
        return 1e3 * (time.perf_counter() - start) / self.steps


def ours(command, batch, steps):
    """Milliseconds of a step without and with signals, as language_bench says."""
    said = subprocess.run([*shlex.split(command), "gpt2-small", str(BLOCK), str(batch), str(steps)],
                          capture_output=True, text=True, check=True).stdout
    found = [float(number) for number in re.findall(r"([\d.]+) ms a step", said)]
    if len(found) != 2:
        sys.exit(f"cannot read what {command} says:\n{said}")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench")
    parser.add_argument("--batch", type=int, nargs="+", default=[32, 64])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=20)
    arguments = parser.parse_args()
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, GPT-2 small, block {BLOCK}, {arguments.rounds} rounds")
    for batch in arguments.batch:
        compiled = Compiled(batch, arguments.steps)
        theirs, silent, tracked = [], [], []
        for _ in range(arguments.rounds):
            theirs.append(compiled.milliseconds())
            without, with_signals = ours(arguments.bench, batch, arguments.steps)
            silent.append(without)
            tracked.append(with_signals)
        del compiled
        torch.cuda.empty_cache()
        median = statistics.median
        print(f"batch {batch}: torch.compile {median(theirs):.2f} ms a step ({min(theirs):.2f} … {max(theirs):.2f}), "
              f"impart {median(silent):.2f} ({min(silent):.2f} … {max(silent):.2f}), with signals {median(tracked):.2f}; "
              f"speed {median(theirs) / median(silent):.3f}, with signals {median(theirs) / median(tracked):.3f}", flush=True)


if __name__ == "__main__":
    main()
