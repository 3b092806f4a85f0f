"""Everyone in a block as a later pass sees them: an encoded row, and the cell of their group and outcome."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fairwise.learning.blocks.sums import group_codes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fairwise.learning.blocks.learned import Learned
    from fairwise.learning.blocks.spans import Block
    from fairwise.learning.blocks.table import LargeTable
    from fairwise.learning.encoding import TableEncoder
    from fairwise.learning.oracles.base import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class CellReader:
    """Small enough to be sent to every worker. Cell ``2 g + y`` is group ``g`` with outcome ``y``."""

    features: list[str]
    outcome: str
    group_column: str | None
    groups: list[str]
    encoder: TableEncoder
    classes: NDArray[Any]

    @classmethod
    def of(cls, table: LargeTable, learned: Learned) -> CellReader:
        return cls(list(table.features), table.outcome, table.groups, learned.groups, learned.encoder, learned.classes)

    @property
    def n_cells(self) -> int:
        return 2 * len(self.groups)

    def __call__(self, block: Block) -> tuple[FloatArray, IntArray]:
        """Encoded rows ``(n, d)`` and cells ``(n,)``."""
        cell = (block.table[self.outcome] == self.classes[1]).to_numpy(dtype=np.intp)
        if self.group_column is not None:
            cell += 2 * group_codes(block.table[self.group_column], self.groups)
        return self.encoder.encode(block.table[self.features]), cell
