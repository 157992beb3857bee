"""Functions of the runtime that are functions of the driver by another name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from warplens.driver.entries import served
from warplens.driver.entries.table import Entry
from warplens.programs.program import Program
from warplens.programs.runtime.table import add

_WAITING = {
    "cudaStreamSynchronize": "cuStreamSynchronize",
    "cudaEventSynchronize": "cuEventSynchronize",
    "cudaDeviceSynchronize": "cuCtxSynchronize",
    "cudaStreamQuery": "cuStreamQuery",
    "cudaEventQuery": "cuEventQuery",
    "cudaMallocHost": "cuMemAllocHost_v2",
    "cudaHostAlloc": "cuMemHostAlloc",
    "cudaFreeHost": "cuMemFreeHost",
    "cudaHostRegister": "cuMemHostRegister_v2",
    "cudaHostUnregister": "cuMemHostUnregister",
    "cudaMemcpyPeer": "cuMemcpyPeer",
    "cudaEventElapsedTime": "cuEventElapsedTime_v2",
}
_WORK = {
    "cudaStreamWaitEvent": "cuStreamWaitEvent",
    "cudaEventRecord": "cuEventRecord",
    "cudaEventRecordWithFlags": "cuEventRecordWithFlags",
    "cudaMallocAsync": "cuMemAllocAsync",
    "cudaMallocFromPoolAsync": "cuMemAllocFromPoolAsync",
    "cudaFreeAsync": "cuMemFreeAsync",
    "cudaMemcpyPeerAsync": "cuMemcpyPeerAsync",
    "cudaGraphLaunch": "cuGraphLaunch",
    "cudaGraphUpload": "cuGraphUpload",
}
_PLAIN = {
    "cudaGetDeviceCount": "cuDeviceGetCount",
    "cudaDriverGetVersion": "cuDriverGetVersion",
    "cudaDeviceGetAttribute": "cuDeviceGetAttribute",
    "cudaDeviceCanAccessPeer": "cuDeviceCanAccessPeer",
    "cudaDeviceGetPCIBusId": "cuDeviceGetPCIBusId",
    "cudaDeviceGetByPCIBusId": "cuDeviceGetByPCIBusId",
    "cudaDeviceGetP2PAttribute": "cuDeviceGetP2PAttribute",
    "cudaDeviceGetStreamPriorityRange": "cuCtxGetStreamPriorityRange",
    "cudaDeviceGetLimit": "cuCtxGetLimit",
    "cudaDeviceSetLimit": "cuCtxSetLimit",
    "cudaDeviceGetCacheConfig": "cuCtxGetCacheConfig",
    "cudaDeviceSetCacheConfig": "cuCtxSetCacheConfig",
    "cudaDeviceGetSharedMemConfig": "cuCtxGetSharedMemConfig",
    "cudaDeviceSetSharedMemConfig": "cuCtxSetSharedMemConfig",
    "cudaDeviceGetDefaultMemPool": "cuDeviceGetDefaultMemPool",
    "cudaDeviceGetMemPool": "cuDeviceGetMemPool",
    "cudaDeviceSetMemPool": "cuDeviceSetMemPool",
    "cudaCtxResetPersistingL2Cache": "cuCtxResetPersistingL2Cache",
    "cudaMemPoolCreate": "cuMemPoolCreate",
    "cudaMemPoolDestroy": "cuMemPoolDestroy",
    "cudaMemPoolTrimTo": "cuMemPoolTrimTo",
    "cudaMemPoolSetAttribute": "cuMemPoolSetAttribute",
    "cudaMemPoolGetAttribute": "cuMemPoolGetAttribute",
    "cudaMemPoolSetAccess": "cuMemPoolSetAccess",
    "cudaMemPoolGetAccess": "cuMemPoolGetAccess",
    "cudaMemGetInfo": "cuMemGetInfo_v2",
    "cudaHostGetDevicePointer": "cuMemHostGetDevicePointer_v2",
    "cudaHostGetFlags": "cuMemHostGetFlags",
    "cudaStreamCreateWithFlags": "cuStreamCreate",
    "cudaStreamCreateWithPriority": "cuStreamCreateWithPriority",
    "cudaStreamDestroy": "cuStreamDestroy_v2",
    "cudaStreamGetFlags": "cuStreamGetFlags",
    "cudaStreamGetPriority": "cuStreamGetPriority",
    "cudaStreamGetId": "cuStreamGetId",
    "cudaStreamGetDevice": "cuStreamGetDevice",
    "cudaStreamCopyAttributes": "cuStreamCopyAttributes",
    "cudaStreamGetAttribute": "cuStreamGetAttribute",
    "cudaStreamSetAttribute": "cuStreamSetAttribute",
    "cudaStreamAttachMemAsync": "cuStreamAttachMemAsync",
    "cudaStreamBeginCapture": "cuStreamBeginCapture_v2",
    "cudaStreamBeginCaptureToGraph": "cuStreamBeginCaptureToGraph",
    "cudaStreamEndCapture": "cuStreamEndCapture",
    "cudaStreamIsCapturing": "cuStreamIsCapturing",
    "cudaStreamGetCaptureInfo": "cuStreamGetCaptureInfo_v3",
    "cudaStreamUpdateCaptureDependencies": "cuStreamUpdateCaptureDependencies_v2",
    "cudaThreadExchangeStreamCaptureMode": "cuThreadExchangeStreamCaptureMode",
    "cudaEventCreateWithFlags": "cuEventCreate",
    "cudaEventDestroy": "cuEventDestroy_v2",
    "cudaProfilerStart": "cuProfilerStart",
    "cudaProfilerStop": "cuProfilerStop",
    "cudaGraphCreate": "cuGraphCreate",
    "cudaGraphDestroy": "cuGraphDestroy",
    "cudaGraphClone": "cuGraphClone",
    "cudaGraphInstantiate": "cuGraphInstantiateWithFlags",
    "cudaGraphInstantiateWithFlags": "cuGraphInstantiateWithFlags",
    "cudaGraphInstantiateWithParams": "cuGraphInstantiateWithParams",
    "cudaGraphExecDestroy": "cuGraphExecDestroy",
    "cudaGraphGetNodes": "cuGraphGetNodes",
    "cudaGraphGetRootNodes": "cuGraphGetRootNodes",
    "cudaGraphGetEdges": "cuGraphGetEdges_v2",
    "cudaGraphNodeGetType": "cuGraphNodeGetType",
    "cudaGraphNodeGetDependencies": "cuGraphNodeGetDependencies_v2",
    "cudaGraphNodeGetDependentNodes": "cuGraphNodeGetDependentNodes_v2",
    "cudaGraphAddDependencies": "cuGraphAddDependencies_v2",
    "cudaGraphRemoveDependencies": "cuGraphRemoveDependencies_v2",
    "cudaGraphDestroyNode": "cuGraphDestroyNode",
    "cudaGraphAddEmptyNode": "cuGraphAddEmptyNode",
    "cudaGraphAddEventRecordNode": "cuGraphAddEventRecordNode",
    "cudaGraphAddEventWaitNode": "cuGraphAddEventWaitNode",
    "cudaGraphAddHostNode": "cuGraphAddHostNode",
    "cudaGraphAddChildGraphNode": "cuGraphAddChildGraphNode",
    "cudaGraphExecUpdate": "cuGraphExecUpdate_v2",
    "cudaGraphNodeFindInClone": "cuGraphNodeFindInClone",
    "cudaGraphNodeGetContainingGraph": "cuGraphNodeGetContainingGraph",
    "cudaGraphNodeGetLocalId": "cuGraphNodeGetLocalId",
    "cudaGraphNodeSetEnabled": "cuGraphNodeSetEnabled",
    "cudaGraphNodeGetEnabled": "cuGraphNodeGetEnabled",
    "cudaGraphGetId": "cuGraphGetId",
    "cudaGraphExecGetFlags": "cuGraphExecGetFlags",
    "cudaGraphDebugDotPrint": "cuGraphDebugDotPrint",
    "cudaGraphChildGraphNodeGetGraph": "cuGraphChildGraphNodeGetGraph",
    "cudaGraphAddMemAllocNode": "cuGraphAddMemAllocNode",
    "cudaGraphAddMemFreeNode": "cuGraphAddMemFreeNode",
    "cudaGraphMemFreeNodeGetParams": "cuGraphMemFreeNodeGetParams",
    "cudaGraphMemsetNodeGetParams": "cuGraphMemsetNodeGetParams",
    "cudaGraphMemsetNodeSetParams": "cuGraphMemsetNodeSetParams",
    "cudaLibraryLoadData": "cuLibraryLoadData",
    "cudaLibraryLoadFromFile": "cuLibraryLoadFromFile",
    "cudaLibraryUnload": "cuLibraryUnload",
    "cudaLibraryGetKernel": "cuLibraryGetKernel",
    "cudaLibraryGetGlobal": "cuLibraryGetGlobal",
    "cudaLibraryGetManaged": "cuLibraryGetManaged",
    "cudaLibraryGetKernelCount": "cuLibraryGetKernelCount",
    "cudaLibraryEnumerateKernels": "cuLibraryEnumerateKernels",
}
# Host functions are called by the program: `streams.py`.
_NOT_HERE = frozenset({"cudaGraphAddHostNode"})


def _passed_on(served_by: Entry) -> Callable[..., None]:
    def function(program: Program, *arguments: Any) -> None:
        program.context()
        served_by.function(program.driver, *arguments)

    return function


def _declare() -> None:
    driver = served()
    for kind, table in (("waits", _WAITING), ("work", _WORK), ("plain", _PLAIN)):
        for name, target in table.items():
            found = driver.get(target)
            if found is not None and name not in _NOT_HERE:
                add(name, types=found.types, function=_passed_on(found), kind=kind)


_declare()
