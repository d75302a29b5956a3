"""Compares our models of text with the same written plainly. Started by reference_test.cpp:

    compare_models.py MODEL FOLDER [MODEL FOLDER ...]

FOLDER holds model.safetensors (the weights) and results.safetensors (ids, targets, logits and the
gradients of the mean loss). Exit code 0 if everything agrees, 77 if there is no torch, 1 otherwise.
"""
import math
import pathlib
import sys

try:
    import torch
except ImportError:
    sys.exit(77)

from torch import nn
from torch.nn import functional

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from safetensors_reader import load  # noqa: E402

HEADS = {"gpt-tiny": 4, "gpt-mini": 6, "text-encoder": 4}
PAD = 0


class Conv1D(nn.Module):
    """Hugging Face's: a linear layer whose weight is [in, out]."""

    def __init__(self, size_in, size_out):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(size_in, size_out))
        self.bias = nn.Parameter(torch.zeros(size_out))

    def forward(self, x):
        return x @ self.weight + self.bias


class Attention(nn.Module):
    def __init__(self, width, heads, causal):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.c_attn, self.c_proj = Conv1D(width, 3 * width), Conv1D(width, width)

    def forward(self, x, hidden):
        batch, tokens, width = x.shape
        q, k, v = (part.view(batch, tokens, self.heads, -1).transpose(1, 2)
                   for part in self.c_attn(x).split(width, dim=2))
        scores = q @ k.transpose(-1, -2) / math.sqrt(width // self.heads)
        if self.causal:
            later = torch.ones(tokens, tokens, dtype=torch.bool).triu(1)
            scores = scores.masked_fill(later, -math.inf)
        else:
            scores = scores.masked_fill(hidden[:, None, None, :], -math.inf)
        mixed = (scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, tokens, width)
        return self.c_proj(mixed)


class Mlp(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.c_fc, self.c_proj = Conv1D(width, 4 * width), Conv1D(4 * width, width)

    def forward(self, x):
        x = self.c_fc(x)
        x = 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
        return self.c_proj(x)


class Block(nn.Module):
    def __init__(self, width, heads, causal):
        super().__init__()
        self.ln_1, self.attn = nn.LayerNorm(width), Attention(width, heads, causal)
        self.ln_2, self.mlp = nn.LayerNorm(width), Mlp(width)

    def forward(self, x, hidden):
        x = x + self.attn(self.ln_1(x), hidden)
        return x + self.mlp(self.ln_2(x))


class Transformer(nn.Module):
    def __init__(self, weights, heads, causal):
        super().__init__()
        layers = len([name for name in weights if name.endswith("c_fc.bias")])
        self.wte = nn.Embedding(*weights["transformer.wte.weight"].shape)
        self.wpe = nn.Embedding(*weights["transformer.wpe.weight"].shape)
        width = self.wte.weight.shape[1]
        self.h = nn.ModuleList(Block(width, heads, causal) for _ in range(layers))
        self.ln_f = nn.LayerNorm(width)

    def forward(self, ids, hidden=None):
        x = self.wte(ids) + self.wpe(torch.arange(ids.shape[1]))
        for block in self.h:
            x = block(x, hidden)
        return self.ln_f(x)


class Gpt(nn.Module):
    def __init__(self, name, weights):
        super().__init__()
        self.transformer = Transformer(weights, HEADS[name], causal=True)
        if "lm_head.weight" in weights:
            self.lm_head = nn.Linear(*reversed(weights["lm_head.weight"].shape), bias=False)

    def forward(self, ids):
        head = self.lm_head if hasattr(self, "lm_head") else self.transformer.wte
        return self.transformer(ids) @ head.weight.T


class Lstm(nn.Module):
    def __init__(self, _, weights):
        super().__init__()
        self.embedding = nn.Embedding(*weights["embedding.weight"].shape)
        width = self.embedding.weight.shape[1]
        self.lstm = nn.LSTM(width, width, num_layers=2, batch_first=True)
        if "head.weight" in weights:
            self.head = nn.Linear(*reversed(weights["head.weight"].shape), bias=False)

    def forward(self, ids):
        head = self.head if hasattr(self, "head") else self.embedding
        return self.lstm(self.embedding(ids))[0] @ head.weight.T


def mean_of_tokens(x, ids):
    return torch.stack([row[tokens != PAD].mean(0) for row, tokens in zip(x, ids)])


class TextEncoder(nn.Module):
    def __init__(self, name, weights):
        super().__init__()
        self.transformer = Transformer(weights, HEADS[name], causal=False)
        self.fc = nn.Linear(*reversed(weights["fc.weight"].shape))

    def forward(self, ids):
        return self.fc(mean_of_tokens(self.transformer(ids, ids == PAD), ids))


class BagOfEmbeddings(nn.Module):
    def __init__(self, _, weights):
        super().__init__()
        self.embedding = nn.Embedding(*weights["embedding.weight"].shape)
        self.fc = nn.Linear(*reversed(weights["fc.weight"].shape))

    def forward(self, ids):
        return self.fc(mean_of_tokens(self.embedding(ids), ids))


MODELS = {"gpt-tiny": Gpt, "gpt-mini": Gpt, "lstm": Lstm, "text-encoder": TextEncoder,
          "bag-of-embeddings": BagOfEmbeddings}


def mean_loss(logits, targets):
    """The mean over examples of the mean over their targets."""
    if logits.dim() == 2:
        return functional.cross_entropy(logits, targets)
    losses = [functional.cross_entropy(*example) for example in zip(logits, targets)]
    return sum(losses) / len(losses)


def distance(a, b):
    return ((a.double() - b).abs().max() / b.abs().max().clamp_min(1e-12)).item()


def compare(name, folder):
    """How many tensors differ."""
    weights = load(f"{folder}/model.safetensors")
    results = load(f"{folder}/results.safetensors")
    model = MODELS[name](name, weights)
    assert list(weights) == list(model.state_dict()), "names or their order"
    model.load_state_dict(weights, strict=True)
    model.double()
    logits = model(results["ids"])
    mean_loss(logits, results["targets"]).backward()
    differences = {"logits": distance(results["logits"], logits.detach())}
    for parameter_name, parameter in model.named_parameters():
        key = "gradient." + parameter_name
        differences[key] = distance(results[key], parameter.grad)
    wrong = {key: value for key, value in differences.items() if not value <= 1e-4}
    for key, value in wrong.items():
        print(f"{name}: {key} differs by {value:.2e} relative")
    gradients = max(value for key, value in differences.items() if key != "logits")
    print(f"{name}: logits within {differences['logits']:.1e}, gradients within {gradients:.1e}")
    return len(wrong)


def main():
    arguments = sys.argv[1:]
    wrong = [compare(*pair) for pair in zip(arguments[::2], arguments[1::2])]
    sys.exit(1 if any(wrong) else 0)


if __name__ == "__main__":
    main()
