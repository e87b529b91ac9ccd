// The way back over a logged segment of training, like the sweep on the CPU: one thread block per
// prediction. What no prediction changes is computed before, once for every step.

#define MOST_ROW ((MOST + PACK - 1) / PACK * PACK)
#define COMMON (3 * QUERY_ROW + (1 + UNLEARNT) * OWN + 2 * MOST_ROW)
#define PAIR (ROW + RELATION_ROW)  // numbers of a fact's subject and relation
#define FOR_PAIR(k, which, place) FOR_OWN(k, which, place) if (which < 2)
#define FAR ((real)1e15)

// What all predictions share at a step.
typedef struct {
  real *query;     // (QUERY_ROW,), like the next two
  real *d_query;
  real *spread;    // softmax: the sum of `second` times d score / d query; else for `prepare` alone
  real *gradient;  // (OWN,)
  real *first;     // (MOST,) d loss / d score
  real *second;    // (MOST,) its derivative, without that of the softmax's sum
  real *unlearnt;  // (OWN,) UNLEARNT only: `gradient` as if the fact had not been met before
} Common;

DEVICE Common common_of(const Fleet *fleet, int index) {
  Common c;
  c.query = fleet->common + (index - fleet->log_first) * COMMON;
  c.d_query = c.query + QUERY_ROW;
  c.spread = c.d_query + QUERY_ROW;
  c.gradient = c.spread + QUERY_ROW;
  c.first = c.gradient + OWN;
  c.second = c.first + MOST_ROW;
  c.unlearnt = c.second + MOST_ROW;
  return c;
}

DEVICE real fact_weight_of(const Fleet *fleet, int fact) {
  return WEIGHTED ? (real)fleet->weights[fact] : 1;
}

// d loss / d score of a step's object as if its fact had not been met before.
DEVICE real unlearnt_weight(const Fleet *fleet, int index, int fact) {
  long long at = (long long)fact * N_DIRECTIONS + index % N_DIRECTIONS;
  return UNLEARNT ? fact_weight_of(fleet, fact) * fleet->slopes[at] : 0;
}

// By which the weights of all candidates grow then. Only those of the softmax do; else the object's
// alone changes. object_weight: as it was.
DEVICE real unlearnt_ratio(const Fleet *fleet, int index, int fact, real object_weight) {
  if (!UNLEARNT || LOSS != SOFTMAX || object_weight == 0) return 1;
  return unlearnt_weight(fleet, index, fact) / object_weight;
}

DEVICE real distance_of(const Held *held, const Pack *query) {
  real total = 0;
  if (MATCH != BY_L2) return 0;
  FOR_PACKS(p, k) FOR_PACK(i) {
    real apart = query[p].at[i] - held->part[0][p].at[i];
    total = fma(apart, apart, total);
  }
  return sqrt(group_sum(total));
}

// The second derivative of the loss in a score, for all draws of the candidate together.
DEVICE real curvature_of(real score, int j, int times, Contest c) {
  real bend = 1;
  if (LOSS == SOFTMAX) bend = times * (exp(score - c.top) / c.total);
  if (LOSS == SIGMOID) {
    real probability = sigmoid(score);
    bend = times * (probability * (1 - probability) / c.n_drawn);
  }
  return c.fact_weight * bend;
}

DEVICE void score_logged(const real *rows, int n, const real *q, real *scores) {
  Pack query[PACKS];
  load_query(q, query);
  real offset = HAS_OFFSET ? q[WIDTH] : 0;
  int n_groups = N_THREADS / GROUP, group = THREAD / GROUP;
  for (int round = 0; round * n_groups < n; round++) {
    int j = round * n_groups + group, known = j < n ? j : n - 1;
    Held held;
    load_parts(rows + (long long)known * STATE, 0, 1, &held);
    real score = score_of(&held, query, offset);
    if (LANE == 0 && j < n) scores[j] = score;
  }
}

// Sum the partial sums of the warps.
DEVICE void sum_partials(Shared at, real *total) {
  BARRIER();
  FOR_EACH(k, QUERY_ROW) {
    total[k] = 0;
    if (k < QUERY_WIDTH)
      for (int w = 0; w < N_THREADS / WARP; w++) total[k] += at.partial[w * QUERY_ROW + k];
  }
  BARRIER();
}

// The sum of the candidates' weights times d score / d query.
DEVICE void sum_slopes(const real *rows, int n, const real *weights, Shared at, real *total) {
  Pack query[PACKS], sum[PACKS];
  real offset = 0;
  load_query(at.query, query);
  UNROLL for (int p = 0; p < PACKS; p++) FOR_PACK(i) sum[p].at[i] = 0;
  int n_groups = N_THREADS / GROUP, group = THREAD / GROUP;
  for (int round = 0; round * n_groups < n; round++) {
    int j = round * n_groups + group, known = j < n ? j : n - 1;
    Held held;
    load_parts(rows + (long long)known * STATE, 0, 1, &held);
    real weight = j < n ? weights[known] : 0, distance = distance_of(&held, query);
    offset += weight;
    FOR_PACKS(p, k) FOR_PACK(i) {
      real x = held.part[0][p].at[i];
      sum[p].at[i] += MATCH == BY_DOT ? weight * x : -slope(query[p].at[i], x, weight, distance);
    }
  }
  keep_partial(sum, offset, THREAD / WARP, at);
  sum_partials(at, total);
}

// The gradients of the fact's own rows, from those of query and object.
DEVICE void own_gradients(int is_loop, real object_weight, real fact_weight, Shared at, real *to) {
  FOR_OWN(k, which, place) at.own_next[k] = 0;
  BARRIER();
  query_vjp(at.own, at.own + ROW, at.d_query, at.own_next, at.own_next + ROW);
  BARRIER();
  fill_gradients(is_loop, object_weight, fact_weight, at);
  FOR_EACH(k, OWN) to[k] = at.own_next[k];
  BARRIER();
}

DEVICE void prepare_step(const Fleet *fleet, int index, Shared at) {
  const int *step = fleet->steps + 5ll * index;
  int fact = step[0], subject = step[1], object = step[3], n = step[4];
  int *place = fleet->marks + 2 * (index - fleet->log_first) + 1;
  const int *ids = fleet->candidates + index * fleet->most;
  const int *times = fleet->repeats + index * fleet->most;
  const real *rows = logged_rows(fleet, index), *relation = rows + (MOST + 1) * STATE;
  Common c = common_of(fleet, index);
  FOR_OWN(k, which, at_k)
    at.own[k] = which == 1 ? relation[at_k] : rows[(long long)(which == 0 ? n : 0) * STATE + at_k];
  if (THREAD == 0) *place = -1, *at.weight = 0;
  BARRIER();
  FOR_EACH(j, n) if (ids[j] == subject) *place = j;
  query(at.own, at.own + ROW, at.query);
  for (int k = QUERY_WIDTH + THREAD; k < QUERY_ROW; k += N_THREADS) at.query[k] = 0;
  BARRIER();
  score_logged(rows, n, at.query, c.first);
  BARRIER();
  Contest contest = contest_of(
      fleet, fact, fact_weight_of(fleet, fact), index % N_DIRECTIONS, c.first, times, n);
  BARRIER();
  FOR_EACH(j, n) {
    real score = c.first[j];
    c.second[j] = curvature_of(score, j, DISTINCT ? 1 : times[j], contest);
    c.first[j] = weight_of(score, j, DISTINCT ? 1 : times[j], contest);
    if (j == *place) *at.weight = c.first[j];
  }
  BARRIER();
  sum_slopes(rows, n, c.first, at, at.d_query);
  if (LOSS == SOFTMAX) sum_slopes(rows, n, c.second, at, c.spread);
  own_gradients(object == subject, c.first[0], contest.fact_weight, at, c.gradient);
  FOR_EACH(k, QUERY_ROW) c.query[k] = at.query[k], c.d_query[k] = at.d_query[k];
  if (UNLEARNT) {
    real ratio = unlearnt_ratio(fleet, index, fact, c.first[0]), weight = ratio * c.first[0];
    if (LOSS != SOFTMAX) {
      weight = unlearnt_weight(fleet, index, fact);
      real more = weight - c.first[0];
      sum_slopes(rows, 1, &more, at, c.spread);
    }
    FOR_EACH(k, QUERY_ROW)
      at.d_query[k] = LOSS == SOFTMAX ? ratio * at.d_query[k] : at.d_query[k] + c.spread[k];
    if (THREAD == 0) *at.weight = *place == 0 ? weight : ratio * *at.weight;
    own_gradients(object == subject, weight, contest.fact_weight, at, c.unlearnt);
  }
}

// What the predictions share, for the steps of a launch.
KERNEL BOUNDED void prepare(const Fleet *fleet, int start, int stop) {
  SHARED_MEMORY(real, memory);
  Shared at = {0};
  at.own = memory;
  at.own_next = at.own + OWN;
  at.query = at.own_next + OWN;
  at.d_query = at.query + QUERY_ROW;
  at.partial = at.d_query + QUERY_ROW;
  at.sums = at.partial + N_THREADS / WARP * QUERY_ROW;
  at.weight = at.sums + 3 * (N_THREADS / WARP);
  for (int index = start + BLOCK; index < stop; index += N_BLOCKS) {
    if (fact_weight_of(fleet, fleet->steps[5ll * index]) == 0) continue;
    prepare_step(fleet, index, at);
    BARRIER();
  }
}

// A number of a row and its moments, or their adjoint.
typedef struct { real row, mean, square; } Cell;

// What a prediction adds up over a step: the influence of the fact, and the adjoint of the count.
typedef struct { real credit, count; } Tally;

typedef struct { Pace now; real lag; } BackPace;  // lag: by how much `step` grew with this count

// Data of a prediction that the threads of its block share.
typedef struct {
  real *query;       // (QUERY_ROW,), like the next three
  real *dq;          // change of the query along `pull`
  real *ddq;         // change of its gradient
  real *side_query;
  real *pull;        // (OWN,) derivatives with respect to the gradients
  real *side;        // (PAIR,) subject and relation on one side, and their gradients
  real *d_side;
  real *first;       // (MOST,), like the next three; in shared memory if it has room
  real *second;
  real *tangents;    // changes of the scores along `pull`
  int *ids;
  Shared sums;
} Back;

DEVICE Cell cell_at(const real *state, int row, int place) {
  Cell cell = {state[place], PARTS > 2 ? state[row + place] : 0,
               PARTS > 1 ? state[(PARTS - 1) * row + place] : 0};
  return cell;
}

DEVICE Cell held_cell(const Held *held, int p, int i) {
  Cell cell = {held->part[0][p].at[i], PARTS > 2 ? held->part[MEAN][p].at[i] : 0,
               PARTS > 1 ? held->part[SQUARE][p].at[i] : 0};
  return cell;
}

DEVICE Cell moved_cell(Cell cell, real gradient, Pace pace) {
  if (OPTIMIZER == ADAM) {
    cell.mean = fma((real)BETA1, cell.mean, (real)(1 - BETA1) * gradient);
    cell.square = fma((real)BETA2, cell.square, (real)(1 - BETA2) * gradient * gradient);
    cell.row = fma(-pace.step * cell.mean, 1 / (sqrt(cell.square) + (real)EPSILON), cell.row);
  } else if (OPTIMIZER == ADAGRAD) {
    cell.square = fma(gradient, gradient, cell.square);
    cell.row = fma(-pace.rate * gradient, 1 / (sqrt(cell.square) + (real)EPSILON), cell.row);
  } else {
    cell.row = fma(-pace.rate, gradient, cell.row);
  }
  return cell;
}

// Credit a number's change; back: its adjoint after the step.
DEVICE void credit(Cell before, Cell after, real factor, Cell back, Tally *tally) {
  real end = CONSTRAINED && factor > 0 ? factor * after.row : after.row;
  tally->credit = fma(back.row, end - before.row, tally->credit);
  if (PARTS > 2) tally->credit = fma(back.mean, after.mean - before.mean, tally->credit);
  if (PARTS > 1) tally->credit = fma(back.square, after.square - before.square, tally->credit);
}

// Take constraint and optimizer back for one number: its adjoint becomes that before them. Returns
// the derivative with respect to the gradient. factor: of the constraint, 0 if it did nothing.
DEVICE real take_back(
    Cell before, real gradient, real factor, real along, BackPace pace, Cell *back, Tally *tally) {
  Cell after = moved_cell(before, gradient, pace.now);
  if (FINITE && !UNLEARNT) credit(before, after, factor, *back, tally);
  if (CONSTRAINED && factor > 0) back->row = factor * (back->row - along * after.row);
  real pull;
  if (OPTIMIZER == SGD) {
    pull = -pace.now.rate * back->row;
  } else {
    real rate = OPTIMIZER == ADAM ? pace.now.step : pace.now.rate;
    real moved_by = OPTIMIZER == ADAM ? after.mean : gradient, root = sqrt(after.square);
    real along_slope = -rate * (1 / (root + (real)EPSILON));
    real across = along_slope * along_slope * (1 / fmax(root, (real)1e-12)) * ((real)0.5 / rate);
    back->square = fma(across * moved_by, back->row, back->square);
    if (OPTIMIZER == ADAM) {
      tally->count += moved_by * along_slope * pace.lag * back->row;
      back->mean = fma(along_slope, back->row, back->mean);
      pull = 2 * (real)(1 - BETA2) * gradient * back->square + (real)(1 - BETA1) * back->mean;
      back->mean *= (real)BETA1;
      back->square *= (real)BETA2;
    } else {
      pull = fma(along_slope, back->row, 2 * gradient * back->square);
    }
  }
  if (!FINITE) tally->credit = fma(pull, gradient, tally->credit);
  return pull;
}

// Take the update of subject and relation back, and fill their parts of `pull`.
DEVICE void take_pair_back(
    const real *const *before, real *const *adjoint, const real *gradient, const real *unlearnt,
    BackPace pace, Back at, Tally *tally) {
  real squares[3] = {0, 0, 0}, leans[3] = {0, 0, 0}, credited[3] = {0, 0, 0};
  if (CONSTRAINED) {
    FOR_PAIR(k, which, place) {
      Cell cell = cell_at(before[which], OWN_ROW(which), place);
      real after = moved_cell(cell, gradient[k], pace.now).row;
      squares[which] += after * after;
      leans[which] += after * adjoint[which][place];
      if (!UNLEARNT) continue;
      after = moved_cell(cell, unlearnt[k], pace.now).row;
      credited[which] += after * after;
    }
    block_sums(squares, at.sums.sums);
    block_sums(leans, at.sums.sums);
    if (UNLEARNT) block_sums(credited, at.sums.sums);
  }
  FOR_PAIR(k, which, place) {
    int row = OWN_ROW(which);
    real *state = adjoint[which];
    real factor = OWN_CONSTRAINED(which) ? factor_of(squares[which]) : 0;
    real along = factor > 0 ? leans[which] / squares[which] : 0;
    Cell cell = cell_at(before[which], row, place), back = cell_at(state, row, place);
    if (UNLEARNT) {
      real scale = OWN_CONSTRAINED(which) ? factor_of(credited[which]) : 0;
      credit(cell, moved_cell(cell, unlearnt[k], pace.now), scale, back, tally);
    }
    at.pull[k] = take_back(cell, gradient[k], factor, along, pace, &back, tally);
    state[place] = back.row;
    if (PARTS > 2) state[row + place] = back.mean;
    if (PARTS > 1) state[(PARTS - 1) * row + place] = back.square;
  }
}

// How often a change fits into a vector, from their sums of squares; at most FAR times.
DEVICE real reach_of(real squares, real changes) {
  real size = sqrt(squares), change = sqrt(changes);
  return size > 0 && change > size / FAR ? size / change : FAR;
}

DEVICE real pair_reach(const real *const *before, Back at) {
  real squares[3] = {0, 0, 0}, changes[3] = {0, 0, 0};
  FOR_PAIR(k, which, place) {
    real x = before[which][place], change = at.pull[k];
    squares[which] += x * x;
    changes[which] += change * change;
  }
  block_sums(squares, at.sums.sums);
  block_sums(changes, at.sums.sums);
  return fmin(reach_of(squares[0], changes[0]), reach_of(squares[1], changes[1]));
}

// Fill dq with the change of the query along `pull`, by a central difference.
DEVICE void turn_query(const real *const *before, real most, Back at) {
  real reach = (real)REACH * most, scale = (real)0.5 / reach;
  for (int sign = -1; sign < 2; sign += 2) {
    FOR_PAIR(k, which, place) at.side[k] = fma(sign * reach, at.pull[k], before[which][place]);
    BARRIER();
    query(at.side, at.side + ROW, at.side_query);
    BARRIER();
    FOR_EACH(k, QUERY_ROW) {
      real part = k < QUERY_WIDTH ? scale * at.side_query[k] : 0;
      at.dq[k] = sign < 0 ? -part : at.dq[k] + part;
    }
  }
  BARRIER();
}

// Add the change of the gradients of subject and relation along `pull` and ddq.
DEVICE void turn_gradient(
    const real *const *before, real *const *adjoint, const real *d_query, real most, Back at) {
  real squares[3] = {0, 0, 0};
  FOR_EACH(k, QUERY_WIDTH) {
    squares[0] += d_query[k] * d_query[k];
    squares[1] += at.ddq[k] * at.ddq[k];
  }
  block_sums(squares, at.sums.sums);
  real reach = (real)REACH * fmin(most, reach_of(squares[0], squares[1]));
  real scale = (real)0.5 / reach;
  for (int sign = -1; sign < 2; sign += 2) {
    FOR_PAIR(k, which, place) at.side[k] = fma(sign * reach, at.pull[k], before[which][place]);
    FOR_EACH(k, QUERY_WIDTH) at.side_query[k] = fma(sign * reach, at.ddq[k], d_query[k]);
    BARRIER();
    query_vjp(at.side, at.side + ROW, at.side_query, at.d_side, at.d_side + ROW);
    BARRIER();
    FOR_PAIR(k, which, place)
      if (place < OWN_WIDTH(which)) adjoint[which][place] += sign * scale * at.d_side[k];
  }
}

// Add the product of the penalties' curvature with `pull`.
DEVICE void curve_own(
    const real *const *before, real *const *adjoint, int is_loop, real fact_weight, Back at) {
  if (L2 == 0 && N3 == 0) return;
  FOR_OWN(k, which, place) {
    int parts = which == 1 ? RELATION_PARTS : ENTITY_PARTS, width = OWN_WIDTH(which);
    if (parts == 0 || place >= width || (which == 2 && is_loop)) continue;
    const real *pull = at.pull + (which == 0 ? 0 : which == 1 ? ROW : PAIR);
    real x = before[which][place], square = x * x, along = x * pull[place];
    if (parts == 2) {
      int other = place >= width / 2 ? place - width / 2 : place + width / 2;
      square += before[which][other] * before[which][other];
      along += before[which][other] * pull[other];
    }
    real size = sqrt(square), times = fact_weight * (which == 0 && is_loop ? 2 : 1);
    real bend = ((real)L2 + (real)N3 * size) * pull[place];
    bend += x * ((real)N3 / fmax(size, (real)1e-30)) * along;
    adjoint[which][place] += times * bend;
  }
}

// Take the update of a candidate's row back in its group, and fill `pull`.
DEVICE void take_row_back(
    const Held *before, const Pack *gradient, const Pack *unlearnt, BackPace pace, Held *back,
    Pack *pull, Tally *tally) {
  real factor = 0, along = 0, scale = 0;
  if (CONSTRAINED) {
    real squares = 0, lean = 0, credited = 0;
    FOR_PACKS(p, k) FOR_PACK(i) {
      real after = moved_cell(held_cell(before, p, i), gradient[p].at[i], pace.now).row;
      squares += after * after;
      lean += after * back->part[0][p].at[i];
      if (!UNLEARNT) continue;
      after = moved_cell(held_cell(before, p, i), unlearnt[p].at[i], pace.now).row;
      credited += after * after;
    }
    squares = group_sum(squares), lean = group_sum(lean);
    factor = factor_of(squares);
    along = factor > 0 ? lean / squares : 0;
    if (UNLEARNT) scale = factor_of(group_sum(credited));
  }
  FOR_PACKS(p, k) FOR_PACK(i) {
    Cell cell = held_cell(before, p, i), end = held_cell(back, p, i);
    if (UNLEARNT)
      credit(cell, moved_cell(cell, unlearnt[p].at[i], pace.now), scale, end, tally);
    pull[p].at[i] = take_back(cell, gradient[p].at[i], factor, along, pace, &end, tally);
    back->part[0][p].at[i] = end.row;
    if (PARTS > 2) back->part[MEAN][p].at[i] = end.mean;
    if (PARTS > 1) back->part[SQUARE][p].at[i] = end.square;
  }
}

// The change of a candidate's score when query and row change.
DEVICE real score_change(
    const Pack *query, const Pack *dq, const Held *before, const Pack *pull, real distance, real offset) {
  real total = 0;
  FOR_PACKS(p, k) FOR_PACK(i) {
    real q = query[p].at[i], x = before->part[0][p].at[i];
    if (MATCH == BY_DOT)
      total = fma(dq[p].at[i], x, fma(q, pull[p].at[i], total));
    else
      total -= slope(q, x, 1, distance) * (dq[p].at[i] - pull[p].at[i]);
  }
  total = group_sum(total);
  return MATCH == BY_DOT ? total + offset : total;
}

// First pass over the candidates: take their updates back, and sum the change of the query's
// gradient, but for the part of the softmax's sum. Returns a thread's part of the mean change.
// ratio: see unlearnt_ratio.
DEVICE real take_candidates_back(
    const real *rows, real *adjoint, int n, int subject_place, const real *object_gradient,
    const real *unlearnt_object, real ratio, BackPace pace, Back at, Tally *tally) {
  Pack query[PACKS], dq[PACKS], ddq[PACKS];
  load_query(at.query, query);
  load_query(at.dq, dq);
  real offset = HAS_OFFSET ? at.dq[WIDTH] : 0, d_offset = 0, mean = 0;
  UNROLL for (int p = 0; p < PACKS; p++) FOR_PACK(i) ddq[p].at[i] = 0;
  int n_groups = N_THREADS / GROUP, group = THREAD / GROUP;
  for (int round = 0; round * n_groups < n; round += SCORED) {
    Held before[SCORED], back[SCORED];
    UNROLL for (int u = 0; u < SCORED; u++) {
      int j = (round + u) * n_groups + group, known = j < n ? j : n - 1;
      load_parts(rows + (long long)known * STATE, 0, PARTS, &before[u]);
      load_parts(adjoint + (long long)at.ids[known] * STATE, 0, PARTS, &back[u]);
    }
    UNROLL for (int u = 0; u < SCORED; u++) {
      int j = (round + u) * n_groups + group, mine = j < n, known = mine ? j : n - 1;
      real first = at.first[known], second = mine ? at.second[known] : 0;
      real distance = distance_of(&before[u], query);
      Pack gradient[PACKS], unlearnt[PACKS], pull[PACKS];
      FOR_PACKS(p, k) {
        FOR_PACK(i)
          gradient[p].at[i] = slope(query[p].at[i], before[u].part[0][p].at[i], first, distance);
        if (known == 0) gradient[p] = LOAD_PACK(object_gradient + k);
        if (!UNLEARNT) continue;
        FOR_PACK(i) unlearnt[p].at[i] = ratio * gradient[p].at[i];
        if (known == 0) unlearnt[p] = LOAD_PACK(unlearnt_object + k);
      }
      if (known == subject_place) {
        FOR_PACKS(p, k) pull[p] = LOAD_PACK(at.pull + k);
      } else {
        Tally more = {0, 0};
        take_row_back(&before[u], gradient, unlearnt, pace, &back[u], pull, &more);
        if (mine) tally->credit += more.credit, tally->count += more.count;
      }
      real change = score_change(query, dq, &before[u], pull, distance, offset);
      if (!mine) first = 0;
      if (LANE == 0 && mine) at.tangents[j] = change, mean += second * change;
      d_offset += second * change;
      FOR_PACKS(p, k) FOR_PACK(i) {
        real q = query[p].at[i], x = before[u].part[0][p].at[i], *sum = &ddq[p].at[i];
        if (MATCH == BY_DOT)
          *sum = fma(second * change, x, fma(first, pull[p].at[i], *sum));
        else
          *sum -= slope(q, x, second * change, distance);
        if (MATCH == BY_L2 && distance > 0) {
          real apart = dq[p].at[i] - pull[p].at[i] + change / distance * (q - x);
          *sum -= first / distance * apart;
          back[u].part[0][p].at[i] += first / distance * apart;
        }
      }
      if (known == 0 && mine) FOR_PACKS(p, k) STORE_PACK(at.pull + PAIR + k, pull[p]);
      real *state = adjoint + (long long)at.ids[known] * STATE;
      if (mine) UNROLL for (int part = CONSTRAINED || MATCH == BY_L2 ? 0 : 1; part < PARTS; part++)
        FOR_PACKS(p, k) STORE_PACK(state + part * ROW + k, back[u].part[part][p]);
    }
  }
  keep_partial(ddq, d_offset, THREAD / WARP, at.sums);
  return mean;
}

// Second pass: add the change of the rows' gradients to their adjoint. mean: of the scores' changes.
DEVICE void bend_candidates(
    const real *rows, real *adjoint, int n, real mean, Back at) {
  Pack query[PACKS], dq[PACKS];
  load_query(at.query, query);
  load_query(at.dq, dq);
  int n_groups = N_THREADS / GROUP, group = THREAD / GROUP;
  for (int round = 0; round * n_groups < n; round += MOVED) {
    Held before[MOVED], back[MOVED];
    UNROLL for (int u = 0; u < MOVED; u++) {
      int j = (round + u) * n_groups + group, known = j < n ? j : n - 1;
      if (MATCH != BY_DOT) load_parts(rows + (long long)known * STATE, 0, 1, &before[u]);
      load_parts(adjoint + (long long)at.ids[known] * STATE, 0, 1, &back[u]);
    }
    UNROLL for (int u = 0; u < MOVED; u++) {
      int j = (round + u) * n_groups + group, known = j < n ? j : n - 1;
      real first = at.first[known], second = at.second[known] * (at.tangents[known] - mean);
      real distance = distance_of(&before[u], query);
      FOR_PACKS(p, k) FOR_PACK(i) {
        real q = query[p].at[i], *out = &back[u].part[0][p].at[i];
        if (MATCH == BY_DOT)
          *out = fma(second, q, fma(first, dq[p].at[i], *out));
        else
          *out += slope(q, before[u].part[0][p].at[i], second, distance);
      }
      if (j < n) store_parts(adjoint + (long long)at.ids[known] * STATE, 1, &back[u]);
    }
  }
}

// One step of training, backwards, for one prediction.
DEVICE void step_back(const Fleet *fleet, int index, Back at) {
  const int *step = fleet->steps + 5ll * index;
  const int *marks = fleet->marks + 2 * (index - fleet->log_first);
  int fact = step[0], object = step[3], n = step[4], count = marks[0];
  real *entities = fleet->adjoint + BLOCK * fleet->n_entities * STATE;
  real *relations = fleet->adjoint_relations + BLOCK * fleet->n_relations * RELATION_STATE;
  real fact_weight = fact_weight_of(fleet, fact);
  const real *rows = logged_rows(fleet, index);
  const real *before[3] = {rows + (long long)n * STATE, rows + (MOST + 1) * STATE, rows};
  real *adjoint[3] = {entities + (long long)step[1] * STATE,
                      relations + (long long)step[2] * RELATION_STATE,
                      entities + (long long)object * STATE};
  Common c = common_of(fleet, index);
  BackPace pace = {pace_of(fleet, index, count), 0};
  if (OPTIMIZER == ADAM && count > 1) {
    long long last = fleet->n_times - 1, now = count < last ? count : last;
    long long earlier = count - 1 < last ? count - 1 : last;
    pace.lag = (real)(1 - fleet->times[6 * earlier + 4] / fleet->times[6 * now + 4]);
  }
  Tally tally = {0, 0};
  FOR_EACH(k, QUERY_ROW) at.query[k] = c.query[k];
  int *ids = fleet->candidates + index * fleet->most;
  if (ROOM_SHARED) {
    FOR_EACH(j, n) at.first[j] = c.first[j], at.second[j] = c.second[j], at.ids[j] = ids[j];
  } else {
    at.first = c.first, at.second = c.second, at.ids = ids;
  }
  take_pair_back(before, adjoint, c.gradient, c.unlearnt, pace, at, &tally);
  real most = pair_reach(before, at);
  turn_query(before, most, at);
  real ratio = unlearnt_ratio(fleet, index, fact, c.first[0]);
  real mean = take_candidates_back(
      rows, entities, n, marks[1], c.gradient + PAIR, c.unlearnt + PAIR, ratio, pace, at, &tally);
  real sums[3] = {mean, tally.credit, tally.count};
  block_sums(sums, at.sums.sums);
  mean = LOSS == SOFTMAX ? sums[0] / fact_weight : 0;
  sum_partials(at.sums, at.ddq);
  if (LOSS == SOFTMAX) FOR_EACH(k, QUERY_WIDTH) at.ddq[k] -= mean * c.spread[k];
  bend_candidates(rows, entities, n, mean, at);
  BARRIER();
  turn_gradient(before, adjoint, c.d_query, most, at);
  curve_own(before, adjoint, object == step[1], fact_weight, at);
  if (THREAD == 0) {
    double credit = FINITE ? sums[1] + fleet->adjoint_counts[BLOCK] : sums[1] / fact_weight;
    fleet->influence[BLOCK * fleet->n_facts + fact] += credit;
    fleet->adjoint_counts[BLOCK] += sums[2];
  }
}

// One block per prediction: the logged steps of a launch, the last one first.
KERNEL BOUNDED void sweep(const Fleet *fleet, int start, int stop) {
  SHARED_MEMORY(real, memory);
  Back at = {0};
  at.query = memory;
  at.dq = at.query + QUERY_ROW;
  at.ddq = at.dq + QUERY_ROW;
  at.side_query = at.ddq + QUERY_ROW;
  at.pull = at.side_query + QUERY_ROW;
  at.side = at.pull + OWN;
  at.d_side = at.side + PAIR;
  at.sums.partial = at.d_side + PAIR;
  at.sums.sums = at.sums.partial + N_THREADS / WARP * QUERY_ROW;
  at.tangents = fleet->tangents + (long long)BLOCK * MOST_ROW;
  if (ROOM_SHARED) {
    at.tangents = at.sums.sums + 3 * (N_THREADS / WARP);
    at.first = at.tangents + MOST;
    at.second = at.first + MOST;
    at.ids = (int *)(at.second + MOST);
  }
  for (int index = stop - 1; index >= start; index--) {
    if (fact_weight_of(fleet, fleet->steps[5ll * index]) == 0) continue;
    step_back(fleet, index, at);
    BARRIER();
  }
}
