"""Settings of the carve-out that the driver picks, against what arrays of an H200's kernels left in
L1: the largest that stays there as a whole tells the setting."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import pytest

from warplens.gpus import find_gpu
from warplens.gpus.carveout import driver_carveout_bytes
from warplens.occupancy_calculator.occupancy import occupancy

DATA = Path(__file__).parents[2] / "validation" / "data" / "carveouts_sm90.json"
GPU = find_gpu("H200")
WHOLE_KIB, ROOM_KIB = 256, 8  # of L1 and shared memory; less than L1, so that all of it stays
STAYS = 0.98


def _recorded() -> dict[tuple[int, int, int], int]:
    """KiB of the setting by registers, threads, shared bytes."""
    found: dict[tuple[int, int, int], dict[int, float]] = defaultdict(dict)
    for registers, threads, shared, array, loaded, hit in json.loads(DATA.read_text())["rows"]:
        setting = WHOLE_KIB - ROOM_KIB - array
        found[registers, threads, shared][setting] = hit / (loaded / 2)
    largest = max(GPU.carveouts_kb)  # leaves too little to be told by
    return {
        key: min((size for size, part in sizes.items() if part > STAYS), default=largest)
        for key, sizes in found.items()
    }


RECORDED = _recorded()


@pytest.mark.parametrize("registers", sorted({key[0] for key in RECORDED}))
def test_settings_of_an_h200(registers: int) -> None:
    mine = {key: size for key, size in RECORDED.items() if key[0] == registers}
    assert len(mine) > 50
    for (_, threads, shared), size in mine.items():
        found = occupancy(GPU, threads=threads, registers=registers, dynamic_shared=shared)
        setting = driver_carveout_bytes(GPU, int(found.blocks), threads, shared)
        assert setting == 1024 * size, (threads, shared, found.blocks)


def test_other_gpus_keep_the_blocks_only() -> None:
    """As published reports of a T4 and of RTX cards show."""
    assert driver_carveout_bytes(find_gpu("RTX 3090"), 6, 256, 0) == 8192
    assert driver_carveout_bytes(find_gpu("RTX 3090"), 6, 256, 1024) == 16384
