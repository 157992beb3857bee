"""Compares predicted with recorded times of the four spaces.

    python validation/tuning/compare.py [--gpu H100] [--space NAME] [--every N]
        [--predicted FILE] [--processes N] [--scheduler ADDRESS]

Predicts every configuration (or every N-th) for a GPU at the clock of the recording, and prints
Kendall's tau, errors, how far the predicted best is from the true best, and what is lost when only
a twentieth of the space is predicted: drawn at random, or as a surrogate asks for it. `--predicted`
reads predictions that `record.py --predict` made. Events around a launch add EVENTS_NS to its
duration. (What they show for an empty kernel is the pace at which the host launches, 8 to 14 us,
and says nothing of a kernel that takes longer.)
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from warplens.tune.rows import ALIKE
from warplens.workers import Runner, in_order, runner_of

HERE = Path(__file__).resolve().parent
EVENTS_NS = 2400  # reads of 64 to 128 MiB by events, less CUPTI's durations of the same reads
SEEDS = 10
DATA = {"H200": "spaces_sm90.json", "H100": "spaces_h100.json"}
Floats = npt.NDArray[np.float64]


def recorded(gpu: str = "H200") -> dict[str, Any]:
    """The recording: names and values of parameters, median ns, registers, by space."""
    document: dict[str, Any] = json.loads((HERE.parent / "data" / DATA[gpu]).read_text())
    return document


def kendall(a: Floats, b: Floats) -> float:
    """Kendall's tau-b."""
    x, y = (np.sign(v[:, None] - v[None, :])[np.triu_indices(len(v), 1)] for v in (a, b))
    return float((x * y).sum() / np.sqrt(np.abs(x).sum() * np.abs(y).sum()))


def figures(true: Floats, predicted: Floats, seed: int = 0) -> dict[str, float]:
    """What the page shows; losses are fractions above the true best."""
    error = np.abs(predicted / true - 1)
    rng, few = np.random.default_rng(seed), max(1, len(true) // 20)
    chosen = [rng.choice(len(true), few, replace=False) for _ in range(1000)]
    losses = [true[c[predicted[c].argmin()]] / true.min() - 1 for c in chosen]
    bests = [true[c].min() / true.min() - 1 for c in chosen]
    return {
        "configurations": len(true), "tau": kendall(true, predicted),
        "mean_error": float(error.mean()), "p90_error": float(np.quantile(error, 0.9)),
        "loss": float(true[predicted.argmin()] / true.min() - 1),
        "top3_loss": float(true[np.argsort(predicted)[:3]].min() / true.min() - 1),
        "random_5pct_loss": float(np.median(losses)),
        "random_5pct_possible": float(np.median(bests)),
    }  # fmt: skip


def searched(
    name: str, space: dict[str, Any], rows: list[int], true: Floats, predicted: Floats, gpu: str
) -> dict[str, float]:
    """What a surrogate finds within a twentieth of the space, over ten seeds: the mean and the
    worst loss against the true best, and against the best of the whole prediction."""
    from spaces import SPACES

    from warplens.tune.surrogate import Surrogate, features_of, learned_from

    names = space["parameters"]
    every = [dict(zip(names, space["configurations"][i], strict=True)) for i in rows]
    jobs = [SPACES[name].problem.job(one) for one in every]
    told = [_facts(space, i, job, gpu) for job, i in zip(jobs, rows, strict=True)]
    facts = [learned_from(job, [one]) for job, one in zip(jobs, told, strict=True)]
    ways = [space["counted"][i] for i in rows]  # None: they could not be followed
    counted = [math.inf if way is None else float(way) for way in ways]
    if None not in ways:
        facts = [[*one, {"counted": c}] for one, c in zip(facts, counted, strict=True)]
    bounds = [one["least"] for one in told]
    features, few = features_of(every, facts), max(1, len(every) // 20)
    place = {str(one): i for i, one in enumerate(every)}
    losses, losses_in_model = [], []
    whole = chosen(told, predicted, list(range(len(told))))
    for seed in range(SEEDS):
        strategy, known = Surrogate(every, features, seed, few, bounds, counted), list[int]()
        while len(known) < few:
            for one in strategy.propose(min(strategy.batch, few - len(known))):
                known.append(place[str(one)])
                strategy.learn(one, float(predicted[known[-1]]))
        best = chosen([told[i] for i in known], predicted[known], known)
        losses.append(true[best] / true.min() - 1)
        losses_in_model.append(predicted[best] / predicted.min() - 1)
    return {
        "chosen_loss": float(true[whole] / true.min() - 1),
        "surrogate_5pct_loss": float(np.mean(losses)), "worst": float(max(losses)),
        "in_model": float(np.mean(losses_in_model)), "worst_in_model": float(max(losses_in_model)),
    }  # fmt: skip


def chosen(facts: list[dict[str, float]], predicted: Floats, numbers: list[int]) -> int:
    """The number that a search chooses: of what the model cannot tell from the best the one with
    the least to do, as `warplens.tune.rows.in_order`."""
    limit = predicted.min() * (1.0 + ALIKE)
    alike = [i for i in range(len(numbers)) if predicted[i] <= limit]
    return numbers[min(alike, key=lambda i: (facts[i]["work"], predicted[i]))]


def _facts(space: dict[str, Any], index: int, job: Any, gpu: str) -> dict[str, float]:
    """What a search knows of a compiled configuration."""
    from warplens.gpus.find import find_gpu
    from warplens.occupancy_calculator.occupancy import occupancy
    from warplens.tune.mix import least, work

    names = ("registers", "local_bytes", "shared_bytes", "code_bytes", "instructions", "memory",
             "stalls", "waits")  # fmt: skip
    known = {name: float(space[name][index]) for name in names}
    fits = occupancy(gpu, threads=int(np.prod(job.block)), registers=int(known["registers"]),
                     static_shared=int(known["shared_bytes"]))  # fmt: skip
    known["work"] = work(job, known["instructions"], known["memory"])
    counted = {name: known[name] for name in ("instructions", "memory", "stalls", "waits")}
    known["least"] = least(job, **counted, blocks=float(fits.blocks),
                           wait=float(find_gpu(gpu).value("latency.l1_hit")))  # fmt: skip
    return known | {"occupancy": float(fits.occupancy), "blocks": float(fits.blocks)}


def _predict(place: tuple[str, dict[str, Any], str]) -> float:
    sys.path[:0] = [str(HERE), str(HERE.parent / "recorder")]
    from record import predicted

    answer = predicted(*place)
    return float(answer.get("predicted_ns", np.nan))


def _predicted(
    name: str, space: dict[str, Any], every: int, runner: Runner, gpu: str
) -> Floats:
    names, rows = space["parameters"], space["configurations"][::every]
    places = [(name, dict(zip(names, row, strict=True)), gpu) for row in rows]
    return np.array(list(in_order(runner.results(_predict, places))), float)


def main() -> None:
    """Prints a line for each space."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--gpu", choices=list(DATA), default="H200")
    parser.add_argument("--space", action="append")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--predicted", type=Path)
    parser.add_argument("--processes", type=int, help="default: one per core")
    parser.add_argument("--scheduler", help="a Dask scheduler's address, or local")
    options = parser.parse_args()
    document, gpu = recorded(options.gpu), options.gpu
    known = json.loads(options.predicted.read_text()) if options.predicted else []
    runner = runner_of(options.scheduler, options.processes)
    for name in options.space or document["spaces"]:
        space = document["spaces"][name]
        true = np.array(space["ns"])[:: options.every] - EVENTS_NS
        if known:
            found = {row["index"]: row["predicted_ns"] for row in known if row["space"] == name}
            every = [found.get(i, np.nan) for i in range(len(space["ns"]))]
            predicted = np.array(every)[:: options.every]
        else:
            predicted = _predicted(name, space, options.every, runner, gpu)
        keep = ~np.isnan(predicted)
        told = figures(true[keep], predicted[keep])
        if options.every == 1:
            rows = np.flatnonzero(keep).tolist()
            told |= searched(name, space, rows, true[keep], predicted[keep], gpu)
        print(name, " ".join(f"{key}={value:.3g}" for key, value in told.items()), flush=True)
    runner.close()


if __name__ == "__main__":
    main()
