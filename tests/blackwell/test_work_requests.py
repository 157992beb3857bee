"""Cluster launch control: requests for further work are answered, with no."""

from __future__ import annotations

import numpy as np
import pytest

from warplens import Device

SOURCE = """
extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) ask(unsigned *out) {
    __shared__ __align__(16) uint4 answer;
    __shared__ unsigned long long barrier;
    unsigned a = (unsigned)__cvta_generic_to_shared(&answer), b = (unsigned)__cvta_generic_to_shared(&barrier);
    if (threadIdx.x == 0) {
        answer = make_uint4(~0u, ~0u, ~0u, ~0u);
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(b) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
    if (threadIdx.x == 0)
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 16;" ::"r"(b) : "memory");
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
    if (threadIdx.x == 0 && (blockIdx.x % CLUSTER == 0 || SELF))
        asm volatile("clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes" FORM ".b128 [%0], [%1];" ::"r"(a), "r"(b) : "memory");
    asm volatile("{.reg .pred p; W: mbarrier.try_wait.parity.shared.b64 p, [%0], 0; @p bra D; bra W; D:}" ::"r"(b) : "memory");
    unsigned is_there;
    asm volatile("{.reg .b128 q; .reg .pred p; ld.shared.b128 q, [%1]; clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p, q; selp.u32 %0, 1, 0, p;}" : "=r"(is_there) : "r"(a) : "memory");
    out[blockIdx.x * blockDim.x + threadIdx.x] = 7 + is_there;
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
}
"""  # noqa: E501


@pytest.mark.parametrize(("cluster", "form"), [(1, ""), (2, ""), (2, ".multicast::cluster::all")])
def test_no_work_is_left(cluster: int, form: str) -> None:
    """Every block gets its answer, and the bytes that it waits for."""
    text = SOURCE.replace("CLUSTER", str(cluster)).replace("FORM", f'"{form}"')
    text = text.replace("SELF", "0" if form else "1")
    out = np.zeros(4 * 32, np.uint32)

    Device("sm_100").compile(text, options=["-arch=sm_100a"])["ask"][4, 32](out)

    assert (out == 7).all()


def test_sanitizers_see_all_answers() -> None:
    """Answers given to all blocks count as written, and are ordered by each block's mbarrier."""
    text = SOURCE.replace("CLUSTER", "2").replace("FORM", '".multicast::cluster::all"')
    text = text.replace("SELF", "0").replace("answer = make_uint4(~0u, ~0u, ~0u, ~0u);", "")
    kernel = Device("sm_100").compile(text, options=["-arch=sm_100a"])["ask"]

    report = kernel.sanitize[4, 32](np.zeros(128, np.uint32))

    assert not report.findings, str(report)
