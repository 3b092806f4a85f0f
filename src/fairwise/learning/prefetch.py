"""Memory asked for before it is needed: what a compiled loop takes in no order would be waited for each time."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

_BYTES, _INT, _LONG = ir.IntType(8).as_pointer(), ir.IntType(32), ir.IntType(64)
_TO_READ, _MOST_LOCAL, _DATA = _INT(0), _INT(3), _INT(1)


def _prefetch(typing: Any, array: Any, row: Any, offset: Any) -> Any:  # noqa: ARG001
    """Begin to load the bytes that lie ``offset`` behind the beginning of ``array[row]``, and others of their line.

    Nothing happens where there is no such row.
    """

    def make(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> ir.Value:
        values = context.make_array(signature.args[0])(context, builder, arguments[0])
        size = cgutils.unpack_tuple(builder, values.strides)[0]
        at = builder.add(builder.mul(arguments[1], size), arguments[2])
        place = builder.gep(builder.bitcast(values.data, _BYTES), [at])
        kinds = ir.FunctionType(ir.VoidType(), [_BYTES, _INT, _INT, _INT])
        load = builder.module.declare_intrinsic("llvm.prefetch", (_BYTES,), kinds)
        builder.call(load, [place, _TO_READ, _MOST_LOCAL, _DATA])
        return context.get_dummy_value()

    return types.none(array, types.int64, types.int64), make


prefetch: Any = intrinsic(_prefetch)  # to whoever calls it, it has one argument less
