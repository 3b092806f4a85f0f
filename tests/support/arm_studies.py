"""Studies of two rounds in which no arm does anything, but people of one room, and of one block, are alike."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np

from fairwise.judgments import Judgments

Design = Literal["blocks", "rooms", "rooms in blocks", "non-compliers", "drop-outs"]
DESIGNS: tuple[Design, ...] = get_args(Design)
_ANSWERS = ("same", "no_constraint", "a_at_least_b")
_PAIRS, _ROOM = 6, 4
_BLOCKS = {"blocks": (12, 4), "rooms": (1, 12)}  # blocks and units in each; of all others 7 and 2


def null_study(design: Design, seed: int) -> Judgments:
    """Simulate a study of this design.

    Arms are drawn for people in ``"blocks"``, else for rooms, and in the last three for rooms in blocks. Of the
    ``"non-compliers"`` one or two who change most are recorded in the other arm. Of the ``"drop-outs"`` whole rooms,
    and people who change much, come back less often.
    """
    rng = np.random.default_rng([seed, DESIGNS.index(design)])
    rows: list[dict[str, Any]] = []
    known: dict[str, dict[str, Any]] = {}
    changed: dict[str, int] = {}
    n_blocks, n_units = _BLOCKS.get(design, (7, 2))
    for block in range(n_blocks):
        of_block = rng.normal()
        for place, arm in enumerate(rng.permutation(["talk", "control"] * (n_units // 2)).tolist()):
            of_unit, room_stays = rng.normal(0, 1.5), rng.random() < 0.95
            for member in range(1 if design == "blocks" else _ROOM):
                judge = f"{block:02}-{place:02}-{member}"
                known[judge] = {"arm": arm}
                if design != "blocks":
                    known[judge]["room"] = f"room {block}-{place}"
                if design != "rooms":
                    known[judge]["block"] = block
                chance = 1 / (1 + np.exp(-(of_block + of_unit + rng.normal(0, 0.7))))
                moves = rng.random(_PAIRS) < chance
                stays = design != "drop-outs" or (room_stays and rng.random() < 0.9 - 0.3 * moves.mean())
                changed[judge] = int(moves.sum())
                for pair, moved in enumerate(moves.tolist()):
                    about = {"judge": judge, "a": pair, "b": 10 + pair}
                    before = int(rng.choice(3, p=[0.5, 0.3, 0.2]))
                    after = (before + int(rng.integers(1, 3))) % 3 if moved else before
                    rows.append({**about, "answer": _ANSWERS[before], "round": 1})
                    if stays:
                        rows.append({**about, "answer": _ANSWERS[after], "round": 2})
    if design == "non-compliers":
        most = sorted((judge for judge in known if known[judge]["arm"] == "control"), key=lambda judge: -changed[judge])
        for judge in most[:1] + [other for other in most[1:] if other[:5] != most[0][:5]][: int(rng.integers(2))]:
            known[judge]["arm"] = "talk"
    return Judgments(rows, judge_attributes=known)
