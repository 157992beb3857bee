"""Code for special registers and predicate-register moves."""

from __future__ import annotations

from collections.abc import Callable

from warplens.lift import layout as at
from warplens.lift.decode.binding import KEY_PREDICATE, KEY_UNIFORM, BindingError, Bound
from warplens.lift.engines.llvm_lanes import Value
from warplens.lift.regions.generators import role
from warplens.lift.regions.writer import RegionWriter
from warplens.sass.model import RZ, Imm, Operand, Pred, Reg, Special, UPred, UReg

SpecialReader = Callable[[RegionWriter], Value]
_READERS: dict[str, SpecialReader] = {}


_WARPS_OF_SM = {75: 32, 80: 64, 90: 64, 100: 64, 103: 64}  # others hold 48


def _reader(*names: str) -> Callable[[SpecialReader], SpecialReader]:
    def register(function: SpecialReader) -> SpecialReader:
        for name in names:
            _READERS[name] = function
        return function

    return register


def _env_word(w: RegionWriter, slot: int) -> Value:
    return w.x.broadcast("u32", w.emit(f"trunc i64 {w.env(slot)} to i32"))


def _warp_vector(w: RegionWriter, offset: int) -> Value:
    return Value("u32", w.emit(f"load <32 x i32>, ptr {w.field(offset)}, align 64"))


def _axis_readers(axis: int, letter: str) -> None:
    @_reader(f"SR_TID.{letter}")
    def tid(w: RegionWriter) -> Value:
        return _warp_vector(w, at.WARP_TID + 128 * axis)

    @_reader(f"SR_CTAID.{letter}")
    def ctaid(w: RegionWriter) -> Value:
        return _env_word(w, at.ENV_CTAID + axis)

    @_reader(f"SR_NCTAID.{letter}")
    def nctaid(w: RegionWriter) -> Value:
        return _env_word(w, at.ENV_NCTAID + axis)


for _axis, _letter in enumerate("XYZ"):
    _axis_readers(_axis, _letter)


@_reader("SR_LANEID")
def _laneid(w: RegionWriter) -> Value:
    return w.x.lane_id()


# SR_LMEMHIOFF: the lowest offset of local memory, which unoptimised code compares with R1.
@_reader("SRZ", "SR_GRIDPARAM", "SR_LMEMHIOFF")
def _zero(w: RegionWriter) -> Value:
    return w.x.u32(0)


@_reader("SR_CgaCtaId")
def _cluster_rank(w: RegionWriter) -> Value:
    if not w.clusters:
        return w.x.u32(0)
    return w.x.lshr(_env_word(w, at.ENV_CLUSTER_RANK), w.x.u32(24))


@_reader("SR_CgaSize")  # which of two copies of the cluster's shape in bank 0 counts (constants.py)
def _cluster_size(w: RegionWriter) -> Value:
    return w.x.u32(1)


@_reader("SR_SWINHI")
def _shared_window(w: RegionWriter) -> Value:
    return w.x.u32(at.SHARED_WINDOW_HIGH)


@_reader("SR_LWINHI")
def _local_window(w: RegionWriter) -> Value:
    return w.x.u32(at.LOCAL_WINDOW_HIGH)


@_reader("SR_SWINLO", "SR_LWINLO")
def _window_low(w: RegionWriter) -> Value:
    return w.x.u32(0)


@_reader("SR_SMEMSZ")
def _shared_size(w: RegionWriter) -> Value:
    return _env_word(w, at.ENV_SHARED_LIMIT)


@_reader("SR_VIRTCFG")  # of which compiled code takes bits 15:8, the warps that an SM holds
def _configuration(w: RegionWriter) -> Value:
    return w.x.u32(_WARPS_OF_SM.get(w.kernel.sm, 48) << 8)


@_reader("SR_VIRTUALSMID", "SR_SMID", "SR_PHYSID")
def _smid(w: RegionWriter) -> Value:
    return _env_word(w, at.ENV_SMID)


@_reader("SR_VIRTID")
def _virtid(w: RegionWriter) -> Value:
    slot = w.x.broadcast("u32", w.load_u32(at.WARP_INDEX))
    return w.x.or_(w.x.shl(slot, w.x.u32(8)), _env_word(w, at.ENV_SMID))


@_reader("SR_WARPID")
def _warpid(w: RegionWriter) -> Value:
    return w.x.broadcast("u32", w.load_u32(at.WARP_INDEX))


@_reader("SR_EQMASK")
def _eqmask(w: RegionWriter) -> Value:
    return w.x.shl(w.x.u32(1), w.x.lane_id())


@_reader("SR_LTMASK")
def _ltmask(w: RegionWriter) -> Value:
    return w.x.sub(_eqmask(w), w.x.u32(1))


@_reader("SR_LEMASK")
def _lemask(w: RegionWriter) -> Value:
    return w.x.or_(_ltmask(w), _eqmask(w))


@_reader("SR_GTMASK")
def _gtmask(w: RegionWriter) -> Value:
    return w.x.not_(_lemask(w))


@_reader("SR_GEMASK")
def _gemask(w: RegionWriter) -> Value:
    return w.x.not_(_ltmask(w))


@_reader(*(f"SR_PM{k}" for k in range(8)))
def _monitor(w: RegionWriter) -> Value:
    """%pm0 to %pm7: performance monitors, which count nothing while no tool has set them up."""
    return w.x.u32(0)


def _tick(w: RegionWriter, slot: int, step: int) -> Value:
    """A clock that only moves forward: each read advances it."""
    place = w.emit(f"getelementptr i64, ptr %env, i64 {slot}")
    old = w.emit(f"load i64, ptr {place}, align 8")
    new = w.emit(f"add i64 {old}, {step}")
    w.line(f"store i64 {new}, ptr {place}, align 8")
    w.spend_fuel(16)
    return w.x.broadcast("u64", new)


def _read(w: RegionWriter, name: str, n_words: int) -> Value:
    if name in ("SR_CLOCKLO", "SR_CLOCKHI", "SR_CLOCK"):
        clock = _tick(w, at.ENV_CLOCK, 32)
        if n_words == 2:
            return clock
        return w.x.high32(clock) if name.endswith("HI") else w.x.low32(clock)
    if name.startswith("SR_GLOBALTIMER"):
        timer = _tick(w, at.ENV_TIMER, 32)
        if n_words == 2:
            return timer
        return w.x.high32(timer) if name.endswith("HI") else w.x.low32(timer)
    reader = _READERS.get(name)
    if reader is None:
        raise BindingError(f"unknown special register {name}")
    value = reader(w)
    return w.x.zext64(value) if n_words == 2 else value


@role("s2r")
def s2r(w: RegionWriter, item: Bound) -> None:
    """S2R, S2UR, CS2R: read a special register."""
    destination, source = item.inst.operands[0], item.inst.operands[1]
    if not isinstance(source, Special) or not isinstance(destination, Reg | UReg):
        raise BindingError("S2R operands")
    n_words = 2 if item.inst.opcode.startswith("CS2") and "32" not in item.inst.modifiers else 1
    value = _read(w, source.name, n_words)
    if destination.index == RZ:
        return
    key = destination.index
    guard = w.guard
    if isinstance(destination, UReg):
        value = w.operands._as_uniform(value)
        key += KEY_UNIFORM
        guard = None if guard is None else w.operands._any(guard)
    if n_words == 2:
        w.operands.write_wide(key, value, guard)
    else:
        w.operands.write_word(key, value, guard)


def _byte_shift(marks: tuple[str, ...]) -> int:
    """Where the byte begins that `.B1` to `.B3` select."""
    return next((8 * int(mark[1]) for mark in marks if mark in ("B1", "B2", "B3")), 0)


def _predicate_mask(operand: Operand) -> int:
    if not isinstance(operand, Imm) or operand.bits > 0x7F:
        raise BindingError("mask that is no number of seven bits")
    return operand.bits


@role("p2r")
def p2r(w: RegionWriter, item: Bound) -> None:
    """P2R and UP2UR: predicates as bits of a byte, merged into a register under a mask."""
    x = w.x
    destination = item.inst.operands[0]
    base, mask = item.inst.operands[-2:]  # nvdisasm does not always print PR
    is_uniform = isinstance(destination, UReg)
    if is_uniform and item.inst.guard is not None:
        raise BindingError("UP2UR under a predicate")
    shift = _byte_shift(item.inst.modifiers)
    packed = x.u32(0)
    for i in range(7):
        set_ = w.operands.predicate(UPred(i) if is_uniform else Pred(i), False)
        packed = x.or_(packed, x.select(set_, x.u32(1 << i), x.u32(0)))
    select = x.shl(x.and_(w.operands.bits_word(mask, 0, False), x.u32(0xFF)), x.u32(shift))
    old = x.and_(w.operands.bits_word(base, 0, False), x.not_(select))
    new = x.or_(old, x.and_(x.shl(packed, x.u32(shift)), select))
    if isinstance(destination, UReg) and destination.index != RZ:
        scalar = x.scalar(x.first_active(new))
        w.operands.write_word(KEY_UNIFORM + destination.index, Value("u32", scalar), None)
    elif isinstance(destination, Reg) and destination.index != RZ:
        w.operands.write_word(destination.index, new, w.guard)


@role("r2p")
def r2p(w: RegionWriter, item: Bound) -> None:
    """R2P: predicates from the bits of a register byte, where the mask is set."""
    x = w.x
    source, mask = item.inst.operands[-2:]  # nvdisasm does not always print PR
    if not isinstance(source, Reg):
        raise BindingError("R2P of something else than a register")
    chosen = _predicate_mask(mask)
    word = x.lshr(w.operands.bits_word(source, 0, False), x.u32(_byte_shift(source.suffixes)))
    for i in range(7):
        if chosen >> i & 1:
            bit = x.icmp("ne", x.and_(word, x.u32(1 << i)), x.u32(0))
            w.operands.write_word(KEY_PREDICATE + i, bit, w.guard)
