"""Records what whole Hopper kernels (`gemm_cases.py`) give.

`python gemms.py --build CUBINS` compiles; `python gemms.py CUBINS OUT` needs a GPU and NumPy.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from cuda_driver import CudaError
from gemm_cases import small
from session import Session

from hopper import build, run


def main() -> None:
    """Compiles, or runs every case and keeps what it left."""
    if sys.argv[1] == "--build":
        import copy_costs
        import gemm_kernels
        from triton_cases import READER

        units = {**gemm_kernels.sources(), "costs": copy_costs.source(), "reader": READER}
        build(Path(sys.argv[2]), units)
        return
    session = Session.of_command_line(__doc__)
    driver, arrays, failed = session.driver, {}, []
    for case in small():
        print(case.name, flush=True)
        try:
            module: Any = driver.load(session.cubin(case.unit))
            for i, array in enumerate(run(driver, module, case)):
                arrays[f"{case.name}/{i}"] = array
        except CudaError as error:
            failed.append(f"{case.name}: {error}")
            print(failed[-1], flush=True)
        session.save("gemms_sm90", failed=np.array(failed, "U"), **arrays)


if __name__ == "__main__":
    main()
