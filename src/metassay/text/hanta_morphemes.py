"""Words cut into morphemes by the models of HanTa (Wartena 2019), in compiled code.

Of all cuts of a word the best for each part of speech, by a hidden Markov model of second order whose states
are pairs of morphemes' classes, the best four of them (and what comes near) carried on from each letter. Sums
and ties are those of HanTa, in its order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metassay.stats.arrays import FloatArray, LongArray, build_row_offsets
from metassay.stats.compilation import kernel
from metassay.text.segmentation import code_points, hashed_with, number_of, text_table

START, END, UNKNOWN = 1, 2, 3
LEAST = -1e6  # what is less likely is left out
Readings = list[tuple[int, float]]
_New = tuple[LongArray, FloatArray, FloatArray]
_Tables = tuple[NDArray[np.uint64], LongArray, NDArray[np.uint64], LongArray]
_Order = tuple[LongArray, LongArray, LongArray, FloatArray]


class Morphemes:
    """The chances of morphemes and of their order."""

    def __init__(self, model: Any) -> None:
        states, pairs = {(0, START): 0}, dict[tuple[int, int], int]()
        for (_, last), followers in model.LP_trans.items():
            for tag in followers:
                (states if tag > 0 else pairs).setdefault((last, tag), len(states if tag > 0 else pairs))
        every = [
            [(states[s[1], tag], tag, chance) for tag, chance in model.LP_trans_nonfinal.get(s, ())]
            for s in states
        ]
        ends = [
            [(pairs[s[1], tag], -tag, chance) for tag, chance in model.LP_trans_final.get(s, ())]
            for s in states
        ]
        after_new = [[step for step in row if step[1] in model.LP_hapax_t] for row in every]
        self._orders = _laid_out([*every, *after_new]), _laid_out(ends)
        known: dict[str, list[tuple[int, int, float]]] = {}
        for tag, morphemes in model.LP_m_t.items():
            for morpheme, chance in morphemes.items():
                known.setdefault(morpheme, []).append((0, tag, chance))
        self._known = _laid_out(list(known.values()))
        self._endings = ["", *sorted({ending for own in model.LP_s_t.values() for ending in own} - {""})]
        self._tables = (*text_table(list(known)), *text_table([ending[::-1] for ending in self._endings]))
        self._new = self._chances_of_new_ones(model)

    def _chances_of_new_ones(self, model: Any) -> _New:
        """By class, the log p of a morpheme that the model has not: for its length, for its ending."""
        tags = [tag for tag in model.LP_s_t if tag in model.LP_hapax_t]
        chances = [[model.Int_t + model.LP_hapax_t[t] + p for p in model.LP_len_t[t]] for t in tags]
        endings = [[model.LP_s_t[tag].get(ending, np.nan) for tag in tags] for ending in self._endings]
        return np.array(tags), np.array(chances), np.array(endings)

    def readings(self, word: str) -> Readings:
        """The parts of speech of a word with the log p of its best morphemes, most likely first."""
        tags, chances = _best_cuts(code_points(word), self._tables, self._orders, self._known, self._new)
        found = sorted(zip(tags.tolist(), chances.tolist()), key=lambda reading: reading[1], reverse=True)
        return found or [(UNKNOWN, 0.0)]


def _laid_out(rows: Sequence[Sequence[tuple[int, int, float]]]) -> _Order:
    """What can follow each state: the state after it, the class and its log p."""
    flat = [step for row in rows for step in row]
    targets, tags = (np.array([step[i] for step in flat], np.int64) for i in (0, 1))
    return build_row_offsets(rows), targets, tags, np.array([step[2] for step in flat])


@kernel
def _by_ending(codes: NDArray[np.uint32], tables: _Tables, chances: FloatArray) -> FloatArray:
    """Log p of the longest known ending among the last 0 to 4 letters up to each place, by class."""
    found = np.empty((len(codes) + 1, 5, chances.shape[1]), np.float64)
    for i in range(len(codes)):
        key = np.uint64(1)
        for column in range(chances.shape[1]):
            found[i + 1, 0, column] = chances[0, column]
        for k in range(1, 5):
            for column in range(chances.shape[1]):
                found[i + 1, k, column] = found[i + 1, k - 1, column]
            if k <= i + 1:
                key = hashed_with(key, codes[i + 1 - k])
                ending = number_of(key, tables[2], tables[3])
                for column in range(chances.shape[1]) if ending >= 0 else range(0):
                    if not np.isnan(chances[ending, column]):
                        found[i + 1, k, column] = chances[ending, column]
    return found


@kernel
def _weigh_piece(
    length: int,
    size: int,
    piece: np.int64,
    endings: FloatArray,
    known: _Order,
    new: _New,
    chances: FloatArray,
) -> None:
    """Log p of a morpheme by class: known, or new and judged by its length and ending."""
    for tag in range(len(chances)):
        chances[tag] = -np.inf
    for column in range(len(new[0])) if size < 4 or length > 2 else range(0):
        chance = new[1][column, min(length, 24)] + endings[min(4, length - 1), column]
        chances[new[0][column]] = chance - 4.6 if length == size else chance
    for k in range(known[0][piece], known[0][piece + 1]) if piece >= 0 else range(0):
        chances[known[2][k]] = known[3][k]


@kernel
def _carry_on(found: LongArray, best: FloatArray) -> LongArray:
    """Of the states found, in their order, the best four and what comes near; overwrites what was found."""
    chances, count = np.empty(len(found), np.float64), 0
    for place in range(len(found)):
        chances[place] = best[found[place]]
    bound = lower_bound(chances, np.empty(4, np.float64))
    for place in range(len(found)):
        if chances[place] >= bound:
            found[count], count = found[place], count + 1
    return found[:count]


@kernel
def lower_bound(chances: FloatArray, top: FloatArray) -> float:
    """What comes near the highest, as many as `top` has room for: the least of them, less 1."""
    for k in range(len(top)):
        top[k] = -np.inf
    for place in range(len(chances)):
        chance = chances[place]
        for k in range(len(top)):
            if chance > top[k]:
                chance, top[k] = top[k], chance
    bound: float = max(top[-1] - 1, LEAST)
    return bound


@kernel
def _best_cuts(
    codes: NDArray[np.uint32], tables: _Tables, orders: tuple[_Order, _Order], known: _Order, new: _New
) -> tuple[LongArray, FloatArray]:
    """The parts of speech of a word, as found, each with the log p of the best ways to it."""
    starts, targets, tags, steps = orders[0]
    size, n_states = len(codes), len(orders[1][0]) - 1
    best, chances = np.empty((size + 1, n_states), np.float64), np.empty(_above(tags), np.float64)
    for i in range(size + 1):
        for state in range(n_states):
            best[i, state] = -np.inf
    found, count = np.empty((size + 1, n_states), np.int64), np.zeros(size + 1, np.int64)
    best[0, 0], found[0, 0], count[0] = 0.0, 0, 1
    endings = _by_ending(codes, tables, new[2])
    for i in range(size):
        going_on = _carry_on(found[i, : count[i]], best[i])
        key = np.uint64(1)
        for j in range(i + 1, size + 1):
            key = hashed_with(key, codes[j - 1])
            piece = number_of(key, tables[0], tables[1])
            if piece < 0 and size >= 4 and j - i <= 2:
                continue
            _weigh_piece(j - i, size, piece, endings[j], known, new, chances)
            for state in going_on:
                after = state if piece >= 0 else state + n_states  # what can follow as a new one is fewer
                for k in range(starts[after], starts[after + 1]):
                    chance, target = best[i, state] + steps[k] + chances[tags[k]], targets[k]
                    if chance > LEAST and chance > best[j, target]:
                        if best[j, target] == -np.inf:
                            found[j, count[j]] = target
                            count[j] += 1
                        best[j, target] = chance
    return _ended(found[size, : count[size]], best[size], orders[1])


@kernel
def _ended(last: LongArray, best: FloatArray, ends: _Order) -> tuple[LongArray, FloatArray]:
    """The parts of speech that states can end with: the best state of each pair of classes, pairs summed."""
    starts, pairs, tags, steps = ends
    of_pair, of_tag = np.empty(_above(pairs), np.float64), np.empty(_above(tags), np.float64)
    for pair in range(len(of_pair)):
        of_pair[pair] = -np.inf
    for tag in range(len(of_tag)):
        of_tag[tag] = -np.inf
    order, known = np.empty((len(of_pair), 2), np.int64), 0
    for place in range(len(last)):
        state = last[place]
        for k in range(starts[state], starts[state + 1]):
            chance = best[state] + steps[k]
            if chance > LEAST and chance > of_pair[pairs[k]]:
                if of_pair[pairs[k]] == -np.inf:
                    order[known, 0], order[known, 1], known = pairs[k], tags[k], known + 1
                of_pair[pairs[k]] = chance
    found, count = np.empty(known, np.int64), 0
    for place in range(known):
        pair, tag = order[place, 0], order[place, 1]
        if of_tag[tag] == -np.inf:
            found[count], count, of_tag[tag] = tag, count + 1, of_pair[pair]
        else:
            of_tag[tag] = np.logaddexp(of_tag[tag], of_pair[pair])
    chances = np.empty(count, np.float64)
    for place in range(count):
        chances[place] = of_tag[found[place]]
    return found[:count], chances


@kernel
def _above(numbers: LongArray) -> int:
    """One more than the largest of numbers from 0 on."""
    above = 0
    for place in range(len(numbers)):
        above = max(above, numbers[place] + 1)
    return above
