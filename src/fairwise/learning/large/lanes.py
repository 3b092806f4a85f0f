"""Products of many vectors at once, in LLVM's own vectors: loops that numba's compiler does not make vectors of.

LLVM makes of them what a processor has; without wide vectors the same numbers take longer. What everyone is asked is in
whole numbers of 16 bits, two in each of 32: *pairs*. Processors that have an instruction to multiply and add these take
half as long as in single precision.
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
_INT, _LONG = ir.IntType(32), ir.IntType(64)
_BITS = ir.IntType(LANES)
_FLOATS, _INTS = ir.VectorType(ir.FloatType(), LANES), ir.VectorType(_INT, LANES)
_SHORTS = ir.VectorType(ir.IntType(16), 2 * LANES)
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
                x = _spread(builder, builder.load(builder.gep(one.data, [at])), _FLOATS)
                w = _load(builder, many.data, builder.add(first, builder.mul(at, _LONG(LANES))), _FLOATS)
                parts.append(builder.fmul(x, w, flags=("contract", "reassoc")))
            builder.store(_sum(builder, [builder.load(total), *parts]), total)
        at = builder.mul(number, _LONG(LANES))
        margin = _load(builder, limits.data, at, _FLOATS)
        score = builder.load(total)
        above, below = (
            builder.fcmp_ordered(">", score, margin),
            builder.fcmp_ordered("<", score, builder.fneg(margin)),
        )
        near = builder.not_(builder.or_(above, below))  # also what is no number
        place = builder.bitcast(builder.gep(counts.data, [at]), _INTS.as_pointer())
        before = builder.load(place, align=_ALIGNED)
        builder.store(builder.add(before, builder.zext(above, _INTS)), place, align=_ALIGNED)
        return builder.zext(builder.bitcast(near, _BITS), _LONG)

    return types.int64(person, weights, types.int64, margins, positive), make


def _ask_everyone(typing: Any, weights: Any, number: Any, unit: Any, limit: Any, unsure: Any) -> Any:  # noqa: ARG001
    """Products of ``weights[number]`` ``(P,)`` with the columns of ``unit`` ``(P, n)``.

    ``n`` is a multiple of :data:`AT_ONCE`. Returns in how many the product is above ``limit``, and writes to
    ``unsure``, bit by bit, where it is neither above nor below minus that.
    """

    def make(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> ir.Value:
        one, many, out = (_array(context, builder, signature, arguments, k) for k in (0, 2, 4))
        width, n = cgutils.unpack_tuple(builder, many.shape)
        first = builder.mul(arguments[1], width)
        limit_lanes = _spread(builder, arguments[3], _INTS)
        over = cgutils.alloca_once_value(builder, _LONG(0))
        ones = builder.module.declare_intrinsic("llvm.ctpop", (_BITS,))
        bits_written = builder.bitcast(out.data, _BITS.as_pointer())
        totals = [cgutils.alloca_once(builder, _INTS) for _ in range(_WIDE)]
        at_once = _multiplies_pairs(context)
        with cgutils.for_range_slice(builder, _LONG(0), n, _LONG(AT_ONCE)) as (q, _):
            for total in totals:
                builder.store(ir.Constant(_INTS, None), total)
            with cgutils.for_range(builder, width) as loop:
                w = _spread(builder, builder.load(builder.gep(one.data, [builder.add(first, loop.index)])), _INTS)
                row = builder.add(builder.mul(loop.index, n), q)
                for v, total in enumerate(totals):
                    x = _load(builder, many.data, builder.add(row, _LONG(v * LANES)), _INTS)
                    builder.store(builder.add(builder.load(total), _pair_products(builder, w, x, at_once)), total)
            for v, total in enumerate(totals):
                score = builder.load(total)
                above = builder.icmp_signed(">", score, limit_lanes)
                near = builder.not_(builder.or_(above, builder.icmp_signed("<", score, builder.neg(limit_lanes))))
                number = builder.call(ones, [builder.bitcast(above, _BITS)])
                builder.store(builder.add(builder.load(over), builder.zext(number, _LONG)), over)
                place = builder.udiv(builder.add(q, _LONG(v * LANES)), _LONG(LANES))
                builder.store(builder.bitcast(near, _BITS), builder.gep(bits_written, [place]))
        return builder.load(over)

    return types.int64(weights, types.int64, unit, types.int32, unsure), make


def _lowest_bit(typing: Any, bits: Any) -> Any:  # noqa: ARG001
    """Which is the lowest bit of ``bits`` that is 1; they are not 0."""

    def make(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> ir.Value:  # noqa: ARG001
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.int64), make


def _array(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any, k: int) -> Any:
    return context.make_array(signature.args[k])(context, builder, arguments[k])


def _spread(builder: ir.IRBuilder, value: ir.Value, kind: ir.VectorType) -> ir.Value:
    """The same number in every lane."""
    nothing = ir.Constant(kind, ir.Undefined)
    return builder.shuffle_vector(builder.insert_element(nothing, value, _INT(0)), nothing, ir.Constant(_INTS, None))


def _load(builder: ir.IRBuilder, data: ir.Value, at: ir.Value, kind: ir.VectorType) -> ir.Value:
    return builder.load(builder.bitcast(builder.gep(data, [at]), kind.as_pointer()), align=_ALIGNED)


def _sum(builder: ir.IRBuilder, parts: list[ir.Value]) -> ir.Value:
    total = parts[0]
    for part in parts[1:]:
        total = builder.fadd(total, part, flags=("contract",))
    return total


def _multiplies_pairs(context: Any) -> bool:
    """Whether what is compiled for has an instruction for pairs: numba may be told to do without, whatever is there."""
    *_, features = context.codegen().magic_tuple()
    return "+avx512bw" in features.split(",")


def _pair_products(builder: ir.IRBuilder, a: ir.Value, b: ir.Value, at_once: bool) -> ir.Value:
    """In each lane the sum of the products of both numbers."""
    if at_once:
        kinds = ir.FunctionType(_INTS, [_SHORTS, _SHORTS])
        multiply = builder.module.declare_intrinsic("llvm.x86.avx512.pmaddw.d.512", (), kinds)
        return builder.call(multiply, [builder.bitcast(a, _SHORTS), builder.bitcast(b, _SHORTS)])
    half = ir.Constant(_INTS, [16] * LANES)
    (low, high), (low_too, high_too) = (
        (builder.ashr(builder.shl(pairs, half), half), builder.ashr(pairs, half)) for pairs in (a, b)
    )
    return builder.add(builder.mul(low, low_too), builder.mul(high, high_too))


# To whoever calls them they have one argument less.
ask_side_by_side: Any = intrinsic(_ask_side_by_side)
ask_everyone: Any = intrinsic(_ask_everyone)
lowest_bit: Any = intrinsic(_lowest_bit)
