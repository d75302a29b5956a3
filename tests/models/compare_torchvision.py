"""Compares one of our ResNets with torchvision's. Started by torchvision_test.cpp:

    compare_torchvision.py MODEL STEM FOLDER

FOLDER holds model.safetensors (the weights before the step) and results.safetensors. Exit code 0 if
everything agrees, 77 if there is no torchvision, 1 otherwise.
"""
import sys

try:
    import torch
    import torchvision
    from safetensors_reader import load
except ImportError:
    sys.exit(77)


def distance(a, b):
    return ((a.double() - b.double()).abs().max() / b.double().abs().max().clamp_min(1e-12)).item()


def main():
    model_name, stem, folder = sys.argv[1:]
    model = getattr(torchvision.models, model_name)(num_classes=10)
    if stem == "cifar":
        model.conv1 = torch.nn.Conv2d(3, 64, 3, padding=1, bias=False)
        model.maxpool = torch.nn.Identity()
    weights = load(f"{folder}/model.safetensors")
    results = load(f"{folder}/results.safetensors")
    assert list(weights) == list(model.state_dict()), "names or their order"
    model.load_state_dict(weights, strict=True)

    differences = {}
    model.eval()
    with torch.no_grad():
        differences["eval_logits"] = distance(results["eval_logits"], model(results["images"]))
    model.train()
    with torch.no_grad():
        differences["train_logits"] = distance(results["train_logits"], model(results["images"]))
    for name, buffer in model.named_buffers():
        differences["buffer." + name] = distance(results["buffer." + name], buffer)
    model.double()
    logits = model(results["images"].double())
    torch.nn.functional.cross_entropy(logits, results["labels"]).backward()
    for name, parameter in model.named_parameters():
        differences["gradient." + name] = distance(results["gradient." + name], parameter.grad)

    wrong = 0
    for name, difference in differences.items():
        tolerance = 1e-8 if name.startswith("gradient") else 1e-4
        if not difference <= tolerance:
            print(f"{model_name} {stem}: {name} differs by {difference:.2e} relative")
            wrong += 1
    for kind in ("eval_logits", "train_logits", "buffer", "gradient"):
        largest = max(value for name, value in differences.items() if name.startswith(kind))
        print(f"{model_name} {stem}: {kind} within {largest:.1e}")
    sys.exit(1 if wrong else 0)


main()
