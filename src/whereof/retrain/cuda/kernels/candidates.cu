// The candidates of a step: scored in the first pass, updated in the second.

// Project a row; squares: a thread's part of the sum of its squares.
DEVICE void project_row(const Fleet *fleet, int row, real squares, Held *held, int noting) {
  real factor = projection_of(group_sum(squares));
  FOR_PACKS(p, k) FOR_PACK(i) {
    real after = factor * held->part[0][p].at[i];
    if (TRACKED && noting && k + i < WIDTH)
      fleet->projection[(long long)row * WIDTH + k + i] += after - held->part[0][p].at[i];
    held->part[0][p].at[i] = after;
  }
}

// Apply a row's pending drift; its moments do not change until it is stored.
DEVICE void catch_up(const Fleet *fleet, int row, Held *held, int noting) {
  if (held->drift.fade1 == 1) return;
  real squares = 0;
  FOR_PACKS(p, k) FOR_PACK(i) {
    real change = drifted(held->part[MEAN][p].at[i], held->part[SQUARE][p].at[i], held->drift);
    held->part[0][p].at[i] += change;
    if (TRACKED && noting && k + i < WIDTH) fleet->drift[(long long)row * WIDTH + k + i] += change;
    squares += held->part[0][p].at[i] * held->part[0][p].at[i];
  }
  if (CONSTRAINED) project_row(fleet, row, squares, held, noting);
}

DEVICE real score_of(const Held *held, const Pack *query, real offset) {
  real total = 0;
  FOR_PACKS(p, k) FOR_PACK(i) {
    real q = query[p].at[i], x = held->part[0][p].at[i];
    total = MATCH == BY_DOT ? fma(q, x, total) : MATCH == BY_L1 ? total + fabs(q - x) : fma(q - x, q - x, total);
  }
  total = group_sum(total);
  return MATCH == BY_DOT ? total + offset : MATCH == BY_L1 ? -total : -sqrt(total);
}

// A thread's part of the query, without the offset after it.
DEVICE void load_query(const real *query, Pack *packs) {
  FOR_PACKS(p, k) {
    packs[p] = LOAD_PACK(query + k);
    if (HAS_OFFSET) FOR_PACK(i) if (k + i >= WIDTH) packs[p].at[i] = 0;
  }
}

// What both passes need of every candidate: its id, and its row's pending drift.
DEVICE void list_candidates(
    const Fleet *fleet, int *touched, const int *ids, int n, int subject, int count, Shared at) {
  for (int j = THREAD; j < n; j += N_THREADS) {
    int id = ids[j];
    at.ids[j] = id;
    if (DEFERRED) {
      at.drifts[j] = drift_of(fleet, touched[id], count);
      // The counts of the fact's own rows are read elsewhere.
      if (j > 0 && id != subject) touched[id] = count + 1;
    }
  }
}

// First pass: score every candidate. A group without a candidate repeats the last
// one, because all threads of a warp must take the same path.
DEVICE void score_candidates(const Fleet *fleet, const real *entities, int n, Shared at) {
  Pack query[PACKS];
  load_query(at.query, query);
  real offset = HAS_OFFSET ? at.query[WIDTH] : 0;
  int n_groups = N_THREADS / GROUP, group = THREAD / GROUP;
  for (int round = 0; round * n_groups < n; round += SCORED) {
    Held held[SCORED];
    UNROLL for (int u = 0; u < SCORED; u++) {
      int j = (round + u) * n_groups + group, known = j < n ? j : n - 1;
      const real *state = entities + (long long)at.ids[known] * STATE;
      load_parts(state, 0, DEFERRED ? PARTS : 1, &held[u]);
      if (DEFERRED) held[u].drift = at.drifts[known];
    }
    UNROLL for (int u = 0; u < SCORED; u++) {
      int j = (round + u) * n_groups + group;
      if (DEFERRED) catch_up(fleet, 0, &held[u], 0);
      real score = score_of(&held[u], query, offset);
      if (LANE == 0 && j < n) at.scores[j] = score;
      if (round + u < HELD) store_parts(at.held + j * ROW, 1, &held[u]);
    }
  }
}

// What d loss / d score needs beside the score: the fact's own numbers, and for the softmax the
// maximum and the sums.
typedef struct { real top, others, total, fact_weight, target; int n_drawn; } Contest;

DEVICE Contest contest_of(
    const Fleet *fleet, int fact, real fact_weight, int direction, const real *scores,
    const int *times, int n) {
  Contest c = {scores[0], 0, 1, WEIGHTED ? fact_weight : 1,
               LOSS == SQUARED ? fleet->targets[fact] : 0,
               1 + (direction ? SUBJECT_NEGATIVES : OBJECT_NEGATIVES)};
  if (LOSS != SOFTMAX) return c;
  for (int j = THREAD % WARP; j < n; j += WARP) c.top = fmax(c.top, scores[j]);
  for (int gap = WARP / 2; gap > 0; gap /= 2) c.top = fmax(c.top, SHUFFLE(c.top, gap));
  for (int j = THREAD % WARP; j < n; j += WARP)
    if (j > 0) c.others += (DISTINCT ? 1 : times[j]) * exp(scores[j] - c.top);
  WARP_SUM(c.others);
  c.total = c.others + exp(scores[0] - c.top);
  return c;
}

DEVICE real sigmoid(real score) {
  real fade = exp(-fabs(score));
  return score >= 0 ? 1 / (1 + fade) : fade / (1 + fade);
}

// d loss / d score of candidate j, for all its draws together.
DEVICE real weight_of(real score, int j, int times, Contest c) {
  real weight;
  if (LOSS == SQUARED)
    weight = score - c.target;
  else if (LOSS == SOFTMAX)
    weight = j == 0 ? -c.others / c.total : times * (exp(score - c.top) / c.total);
  else
    weight = times * ((sigmoid(score) - (j == 0)) / c.n_drawn);
  return WEIGHTED ? c.fact_weight * weight : weight;
}

// Update a candidate's row in its group, and add its part of the query's gradient.
DEVICE void move_row(
    const Fleet *fleet, int id, int noting, real weight, real distance, const Pack *query,
    Pack *d_query, Pace pace, Held *held) {
  real squares = 0;
  FOR_PACKS(p, k) FOR_PACK(i) {
    real *row = &held->part[0][p].at[i], *mean = &held->part[MEAN][p].at[i];
    real *square = &held->part[SQUARE][p].at[i];
    real gradient = slope(query[p].at[i], *row, weight, distance);
    d_query[p].at[i] = MATCH == BY_DOT ? fma(weight, *row, d_query[p].at[i]) : d_query[p].at[i] - gradient;
    if (DEFERRED) *mean *= held->drift.fade1, *square *= held->drift.fade2;
    moved(row, mean, square, gradient, pace);
    if (CONSTRAINED) squares += *row * *row;
  }
  if (CONSTRAINED) project_row(fleet, id, squares, held, noting);
}

// Sum the query gradients of the groups of a warp into one row of `partial`.
DEVICE void keep_partial(Pack *d_query, real d_offset, int place, Shared at) {
  real *partial = at.partial + place * QUERY_ROW;
  for (int gap = WARP / 2; gap >= GROUP; gap /= 2) {
    UNROLL for (int p = 0; p < PACKS; p++) FOR_PACK(i)
      d_query[p].at[i] += SHUFFLE(d_query[p].at[i], gap);
    if (HAS_OFFSET) d_offset += SHUFFLE(d_offset, gap);
  }
  if (THREAD % WARP < GROUP)
    FOR_PACKS(p, k) FOR_PACK(i) if (!HAS_OFFSET || k + i < WIDTH) partial[k + i] = d_query[p].at[i];
  if (HAS_OFFSET && THREAD % WARP == 0) partial[WIDTH] = d_offset;
}

// Second pass: update the negatives' rows and sum the query gradient of all candidates.
// The rows that the fact owns are updated later. log: where to log all rows, or 0.
DEVICE void move_candidates(
    const Fleet *fleet, real *entities, const int *times, int n, int subject,
    Contest contest, Pace pace, Kept *log, Shared at) {
  Pack query[PACKS], d_query[TURNS][PACKS];
  real d_offset[TURNS];
  load_query(at.query, query);
  UNROLL for (int turn = 0; turn < TURNS; turn++) {
    d_offset[turn] = 0;
    UNROLL for (int p = 0; p < PACKS; p++) FOR_PACK(i) d_query[turn][p].at[i] = 0;
  }
  int n_groups = N_THREADS / GROUP, group = THREAD / GROUP;
  for (int round = 0; round * n_groups < n; round += MOVED) {
    Held held[MOVED];
    UNROLL for (int u = 0; u < MOVED; u++) {
      int place = (round + u) * n_groups + group, known = place < n ? place : n - 1;
      const real *state = entities + (long long)at.ids[known] * STATE;
      if (round + u < HELD)
        load_parts(at.held + place * ROW, 0, 1, &held[u]);
      else
        load_parts(state, 0, 1, &held[u]);
      load_parts(state, 1, PARTS, &held[u]);
      if (DEFERRED) held[u].drift = at.drifts[known];
    }
    UNROLL for (int u = 0; u < MOVED; u++) {
      int j = (round + u) * n_groups + group, mine = j < n;
      int known = mine ? j : n - 1, id = at.ids[known], plain = mine && j > 0 && id != subject;
      if (LOGGED && log && mine) keep_row(&held[u], log + (long long)j * KEPT_STATE);
      // A held row is up to date already.
      if (DEFERRED && round + u >= HELD) catch_up(fleet, id, &held[u], plain);
      real score = at.scores[known], weight = 0;
      if (mine) weight = weight_of(score, j, DISTINCT ? 1 : times[j], contest);
      if (LANE == 0 && mine && id == subject) *at.weight = weight;
      // MOVED is a multiple of TURNS, so that the compiler knows whose turn it is.
      if (HAS_OFFSET) d_offset[u % TURNS] += weight;
      move_row(fleet, id, plain, weight, -score, query, d_query[u % TURNS], pace, &held[u]);
      real *state = entities + (long long)id * STATE;
      if (plain) store_parts(state, PARTS, &held[u]);
    }
  }
  UNROLL for (int turn = 0; turn < TURNS; turn++)
    keep_partial(d_query[turn], d_offset[turn], turn * (N_THREADS / WARP) + THREAD / WARP, at);
}
