"""`warplens gpus --for result.wlens`: cards ranked by predicted time, per watt and per price."""

from __future__ import annotations

import argparse
import csv
import io
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warplens.errors import InputError

if TYPE_CHECKING:
    from warplens.analysis.cards import Card

EPILOG = """examples:
  warplens profile reduce.cu ... --gpu H200 --gpu A100 --gpu 'RTX 4090' -o all
  warplens gpus --for all.wlens
  warplens gpus --for all.wlens --price H200=31000 --price 'RTX 4090=1800'

`warplens list gpus` shows every card that can be simulated.
"""
_NOTE = "mJ at TDP: time at the board's power limit, an upper bound. Bands: nine of ten launches."


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Adds the verb and its options."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "gpus",
        help="rank GPUs by what a result's launches take on them",
        description="Ranks the GPUs of a result by predicted time, by time at the board's power "
        "limit, and by price where prices are given.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    option = parser.add_argument
    option("--for", dest="result", required=True, type=Path, metavar="RESULT",
           help="a file that `warplens profile --gpu ... --gpu ... -o` wrote")  # fmt: skip
    option("--price", action="append", default=[], metavar="GPU=PRICE",
           help="what a card costs, in any currency (repeatable)")  # fmt: skip
    option("--sort", choices=("time", "joules", "price"), default="time",
           help="what is ranked by (default: time)")  # fmt: skip
    option("--json", action="store_true", help="print JSON")
    option("--csv", action="store_true", help="print CSV")
    return parser


def run(arguments: argparse.Namespace) -> int:
    """Executes the verb."""
    from warplens.analysis.cards import ranked
    from warplens.result import load

    prices = dict(_price(text) for text in arguments.price)
    cards = list(ranked(load(arguments.result), prices))
    if arguments.sort == "price" and not prices:
        raise InputError("--sort price needs prices", hint="Give --price GPU=PRICE.")
    keys = {"time": lambda c: c.nanoseconds, "joules": lambda c: c.joules or float("inf"),
            "price": lambda c: c.price_seconds or float("inf")}  # fmt: skip
    cards.sort(key=keys[arguments.sort])
    if arguments.json:
        print(json.dumps([asdict(c) | {"joules_at_tdp": c.joules} for c in cards], indent=1))
    elif arguments.csv:
        print(_csv(cards), end="")
    else:
        print(_text(cards))
    return 0


def _price(text: str) -> tuple[str, float]:
    name, sign, price = text.rpartition("=")
    try:
        return name.strip(), float(price) if sign else float("nan")
    except ValueError as error:
        raise InputError(f"--price {text!r} is not GPU=PRICE") from error


def _rows(cards: list[Card]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The table as text; columns that no card has are left out."""
    best = min(card.nanoseconds for card in cards)
    cheapest = min((c.price_seconds for c in cards if c.price), default=0.0)
    least = min((c.joules for c in cards if c.watts), default=0.0)
    head = ["GPU", "predicted us ~", "90 % within", "to fastest", "TDP W", "mJ at TDP", "to least"]
    head += ["price", "time x price, to least"] if cheapest else []
    rows = []
    for card in cards:
        row = [
            card.gpu, f"{card.nanoseconds / 1e3:,.1f}",
            f"{card.low / 1e3:,.1f} - {card.high / 1e3:,.1f}", f"{card.nanoseconds / best:.2f}x",
            f"{card.watts:,.0f}" if card.watts else "-",
            f"{1e3 * card.joules:,.2f}" if card.watts else "-",
            f"{card.joules / least:.2f}x" if card.watts and least else "-",
        ]  # fmt: skip
        if cheapest:
            row += [f"{card.price:,.0f}" if card.price else "-",
                    f"{card.price_seconds / cheapest:.2f}x" if card.price else "-"]  # fmt: skip
        rows.append(tuple(row))
    return tuple(head), rows


def _text(cards: list[Card]) -> str:
    from warplens.report.terminal import grid

    heading, rows = _rows(cards)
    return "\n".join([*grid(heading, rows), "", _NOTE])


def _csv(cards: list[Card]) -> str:
    out = io.StringIO()
    heading, rows = _rows(cards)
    csv.writer(out, lineterminator="\n").writerows([heading, *rows])
    return out.getvalue()
