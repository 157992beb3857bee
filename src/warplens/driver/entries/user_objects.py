"""User objects: references that a program and its graphs have to a resource."""

from __future__ import annotations

from warplens.driver.cells import put_u64
from warplens.driver.entries.table import U32, Pointer, entry
from warplens.driver.graphs import Graph
from warplens.driver.machine import Driver
from warplens.driver.status import DriverError, Status
from warplens.driver.user_objects import UserObject

_MOVE = 1  # CU_GRAPH_USER_OBJECT_MOVE


@entry("cuUserObjectCreate")
def create(
    driver: Driver, made: Pointer, data: Pointer, destroy: Pointer, references: U32, flags: U32
) -> None:
    """A resource with a function that ends it."""
    if flags != 1 or not references or not destroy:  # CU_USER_OBJECT_NO_DESTRUCTOR_SYNC
        raise DriverError(Status.CUDA_ERROR_INVALID_VALUE)
    held = UserObject(destroy, data, references)
    held.number = driver.handle(held)
    put_u64(made, held.number)


@entry("cuUserObjectRetain")
def retain(driver: Driver, held: Pointer, count: U32) -> None:
    """More references of the program's."""
    driver.thing(held, UserObject).references += count


@entry("cuUserObjectRelease")
def release(driver: Driver, held: Pointer, count: U32) -> None:
    """Fewer of them."""
    if driver.thing(held, UserObject).release(count):
        driver.forget(held, UserObject)


@entry("cuGraphRetainUserObject")
def retain_in_graph(driver: Driver, graph: Pointer, held: Pointer, count: U32, flags: U32) -> None:
    """References of a graph: the program's, or new ones."""
    found = driver.thing(held, UserObject)
    driver.thing(graph, Graph).held.retain(found, count, is_moved=bool(flags & _MOVE))


@entry("cuGraphReleaseUserObject")
def release_in_graph(driver: Driver, graph: Pointer, held: Pointer, count: U32) -> None:
    """Fewer of a graph's."""
    if driver.thing(graph, Graph).held.release(driver.thing(held, UserObject), count):
        driver.forget(held, UserObject)
