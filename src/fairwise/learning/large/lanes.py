"""Products of many vectors at once, in LLVM's own vectors: loops that numba's compiler does not make vectors of.

LLVM makes of them what a processor has; without wide vectors the same numbers take longer.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

LANES = 16
UNROLLED = 3  # columns; widths are multiples of it, and what is behind the last one takes time, too
_WIDE = 8  # vectors of rows asked at once
AT_ONCE = _WIDE * LANES
_FLOAT, _INT, _LONG = ir.FloatType(), ir.IntType(32), ir.IntType(64)
_BITS = ir.IntType(LANES)
_FLOATS, _INTS = ir.VectorType(_FLOAT, LANES), ir.VectorType(_INT, LANES)
_ALIGNED = 4


def _ask_side_by_side(typing: Any, person: Any, weights: Any, block: Any, margins: Any, positive: Any) -> Any:  # noqa: ARG001
    """Products of ``person`` ``(D,)`` with each of ``weights[block]`` ``(D, LANES)``.

    Adds 1 to ``positive[block]`` ``(LANES,)`` where a product is above ``margins[block]``, and returns the bits of the
    lanes in which it is neither above nor below minus that.
    """

    def make(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> ir.Value:
        one, many, limits, counts = (_array(context, builder, signature, arguments, k) for k in (0, 1, 3, 4))
        number, width = arguments[2], cgutils.unpack_tuple(builder, one.shape)[0]
        first = builder.mul(builder.mul(number, width), _LONG(LANES))
        total = cgutils.alloca_once_value(builder, ir.Constant(_FLOATS, None))
        with cgutils.for_range_slice(builder, _LONG(0), width, _LONG(UNROLLED)) as (j, _):
            parts = []
            for k in range(UNROLLED):
                at = builder.add(j, _LONG(k))
                x = _spread(builder, builder.load(builder.gep(one.data, [at])))
                w = _load(builder, many.data, builder.add(first, builder.mul(at, _LONG(LANES))))
                parts.append(_product(builder, x, w))
            builder.store(_sum(builder, [builder.load(total), *parts]), total)
        at = builder.mul(number, _LONG(LANES))
        margin = _load(builder, limits.data, at)
        above, near = _compare(builder, builder.load(total), margin)
        place = builder.bitcast(builder.gep(counts.data, [at]), _INTS.as_pointer())
        before = builder.load(place, align=_ALIGNED)
        builder.store(builder.add(before, builder.zext(above, _INTS)), place, align=_ALIGNED)
        return builder.zext(builder.bitcast(near, _BITS), _LONG)

    return types.int64(person, weights, types.int64, margins, positive), make


def _ask_everyone(typing: Any, weights: Any, number: Any, unit: Any, limit: Any, unsure: Any) -> Any:  # noqa: ARG001
    """Products of ``weights[number]`` ``(D,)`` with the columns of ``unit`` ``(D, n)``.

    ``n`` is a multiple of :data:`AT_ONCE`. Returns in how many the product is above ``limit``, and writes to
    ``unsure``, bit by bit, where it is neither above nor below minus that.
    """

    def make(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> ir.Value:
        one, many, out = (_array(context, builder, signature, arguments, k) for k in (0, 2, 4))
        width, n = cgutils.unpack_tuple(builder, many.shape)
        first = builder.mul(arguments[1], width)
        limit_lanes = _spread(builder, arguments[3])
        over = cgutils.alloca_once_value(builder, _LONG(0))
        ones = builder.module.declare_intrinsic("llvm.ctpop", (_BITS,))
        bits_written = builder.bitcast(out.data, _BITS.as_pointer())
        totals = [cgutils.alloca_once(builder, _FLOATS) for _ in range(_WIDE)]
        with cgutils.for_range_slice(builder, _LONG(0), n, _LONG(AT_ONCE)) as (q, _):
            for total in totals:
                builder.store(ir.Constant(_FLOATS, None), total)
            with cgutils.for_range_slice(builder, _LONG(0), width, _LONG(UNROLLED)) as (j, _):
                parts: list[list[ir.Value]] = [[] for _ in totals]
                for k in range(UNROLLED):
                    at = builder.add(j, _LONG(k))
                    w = _spread(builder, builder.load(builder.gep(one.data, [builder.add(first, at)])))
                    row = builder.add(builder.mul(at, n), q)
                    for v, part in enumerate(parts):
                        part.append(_product(builder, w, _load(builder, many.data, builder.add(row, _LONG(v * LANES)))))
                for total, part in zip(totals, parts, strict=True):
                    builder.store(_sum(builder, [builder.load(total), *part]), total)
            for v, total in enumerate(totals):
                above, near = _compare(builder, builder.load(total), limit_lanes)
                number = builder.call(ones, [builder.bitcast(above, _BITS)])
                builder.store(builder.add(builder.load(over), builder.zext(number, _LONG)), over)
                place = builder.udiv(builder.add(q, _LONG(v * LANES)), _LONG(LANES))
                builder.store(builder.bitcast(near, _BITS), builder.gep(bits_written, [place]))
        return builder.load(over)

    return types.int64(weights, types.int64, unit, types.float32, unsure), make


def _lowest_bit(typing: Any, bits: Any) -> Any:  # noqa: ARG001
    """Which is the lowest bit of ``bits`` that is 1; they are not 0."""

    def make(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> ir.Value:  # noqa: ARG001
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.int64), make


def _array(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any, k: int) -> Any:
    return context.make_array(signature.args[k])(context, builder, arguments[k])


def _spread(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    """The same number in every lane."""
    nothing = ir.Constant(_FLOATS, ir.Undefined)
    return builder.shuffle_vector(builder.insert_element(nothing, value, _INT(0)), nothing, ir.Constant(_INTS, None))


def _load(builder: ir.IRBuilder, data: ir.Value, at: ir.Value) -> ir.Value:
    return builder.load(builder.bitcast(builder.gep(data, [at]), _FLOATS.as_pointer()), align=_ALIGNED)


def _product(builder: ir.IRBuilder, a: ir.Value, b: ir.Value) -> ir.Value:
    return builder.fmul(a, b, flags=("contract", "reassoc"))


def _sum(builder: ir.IRBuilder, parts: list[ir.Value]) -> ir.Value:
    total = parts[0]
    for part in parts[1:]:
        total = builder.fadd(total, part, flags=("contract",))
    return total


def _compare(builder: ir.IRBuilder, value: ir.Value, limit: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Where a value is above the limit, and where it is neither above nor below minus that, or no number."""
    above = builder.fcmp_ordered(">", value, limit)
    below = builder.fcmp_ordered("<", value, builder.fneg(limit))
    return above, builder.not_(builder.or_(above, below))


# To whoever calls them they have one argument less.
ask_side_by_side: Any = intrinsic(_ask_side_by_side)
ask_everyone: Any = intrinsic(_ask_everyone)
lowest_bit: Any = intrinsic(_lowest_bit)
