"""Functions like those of models, for translating: s of 40, r of 20 and q of 40 numbers."""

# ruff: noqa: B007, B020, T201, F841
import math
from typing import Any

FACTOR = 0.5


def halves(s: Any, r: Any, q: Any) -> None:
    h = q.shape[0] // 2
    for k in range(h):
        q[k] = s[h + k] * r[k]
        q[h + k] = q[k] - s[k]


def quarters(s: Any, r: Any, q: Any) -> None:
    h = q.shape[0] // 4
    for k in range(h):
        q[k + 3 * h] = s[k] if s[k] > r[k] else r[k]
        q[2 * h + k], q[k + h] = 0.5 * s[k], -s[k] / 3
        q[k] = q[2 * h + k] + 1


def every_other(s: Any, r: Any, q: Any) -> None:
    for k in range(1, 20):
        q[2 * k + 1] = s[k] + k / 4


def backwards(s: Any, r: Any, q: Any) -> None:
    h = q.shape[0]
    for k in range(h):
        q[h - 1 - k] += s[k]


def rows_of_rounds(s: Any, r: Any, q: Any) -> None:
    h = 8
    for i in range(5):
        total = 0
        for k in range(h):
            total += s[k] * r[k]
        for k in range(h):
            q[i * h + k] = total + k


def columns_of_rounds(s: Any, r: Any, q: Any) -> None:
    h = r.shape[0]
    for i in range(h):
        for k in range(h):
            q[k] += s[i] * r[k]
        for k in range(h):
            q[h + k] = q[k] * s[h + i]


SHARED = [halves, quarters, every_other, backwards, rows_of_rounds, columns_of_rounds]


def running_sum(s: Any, r: Any, q: Any) -> None:
    total = 0.0
    for k in range(q.shape[0]):
        total += s[k]
        q[k] = total


def running_sum_in_place(s: Any, r: Any, q: Any) -> None:
    for k in range(1, q.shape[0]):
        q[k] += q[k - 1]


def one_before(s: Any, r: Any, q: Any) -> None:
    last = 0.0
    for k in range(q.shape[0]):
        q[k] = s[k] + last
        last = s[k]


def sum_used_later(s: Any, r: Any, q: Any) -> None:
    total, h = 1, r.shape[0]
    for k in range(h):
        total += abs(s[k])
        q[k] = total
    for k in range(1):
        q[h + k] = total


def colliding(s: Any, r: Any, q: Any) -> None:
    for i in range(20):
        for k in range(20):
            q[i + k] += s[i] * r[k]


def colliding_from_outside(s: Any, r: Any, q: Any) -> None:
    for k in range(20):
        for i in range(20):
            q[i + k] += s[i] * r[k]


def overlapping_rows(s: Any, r: Any, q: Any) -> None:
    for i in range(16):
        for k in range(8):
            q[i * 2 + k] += s[i] * r[k]


def halved_place(s: Any, r: Any, q: Any) -> None:
    for k in range(q.shape[0]):
        q[k // 2] += s[k]


def neighbours(s: Any, r: Any, q: Any) -> None:
    for k in range(20):
        q[k] += s[k]
        q[k + 1] += r[k]


def one_place(s: Any, r: Any, q: Any) -> None:
    for k in range(20):
        q[k * 0] += s[k]
        q[k - k] += r[k]


def moving_offset(s: Any, r: Any, q: Any) -> None:
    for k in range(10):
        j = 12 - k
        q[k + j] += s[k]


ALONE = [
    running_sum,
    running_sum_in_place,
    one_before,
    sum_used_later,
    colliding,
    colliding_from_outside,
    overlapping_rows,
    halved_place,
    neighbours,
    one_place,
    moving_offset,
]


def scaled_by_a_sum(s: Any, r: Any, q: Any) -> None:
    total, n = 0, 0
    for k in range(r.shape[0]):
        total += s[k] * r[k]
        n += 1
    for k in range(q.shape[0]):
        q[k] = s[k] * total / n


def sum_of_what_was_written(s: Any, r: Any, q: Any) -> None:
    h = q.shape[0]
    for k in range(h):
        q[k] = s[h - 1 - k]
    total = q[0] + q[1] + q[2]
    for k in range(h):
        total += q[k]
    q[0] = total
    for k in range(h):
        s[k] = q[0] - total * k


def one_number_between(s: Any, r: Any, q: Any) -> None:
    h = q.shape[0] - 1
    for k in range(h):
        q[k] = s[k]
    q[h] = q[0] + (h - 50) // 4
    for k in range(h):
        q[k] *= q[h]


MIXED = [scaled_by_a_sum, sum_of_what_was_written, one_number_between]


def less_than_nothing_divided(s: Any, r: Any, q: Any) -> None:
    less = 3 - q.shape[0]
    for k in range(-5, 6):
        j = k * k // 4
        q[k + 5] = k // 2 + 10 * (3 * k // 4) + 100 * (7 // (2 * k - 1)) + j // 3
        q[20 + k] = less // 7 + -k // 3


def places_of_names(s: Any, r: Any, q: Any) -> None:
    n, h, twice = 1, r.shape[0] // 2, 2
    last = 2 * h - 1
    for k in range(h):
        n += 1
        twice *= 1
        q[n] += s[last - k] + s[last - 2 * k]
        q[twice * n] += r[n // 2]
        start = k + 3
        q[start] += r[h - 1 - k]
    q[(last + 1) // 3] += 1


def triangle(s: Any, r: Any, q: Any) -> None:
    for i in range(q.shape[0]):
        for j in range(i):
            q[i] += s[i - 1 - j] * s[i - j]
        for j in range(i, q.shape[0]):
            q[i] += s[j - i]


AT_OR_ABOVE_0 = [less_than_nothing_divided, places_of_names, triangle]


def with_names_of_c(s: Any, r: Any, q: Any) -> None:
    for int in range(q.shape[0]):
        cos, real, THREAD = math.cos(s[int]), r[int], 2
        double = cos * real
        q[int] = double / THREAD


def with_all_functions(s: Any, r: Any, q: Any) -> None:
    for k in range(q.shape[0]):
        x, y = math.fabs(s[k]) + 0.1, abs(r[k])
        q[k] = math.exp(-x) + math.log(x) + math.sqrt(x) + math.sin(y) + math.tan(y / 9)
        q[k] += math.tanh(y) + (x >= y) + (x != y)


def repeats_while(s: Any, r: Any, q: Any) -> None:
    while True:
        q[0] = 0


def prints(s: Any, r: Any, q: Any) -> None:
    print(s)


def makes_a_list(s: Any, r: Any, q: Any) -> None:
    x = [0.0]


def names_a_vector(s: Any, r: Any, q: Any) -> None:
    x = s


def takes_from_its_module(s: Any, r: Any, q: Any) -> None:
    q[0] = FACTOR * s[0]


def counts_from_the_end(s: Any, r: Any, q: Any) -> None:
    q[0] = s[-1]


def floors_a_number(s: Any, r: Any, q: Any) -> None:
    q[0] = s[0] // 2


def raises_to_a_power(s: Any, r: Any, q: Any) -> None:
    q[0] = s[0] ** 2


def goes_by_twos(s: Any, r: Any, q: Any) -> None:
    for k in range(0, 20, 2):
        q[k] = 0


def goes_over_numbers(s: Any, r: Any, q: Any) -> None:
    for x in s:
        q[0] += x


def changes_places(s: Any, r: Any, q: Any) -> None:
    q[0], q[1] = q[1], q[0]


def chooses(s: Any, r: Any, q: Any) -> None:
    if s[0] > 0:
        q[0] = 1


def leaves_a_number(s: Any, r: Any, q: Any) -> None:
    for k in range(3):
        q[k] = 0
    q[k] = 1


def moves_its_end(s: Any, r: Any, q: Any) -> None:
    n = 3
    for k in range(n):
        n = 2
        q[k] = n


def goes_below(s: Any, r: Any, q: Any) -> None:
    for k in range(q.shape[0]):
        q[k] = s[k] - s[k - 1]


def goes_below_by_its_end(s: Any, r: Any, q: Any) -> None:
    h = q.shape[0]
    for k in range(h + 1):
        q[h - 1 - k] = 0


def goes_below_by_its_start(s: Any, r: Any, q: Any) -> None:
    for k in range(q.shape[0] - 2, q.shape[0]):
        q[k] = 0


def goes_below_by_a_name(s: Any, r: Any, q: Any) -> None:
    n = 3
    for k in range(4):
        n -= 1
        q[n] = 0


def goes_below_by_another_loop(s: Any, r: Any, q: Any) -> None:
    j = 0
    for k in range(4):
        j = k
    for k in range(2, 4):
        q[j + k - 4] = 0


def goes_below_where_rows_are_short(s: Any, r: Any, q: Any) -> None:
    q[0] = s[r.shape[0] - 2]


def takes_a_wider_row_away(s: Any, r: Any, q: Any) -> None:
    q[0] = s[q.shape[0] - r.shape[0]]


def multiplies_below(s: Any, r: Any, q: Any) -> None:
    for k in range(4):
        q[(k - 2) * (k - 3)] = 0


def goes_over_a_number_twice(s: Any, r: Any, q: Any) -> None:
    for k in range(4):
        for k in range(k):
            q[k] = 0


REFUSED = [
    (repeats_while, "`while True:`"),
    (prints, "`print(s)`"),
    (makes_a_list, "`[0.0]`"),
    (names_a_vector, "`s`"),
    (takes_from_its_module, "`FACTOR`"),
    (counts_from_the_end, "the place in `s[-1]` may be below 0"),
    (goes_below, "the place in `s[k - 1]` may be below 0"),
    (goes_below_by_its_end, "the place in `q[h - 1 - k]` may be below 0"),
    (goes_below_by_its_start, "the place in `q[k]` may be below 0"),
    (goes_below_by_a_name, "the place in `q[n]` may be below 0"),
    (goes_below_by_another_loop, "the place in `q[j + k - 4]` may be below 0"),
    (goes_below_where_rows_are_short, "the place in `s[r.shape[0] - 2]` may be below 0"),
    (takes_a_wider_row_away, "the place in `s[q.shape[0] - r.shape[0]]` may be below 0"),
    (multiplies_below, "the place in `q[(k - 2) * (k - 3)]` may be below 0"),
    (goes_over_a_number_twice, "two loops over k, one in the other"),
    (floors_a_number, "`s[0] // 2`"),
    (raises_to_a_power, "`s[0] ** 2`"),
    (goes_by_twos, "a loop over something else than a range"),
    (goes_over_numbers, "a loop over something else than a range"),
    (changes_places, "`(q[0], q[1]) = (q[1], q[0])`"),
    (chooses, "`if s[0] > 0:`"),
    (leaves_a_number, "`k`"),
    (moves_its_end, "a loop whose end changes on the way"),
]
