// Training many models at once, one block of threads each: the step of the CPU kernels, on a card.
//
// What a problem fixes is a macro, set where the source is put together (_source.py):
//   real, PACK          numbers, and how many of them 16 bytes hold
//   WIDTH, ROW          an entity row, and the same padded to whole packs; RELATION_* likewise
//   QUERY_WIDTH         WIDTH, or one more where queries carry an offset
//   PARTS               row, first and second moment stand side by side: 1, 2 or 3 of them
//   STATE               numbers between two entity rows; RELATION_STATE likewise
//   GROUP, PACKS        threads that share a row, and how many packs of it each of them holds
//   TURNS               sums of gradients that a group keeps, in turn: so that half as many groups
//                       add up in the same order, and the outcome does not depend on their number
//   OWN_THREADS         threads that work on the rows that a fact owns
//   HELD                rounds of candidates whose rows stay in shared memory between the passes
//   SCORED, MOVED       rows that a group asks of memory at once in the first and second pass
// and MATCH, LOSS, OPTIMIZER, CONSTRAINT and so on, as in Rule. The model's own functions,
// query and query_vjp, are translated from its declaration and stand between prelude and here.
//
// It is plain C but for the marks of CUDA, so that tests can compile it for the CPU.

#define DOT 0
#define L1 1
#define SOFTMAX 0
#define SIGMOID 1
#define SQUARED 2
#define SGD 0
#define ADAGRAD 1
#define ADAM 2
#define UNIT 1

#define OWN (2 * ROW + RELATION_ROW)  // numbers of the rows that a fact owns: subject, relation, object
#define HAS_OFFSET (QUERY_WIDTH > WIDTH)

// What a launch works on. Every field takes 8 bytes; _fleet.py lists them in the same order.
typedef struct {
  real *entities, *relations;             // (models, rows, PARTS * row)
  int *entity_counts, *relation_counts;   // (models, rows) count a row is up to date at; deferred
  const unsigned *removed;                // (models, words) a bit for every removed fact
  long long *counts;                      // (models,) updates so far
  const int *facts;                       // (n_facts, 3)
  const int *order;                       // (n_facts,) fact ids of the epoch
  int *steps;                             // (chunk, 5) fact, subject, relation, object, candidates
  int *candidates, *repeats;              // (chunk, most) distinct ids; how often each was drawn
  const double *rates;                    // (chunk,)
  const double *times;                    // (n_times, 6) by count: four tails, step, correction
  const double *powers;                   // (horizon, 5) by counts missed: four powers, beta2's
  const real *targets;                    // (n_facts,) what the squared loss takes scores to
  real *trace;                            // (n_facts, TRACE_WIDTH)
  real *owned[2], *drift[2], *projection[2];  // ledgers of entities and relations, unpadded
  double *meter;                          // loss, facts, entity norm, relation norm, slope
  char *room;                             // (models, ROOM) where shared memory has too little
  long long n_entities, n_relations, n_facts, n_words, most, n_times, horizon, first, epoch;
} Fleet;

typedef struct { real at[PACK]; } ALIGNED(16) Pack;

// The numbers of one update, as Pace on the CPU.
typedef struct { real rate, step, correction; } Pace;

// What a row's drift is made of: four sums, and how far its moments fade.
typedef struct { real t0, t1, t2, t3, fade1, fade2; } Drift;

// Where a block keeps what its threads share.
typedef struct {
  real *own;       // (OWN,) rows of the fact as the step finds them
  real *own_next;  // (OWN,) their gradients
  real *query;     // (QUERY_ROW,)
  real *d_query;   // (QUERY_ROW,)
  real *partial;   // (TURNS, warps, QUERY_ROW) of d_query
  real *sums;      // (warps, 3)
  real *held;      // (HELD, groups, ROW)
  real *weight;    // (1,) of the subject as a candidate
  real *scores;    // (most,) and so are the next two
  int *ids;
  Drift *drifts;   // deferred Adam only
} Shared;

// ---------------------------------------------------------------- random draws

DEVICE u64 mix(u64 z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

DEVICE u64 key_of(u64 seed, u64 stream, u64 first, u64 second) {
  return mix(mix(mix(seed * GOLDEN + stream) + first * GOLDEN) + second * GOLDEN);
}

DEVICE unsigned permute(unsigned x, u64 key, int bits) {
  unsigned mask = (1u << bits) - 1u, shift = (unsigned)(bits + 1) / 2;
  for (int turn = 0; turn < 3; turn++) {
    u64 word = mix(key + (u64)(turn + 1) * GOLDEN);
    x = (x * ((unsigned)(word >> 32) | 1u) + (unsigned)word) & mask;
    x ^= x >> shift;
  }
  return x;
}

// Negative j of a step, among `count` ids from `first` on without the true one.
DEVICE int draw_one(u64 key, int j, int true_id, int first, int count, int n_negatives) {
  unsigned others = (unsigned)count - 1u, value;
  if (DISTINCT && n_negatives == count - 1) {
    value = (unsigned)j;
  } else if (DISTINCT) {
    int bits = 8;
    while ((1u << bits) < others) bits++;
    value = permute((unsigned)j, key, bits);
    while (value >= others) value = permute(value, key, bits);
  } else {
    u64 word = mix(key + (u64)(j + 1) * GOLDEN) >> 32;
    value = (unsigned)((word * others) >> 32);
  }
  int id = first + (int)value;
  return id >= true_id ? id + 1 : id;
}

// One block a step: the fact at its place in the order, and its candidates. Draws that repeat are
// listed once, in the order of their first appearance, with how often they came.
KERNEL void draw(const Fleet *fleet, int n_steps) {
  SHARED_MEMORY(int, drawn);
  for (int step = BLOCK; step < n_steps; step += N_BLOCKS) {
    int direction = step % DIRECTIONS;
    int fact = fleet->order[fleet->first + step / DIRECTIONS];
    const int *triple = fleet->facts + 3ll * fact;
    int subject = triple[2 * direction], object = triple[2 - 2 * direction];
    int relation = triple[1] + direction * (int)(fleet->n_relations / 2);
    int first = direction ? SUBJECT_FIRST : OBJECT_FIRST;
    int count = direction ? SUBJECT_COUNT : OBJECT_COUNT;
    int n_negatives = direction ? SUBJECT_NEGATIVES : OBJECT_NEGATIVES;
    u64 key = key_of(SEED, direction ? 5 : 4, (u64)fact, (u64)fleet->epoch);
    int *ids = fleet->candidates + step * fleet->most;
    int *times = fleet->repeats + step * fleet->most, n_candidates = 1 + n_negatives;
    if (DISTINCT) {
      for (int j = THREAD; j < n_negatives; j += N_THREADS)
        ids[1 + j] = draw_one(key, j, object, first, count, n_negatives);
    } else {
      int *is_first = drawn + n_negatives;
      BARRIER();
      for (int j = THREAD; j < n_negatives; j += N_THREADS)
        drawn[j] = draw_one(key, j, object, first, count, n_negatives);
      BARRIER();
      for (int j = THREAD; j < n_negatives; j += N_THREADS) {
        int before = 0;
        for (int i = 0; i < j; i++) before += drawn[i] == drawn[j];
        is_first[j] = before == 0;
      }
      BARRIER();
      for (int j = THREAD; j < n_negatives; j += N_THREADS) {
        if (!is_first[j]) continue;
        int place = 1, repeats = 0;
        for (int i = 0; i < j; i++) place += is_first[i];
        for (int i = j; i < n_negatives; i++) repeats += drawn[i] == drawn[j];
        ids[place] = drawn[j];
        times[place] = repeats;
      }
      n_candidates = 1;
      for (int j = 0; j < n_negatives; j++) n_candidates += is_first[j];
      if (THREAD == 0) times[0] = 1;
    }
    if (THREAD == 0) {
      int *out = fleet->steps + 5ll * step;
      out[0] = fact, out[1] = subject, out[2] = relation, out[3] = object, out[4] = n_candidates;
      ids[0] = object;
    }
  }
}

// ---------------------------------------------------------------- sums over threads

// Over the threads of a group, or of a warp; every one of them gets it, and in the same order.
DEVICE real group_sum(real x) {
  for (int gap = GROUP / 2; gap > 0; gap /= 2) x += GROUP_SHUFFLE(x, gap);
  return x;
}

DEVICE real warp_sum(real x) {
  for (int gap = WARP / 2; gap > 0; gap /= 2) x += SHUFFLE(x, gap);
  return x;
}

DEVICE real warp_max(real x) {
  for (int gap = WARP / 2; gap > 0; gap /= 2) x = FMAX(x, SHUFFLE(x, gap));
  return x;
}

// Three sums over the whole block.
DEVICE void block_sums(real sums[3], real *room) {
  for (int i = 0; i < 3; i++) sums[i] = warp_sum(sums[i]);
  BARRIER();
  if (THREAD % WARP == 0)
    for (int i = 0; i < 3; i++) room[THREAD / WARP * 3 + i] = sums[i];
  BARRIER();
  for (int i = 0; i < 3; i++) {
    sums[i] = 0;
    for (int w = 0; w < N_THREADS / WARP; w++) sums[i] += room[w * 3 + i];
  }
}

// ---------------------------------------------------------------- Adam's drift

// Four sums of what a row missed between two counts, as `_series` on the CPU.
DEVICE Drift drift_of(const Fleet *fleet, int touched, int count) {
  Drift d = {0, 0, 0, 0, 1, 1};
  if (touched >= count) return d;
  long long missed = count - touched, last = fleet->horizon - 1;
  const double *power = fleet->powers + 5 * (missed < last ? missed : last);
  const double *then = fleet->times + 6 * (touched < fleet->n_times ? touched : fleet->n_times - 1);
  const double *now = fleet->times + 6 * (count < fleet->n_times ? count : fleet->n_times - 1);
  double s0 = then[0] - power[0] * now[0], s1 = then[1] - power[1] * now[1];
  double s2 = then[2] - power[2] * now[2], s3 = then[3] - power[3] * now[3];
  d.t0 = (real)s0, d.t1 = (real)(s0 - s1), d.t2 = (real)(s0 - 2 * s1 + s2);
  d.t3 = (real)(s0 - 3 * s1 + 3 * s2 - s3);
  d.fade1 = (real)power[0];
  d.fade2 = (real)(missed < fleet->horizon ? power[4] : pow(BETA2, (double)missed));
  return d;
}

DEVICE real drifted(real mean, real square, Drift d) {
  real root = SQRT(square), part = 1 / (root + (real)EPSILON), x = root * part;
  return -mean * part * (d.t0 + x * (d.t1 + x * (d.t2 + x * d.t3)));
}

// ---------------------------------------------------------------- one number of a row

// Move a number by a gradient; its moments move on. What it changes is returned.
DEVICE real moved(real *row, real *mean, real *square, real gradient, Pace pace) {
  real change;
  if (OPTIMIZER == ADAM) {
    *mean = (real)BETA1 * *mean + (real)(1 - BETA1) * gradient;
    *square = (real)BETA2 * *square + (real)(1 - BETA2) * gradient * gradient;
    change = -pace.step * *mean / (SQRT(*square) + (real)EPSILON);
  } else if (OPTIMIZER == ADAGRAD) {
    *square += gradient * gradient;
    change = -pace.rate * gradient / (SQRT(*square) + (real)EPSILON);
  } else {
    change = -pace.rate * gradient;
  }
  *row += change;
  return change;
}

// d score / d row of one number, times a weight; distance: of the query from the row, L2 only.
DEVICE real slope(real q, real row, real weight, real distance) {
  if (MATCH == DOT) return weight * q;
  if (MATCH == L1) return weight * (real)((q > row) - (q < row));
  return distance > 0 ? weight / distance * (q - row) : 0;
}

// What projection multiplies a row with, from the sum of its squares.
DEVICE real projection_of(real squares) {
  real length = SQRT(squares), bound = CONSTRAINT == UNIT ? 1 : (real)MAX_NORM;
  if (length == 0 || (length <= bound && CONSTRAINT != UNIT)) return 1;
  return bound / length;
}

// ---------------------------------------------------------------- the rows of candidates

// A candidate's row, shared by a group of threads: thread l holds packs l, l + GROUP, and so on.
typedef struct { Pack row[PACKS], mean[PACKS], square[PACKS]; Drift drift; } Held;

#define FOR_PACKS(p, k) \
  UNROLL for (int p = 0, k = LANE * PACK; p < PACKS; p++, k += GROUP * PACK) if (k < ROW)
#define FOR_PACK(i) UNROLL for (int i = 0; i < PACK; i++)

DEVICE void load_row(const real *state, Held *held) {
  FOR_PACKS(p, k) held->row[p] = LOAD_PACK(state + k);
}

DEVICE void load_moments(const real *state, Held *held) {
  if (PARTS > 1) FOR_PACKS(p, k) held->square[p] = LOAD_PACK(state + (PARTS - 1) * ROW + k);
  if (PARTS > 2) FOR_PACKS(p, k) held->mean[p] = LOAD_PACK(state + ROW + k);
}

// Bring a row up to date; its moments stay as they are until it is stored.
DEVICE void catch_up(const Fleet *fleet, int row, Held *held, int noting) {
  if (held->drift.fade1 == 1) return;
  real squares = 0;
  FOR_PACKS(p, k) FOR_PACK(i) {
    real change = drifted(held->mean[p].at[i], held->square[p].at[i], held->drift);
    held->row[p].at[i] += change;
    if (TRACKED && noting && k + i < WIDTH) fleet->drift[0][(long long)row * WIDTH + k + i] += change;
    squares += held->row[p].at[i] * held->row[p].at[i];
  }
  if (!CONSTRAINED) return;
  real factor = projection_of(group_sum(squares));
  FOR_PACKS(p, k) FOR_PACK(i) {
    real after = factor * held->row[p].at[i];
    if (TRACKED && noting && k + i < WIDTH)
      fleet->projection[0][(long long)row * WIDTH + k + i] += after - held->row[p].at[i];
    held->row[p].at[i] = after;
  }
}

DEVICE real score_of(const Held *held, const Pack *query, real offset) {
  real total = 0;
  FOR_PACKS(p, k) FOR_PACK(i) {
    real q = query[p].at[i], x = held->row[p].at[i];
    total += MATCH == DOT ? q * x : MATCH == L1 ? FABS(q - x) : (q - x) * (q - x);
  }
  total = group_sum(total);
  return MATCH == DOT ? total + offset : MATCH == L1 ? -total : -SQRT(total);
}

// A thread's part of the query; the offset behind it is no part of it.
DEVICE void load_query(const real *query, Pack *packs) {
  FOR_PACKS(p, k) {
    packs[p] = *(const Pack *)(query + k);
    if (HAS_OFFSET) FOR_PACK(i) if (k + i >= WIDTH) packs[p].at[i] = 0;
  }
}

// What both passes ask of every candidate: its id, and what its row missed.
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

// First pass: every candidate's score. A group without a candidate of its own repeats the last
// one, since all threads of a warp go the same way.
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
      load_row(state, &held[u]);
      if (DEFERRED) {
        load_moments(state, &held[u]);
        held[u].drift = at.drifts[known];
      }
    }
    UNROLL for (int u = 0; u < SCORED; u++) {
      int j = (round + u) * n_groups + group;
      if (DEFERRED) catch_up(fleet, 0, &held[u], 0);
      real score = score_of(&held[u], query, offset);
      if (LANE == 0 && j < n) at.scores[j] = score;
      if (round + u < HELD) {
        real *kept = at.held + ((round + u) * n_groups + group) * ROW;
        FOR_PACKS(p, k) *(Pack *)(kept + k) = held[u].row[p];
      }
    }
  }
}

// What makes d loss / d score of a score: for the softmax, the highest and the sums of all.
typedef struct { real top, others, total; } Contest;

DEVICE Contest contest_of(const real *scores, const int *times, int n) {
  Contest c = {scores[0], 0, 1};
  if (LOSS != SOFTMAX) return c;
  for (int j = THREAD % WARP; j < n; j += WARP) c.top = FMAX(c.top, scores[j]);
  c.top = warp_max(c.top);
  for (int j = THREAD % WARP; j < n; j += WARP)
    if (j > 0) c.others += (DISTINCT ? 1 : times[j]) * EXP(scores[j] - c.top);
  c.others = warp_sum(c.others);
  c.total = c.others + EXP(scores[0] - c.top);
  return c;
}

// d loss / d score of candidate j, for all its draws together.
DEVICE real weight_of(real score, int j, int times, Contest c, int n_drawn, real target) {
  if (LOSS == SQUARED) return score - target;
  if (LOSS == SOFTMAX) return j == 0 ? -c.others / c.total : times * (EXP(score - c.top) / c.total);
  real fade = EXP(-FABS(score));
  real probability = score >= 0 ? 1 / (1 + fade) : fade / (1 + fade);
  return times * ((probability - (j == 0)) / n_drawn);
}

// One update of a candidate's row in its group's hands; what it says of the query is added up.
DEVICE void move_row(
    const Fleet *fleet, int id, int noting, real weight, real distance, const Pack *query,
    Pack *d_query, Pace pace, Held *held) {
  real squares = 0;
  FOR_PACKS(p, k) FOR_PACK(i) {
    real *row = &held->row[p].at[i], *mean = &held->mean[p].at[i], *square = &held->square[p].at[i];
    real gradient = slope(query[p].at[i], *row, weight, distance);
    d_query[p].at[i] += MATCH == DOT ? weight * *row : -gradient;
    if (DEFERRED) *mean *= held->drift.fade1, *square *= held->drift.fade2;
    moved(row, mean, square, gradient, pace);
    if (CONSTRAINED) squares += *row * *row;
  }
  if (!CONSTRAINED) return;
  real factor = projection_of(group_sum(squares));
  FOR_PACKS(p, k) FOR_PACK(i) {
    real after = factor * held->row[p].at[i];
    if (TRACKED && noting && k + i < WIDTH)
      fleet->projection[0][(long long)id * WIDTH + k + i] += after - held->row[p].at[i];
    held->row[p].at[i] = after;
  }
}

// Sum what the groups of a warp say of the query, into one row of `partial`.
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

// Second pass: the negatives' rows are updated; what all candidates say of the query is summed.
// The rows that the fact owns are left for later.
DEVICE void move_candidates(
    const Fleet *fleet, real *entities, const int *times, int n, int subject, int n_drawn,
    real target, Contest contest, Pace pace, Shared at) {
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
      if (round + u < HELD) {
        FOR_PACKS(p, k) held[u].row[p] = *(const Pack *)(at.held + place * ROW + k);
      } else {
        load_row(state, &held[u]);
      }
      load_moments(state, &held[u]);
      if (DEFERRED) held[u].drift = at.drifts[known];
    }
    UNROLL for (int u = 0; u < MOVED; u++) {
      int j = (round + u) * n_groups + group, mine = j < n;
      int known = mine ? j : n - 1, id = at.ids[known], plain = mine && j > 0 && id != subject;
      // A row that was held back is up to date already.
      if (DEFERRED && round + u >= HELD) catch_up(fleet, id, &held[u], plain);
      real score = at.scores[known], weight = 0;
      if (mine) weight = weight_of(score, j, DISTINCT ? 1 : times[j], contest, n_drawn, target);
      if (LANE == 0 && mine && id == subject) *at.weight = weight;
      // MOVED is a multiple of TURNS, so that the compiler knows whose turn it is.
      if (HAS_OFFSET) d_offset[u % TURNS] += weight;
      move_row(fleet, id, plain, weight, -score, query, d_query[u % TURNS], pace, &held[u]);
      real *state = entities + (long long)id * STATE;
      if (plain) {
        FOR_PACKS(p, k) STORE_PACK(state + k, held[u].row[p]);
        if (PARTS > 1) FOR_PACKS(p, k) STORE_PACK(state + (PARTS - 1) * ROW + k, held[u].square[p]);
        if (PARTS > 2) FOR_PACKS(p, k) STORE_PACK(state + ROW + k, held[u].mean[p]);
      }
    }
  }
  UNROLL for (int turn = 0; turn < TURNS; turn++)
    keep_partial(d_query[turn], d_offset[turn], turn * (N_THREADS / WARP) + THREAD / WARP, at);
}

// ---------------------------------------------------------------- the rows that a fact owns

// Subject, relation and object as one run of numbers, which all threads of the block share out.
typedef struct {
  real *state[3];
  int *touched[3];
  Drift drift[3];
  int row[3];
  int there[3];  // 0 for the object of a self-loop, which is the subject
} Own;

#define FOR_OWN(k, which, place)                                                              \
  for (int k = THREAD < OWN_THREADS ? THREAD : OWN, which, place; k < OWN; k += OWN_THREADS)  \
    if (which = k < ROW ? 0 : k < ROW + RELATION_ROW ? 1 : 2,                                 \
        place = which == 0 ? k : which == 1 ? k - ROW : k - ROW - RELATION_ROW, 1)
#define OWN_ROW(which) ((which) == 1 ? RELATION_ROW : ROW)
#define OWN_WIDTH(which) ((which) == 1 ? RELATION_WIDTH : WIDTH)
#define OWN_CONSTRAINED(which) ((which) == 1 ? CONSTRAINED_RELATIONS : CONSTRAINED)

DEVICE void note(real *ledger, const Own *own, int which, int place, real change) {
  if (place < OWN_WIDTH(which)) ledger[(long long)own->row[which] * OWN_WIDTH(which) + place] += change;
}

// Project the rows in `values`, (OWN,), and note it where they are kept.
DEVICE void project_own(const Fleet *fleet, const Own *own, real *values, real *room, int noting) {
  real sums[3] = {0, 0, 0};
  FOR_OWN(k, which, place) sums[which] += values[k] * values[k];
  block_sums(sums, room);
  FOR_OWN(k, which, place) {
    if (!OWN_CONSTRAINED(which)) continue;
    real after = projection_of(sums[which]) * values[k];
    if (TRACKED && noting && own->there[which])
      note(fleet->projection[which == 1], own, which, place, after - values[k]);
    values[k] = after;
  }
}

DEVICE void read_own(const Fleet *fleet, Own *own, int count, Shared at) {
  if (DEFERRED)
    for (int i = 0; i < 3; i++) own->drift[i] = drift_of(fleet, *own->touched[i], count);
  FOR_OWN(k, which, place) {
    const real *state = own->state[which];
    real value = state[place];
    if (DEFERRED && own->drift[which].fade1 != 1) {
      int row = OWN_ROW(which);
      real change = drifted(state[row + place], state[2 * row + place], own->drift[which]);
      if (TRACKED && own->there[which])
        note(fleet->drift[which == 1], own, which, place, change);
      value += change;
    }
    at.own[k] = value;
  }
  // A row that does not lag is projected already.
  if (DEFERRED && (CONSTRAINED || CONSTRAINED_RELATIONS)) project_own(fleet, own, at.own, at.sums, 1);
}

// Add the gradient of l2/2 |x|^2 + n3/3 |x|^3 to a number's, |.| the modulus of complex ones.
DEVICE real regularised(real gradient, const real *row, int place, int width, int parts, int times) {
  if ((L2_WEIGHT == 0 && N3_WEIGHT == 0) || parts == 0 || place >= width) return gradient;
  real x = row[place], square = x * x;
  if (parts == 2) {
    real other = row[place >= width / 2 ? place - width / 2 : place + width / 2];
    square += other * other;
  }
  return gradient + times * ((real)L2_WEIGHT + (real)N3_WEIGHT * SQRT(square)) * x;
}

// One update of the fact's own rows, credited to it; then the constraint.
DEVICE void move_own(
    const Fleet *fleet, Own *own, int fact, int direction, real object_weight, int count, Pace pace,
    Shared at) {
  const real *rows[3] = {at.own, at.own + ROW, at.own + ROW + RELATION_ROW};
  real distance[2] = {0, 0};
  if (MATCH > L1) {  // of the query from the subject, where it is a candidate, and from the object
    real sums[3] = {0, 0, 0};
    for (int k = THREAD < OWN_THREADS ? THREAD : WIDTH; k < WIDTH; k += OWN_THREADS) {
      real to_subject = at.query[k] - rows[0][k], to_object = at.query[k] - rows[2][k];
      sums[0] += to_subject * to_subject;
      sums[1] += to_object * to_object;
    }
    block_sums(sums, at.sums);
    distance[0] = SQRT(sums[0]), distance[1] = SQRT(sums[1]);
  }
  // The gradients of subject and relation stand there already; all are worked out before any row
  // changes, since regularisation looks across a row.
  FOR_OWN(k, which, place) {
    real gradient = which == 2 ? 0 : at.own_next[k];
    real x = at.own[k], q = which == 1 || place >= WIDTH ? 0 : at.query[place];
    if (which == 0) gradient += slope(q, x, place < WIDTH ? *at.weight : 0, distance[0]);
    if (which == 2) gradient += slope(q, x, place < WIDTH ? object_weight : 0, distance[1]);
    int times = which == 0 && !own->there[2] ? 2 : 1;
    int parts = which == 1 ? RELATION_PARTS : ENTITY_PARTS;
    at.own_next[k] = regularised(gradient, rows[which], place, OWN_WIDTH(which), parts, times);
  }
  BARRIER();
  FOR_OWN(k, which, place) {
    if (!own->there[which]) continue;
    int row = OWN_ROW(which);
    real *state = own->state[which], gradient = at.own_next[k];
    real *mean = state + row + place, *square = state + (PARTS - 1) * row + place;
    if (DEFERRED) {
      *mean *= own->drift[which].fade1;
      *square *= own->drift[which].fade2;
    }
    real change = moved(&at.own[k], mean, square, gradient, pace);
    if (TRACKED) note(fleet->owned[which == 1], own, which, place, change);
    if (TRACED && place < OWN_WIDTH(which)) {
      if (SOURCE_CREDIT && OPTIMIZER == ADAM)
        change = -pace.rate * gradient / (SQRT(*square) / pace.correction + (real)EPSILON);
      // Slots: subject, relation, object, inverse relation, of the fact as it is told.
      int is_subject = (which == 0) == (direction == 0) || !own->there[2];
      int start = which == 1 ? WIDTH + direction * (WIDTH + RELATION_WIDTH)
                  : is_subject ? 0 : WIDTH + RELATION_WIDTH;
      fleet->trace[(long long)fact * TRACE_WIDTH + start + place] += change;
    }
  }
  if (CONSTRAINED || CONSTRAINED_RELATIONS) project_own(fleet, own, at.own, at.sums, 1);
  FOR_OWN(k, which, place) if (own->there[which]) own->state[which][place] = at.own[k];
  if (DEFERRED)
    for (int i = THREAD; i < 3; i += N_THREADS)
      if (own->there[i]) *own->touched[i] = count + 1;
}

// Keep the largest norms of rows and the largest |d score / d row| met, as `_measure` on the CPU.
DEVICE void measure(const Fleet *fleet, Shared at) {
  real *rows[3] = {at.own, at.own + ROW, at.own + ROW + RELATION_ROW};
  real squares[3] = {0, 0, 0}, distance[3] = {0, 0, 0}, slopes[3] = {0, 0, 0};
  FOR_OWN(k, which, place) {
    squares[which] += at.own[k] * at.own[k];
    real gap = which == 2 && place < WIDTH ? at.query[place] - at.own[k] : 0;
    distance[0] += gap * gap;
  }
  block_sums(squares, at.sums);
  if (MATCH > L1) block_sums(distance, at.sums);
  real far = SQRT(distance[0]);
  for (int k = THREAD; k < QUERY_WIDTH; k += N_THREADS) {
    real x = k < WIDTH ? rows[2][k] : 0;
    at.d_query[k] = k >= WIDTH ? 1 : MATCH == DOT ? x : -slope(at.query[k], x, 1, far);
  }
  BARRIER();
  query_vjp(rows[0], rows[1], at.d_query, at.own_next, at.own_next + ROW);
  BARRIER();
  FOR_OWN(k, which, place) {
    real d = at.own_next[k];
    if (which == 2) d = place < WIDTH ? slope(at.query[place], at.own[k], 1, far) : 0;
    if (place < OWN_WIDTH(which)) slopes[which] += d * d;
  }
  block_sums(slopes, at.sums);
  if (THREAD == 0) {
    double *meter = fleet->meter;
    meter[2] = fmax(meter[2], sqrt(fmax((double)squares[0], (double)squares[2])));
    meter[3] = fmax(meter[3], sqrt((double)squares[1]));
    double steepest = fmax(fmax((double)slopes[0], (double)slopes[1]), (double)slopes[2]);
    meter[4] = fmax(meter[4], sqrt(steepest));
  }
  BARRIER();
}

DEVICE double loss_of(const real *scores, const int *times, int n, int n_drawn, Contest c, real target) {
  if (LOSS == SQUARED) return (double)(scores[0] - target) * (scores[0] - target) / 2;
  if (LOSS == SOFTMAX) return log((double)c.total) - (double)(scores[0] - c.top);
  double loss = 0;
  for (int j = 0; j < n; j++) {
    double x = j == 0 ? -scores[j] : scores[j];
    loss += (DISTINCT || j == 0 ? 1 : times[j]) * (fmax(x, 0.0) + log1p(exp(-fabs(x))));
  }
  return loss / n_drawn;
}

// ---------------------------------------------------------------- the step

DEVICE void take_step(const Fleet *fleet, int model, int index, const int *step, int count, Shared at) {
  int fact = step[0], subject = step[1], relation = step[2], object = step[3], n = step[4];
  int direction = index % DIRECTIONS;
  int n_drawn = 1 + (direction ? SUBJECT_NEGATIVES : OBJECT_NEGATIVES);
  real *entities = fleet->entities + model * fleet->n_entities * STATE;
  real *relations = fleet->relations + model * fleet->n_relations * RELATION_STATE;
  int *touched = DEFERRED ? fleet->entity_counts + model * fleet->n_entities : 0;
  int *touched_relations = DEFERRED ? fleet->relation_counts + model * fleet->n_relations : 0;
  const int *ids = fleet->candidates + index * fleet->most;
  const int *times = fleet->repeats + index * fleet->most;
  real target = LOSS == SQUARED ? fleet->targets[fact] : 0;
  const double *now = fleet->times + 6 * (count + 1 < fleet->n_times ? count + 1 : fleet->n_times - 1);
  double rate = fleet->rates[index];
  Pace pace = {(real)rate, (real)(OPTIMIZER == ADAM ? rate * now[4] : rate), (real)now[5]};
  Own own = {
      {entities + (long long)subject * STATE, relations + (long long)relation * RELATION_STATE,
       entities + (long long)object * STATE},
      {touched + subject, touched_relations + relation, touched + object},
      {{0, 0, 0, 0, 1, 1}, {0, 0, 0, 0, 1, 1}, {0, 0, 0, 0, 1, 1}},
      {subject, relation, object},
      {1, 1, object != subject}};
  list_candidates(fleet, touched, ids, n, subject, count, at);
  read_own(fleet, &own, count, at);
  BARRIER();
  query(at.own, at.own + ROW, at.query);
  if (THREAD == 0) *at.weight = 0;
  for (int k = QUERY_WIDTH + THREAD; k < QUERY_ROW; k += N_THREADS) at.query[k] = 0;
  BARRIER();
  if (TRACKED) measure(fleet, at);
  score_candidates(fleet, entities, n, at);
  BARRIER();
  Contest contest = contest_of(at.scores, times, n);
  move_candidates(fleet, entities, times, n, subject, n_drawn, target, contest, pace, at);
  BARRIER();
  for (int k = THREAD; k < QUERY_WIDTH; k += N_THREADS) {
    real total = 0;
    for (int w = 0; w < TURNS * (N_THREADS / WARP); w++) total += at.partial[w * QUERY_ROW + k];
    at.d_query[k] = total;
  }
  if (TRACKED && THREAD == 0) {
    fleet->meter[0] += loss_of(at.scores, times, n, n_drawn, contest, target);
    fleet->meter[1] += 1;
  }
  FOR_OWN(k, which, place) if (place >= OWN_WIDTH(which)) at.own_next[k] = 0;
  BARRIER();
  query_vjp(at.own, at.own + ROW, at.d_query, at.own_next, at.own_next + ROW);
  real object_weight = weight_of(at.scores[0], 0, 1, contest, n_drawn, target);
  BARRIER();
  move_own(fleet, &own, fact, direction, object_weight, count, pace, at);
}

DEVICE Shared share_out(real *memory, const Fleet *fleet, int model) {
  int n_warps = N_THREADS / WARP;
  Shared at;
  at.own = memory;
  at.own_next = at.own + OWN;
  at.query = at.own_next + OWN;
  at.d_query = at.query + QUERY_ROW;
  at.partial = at.d_query + QUERY_ROW;
  at.held = at.partial + TURNS * n_warps * QUERY_ROW;
  at.sums = at.held + HELD * (N_THREADS / GROUP) * ROW;
  at.weight = at.sums + 3 * n_warps;
  at.scores = ROOM_SHARED ? at.weight + 1 : (real *)(fleet->room + model * fleet->most * ROOM);
  at.drifts = (Drift *)(at.scores + fleet->most);
  at.ids = DEFERRED ? (int *)(at.drifts + fleet->most) : (int *)(at.scores + fleet->most);
  return at;
}

// One block a model: the steps of a chunk, but for those of removed facts.
KERNEL BOUNDED void train(const Fleet *fleet, int start, int stop) {
  SHARED_MEMORY(real, memory);
  int model = BLOCK;
  const unsigned *removed = fleet->removed + model * fleet->n_words;
  Shared at = share_out(memory, fleet, model);
  long long count = fleet->counts[model];
  for (int index = start; index < stop; index++) {
    const int *step = fleet->steps + 5ll * index;
    int fact = step[0];
    if (fleet->n_words && removed[fact >> 5] >> (fact & 31) & 1) continue;
    take_step(fleet, model, index, step, (int)count, at);
    BARRIER();
    count++;
  }
  if (THREAD == 0) fleet->counts[model] = count;
}

// ---------------------------------------------------------------- after training

// One block a model: all rows that lag behind are brought up to date.
KERNEL void settle(const Fleet *fleet) {
  SHARED_MEMORY(real, room);
  int model = BLOCK, count = (int)fleet->counts[model];
  for (long long i = 0; i < fleet->n_entities + fleet->n_relations; i++) {
    int is_relation = i >= fleet->n_entities;
    long long row = is_relation ? i - fleet->n_entities : i;
    int width = is_relation ? RELATION_ROW : ROW;
    int constrained = is_relation ? CONSTRAINED_RELATIONS : CONSTRAINED;
    real *state = is_relation ? fleet->relations + (model * fleet->n_relations + row) * RELATION_STATE
                              : fleet->entities + (model * fleet->n_entities + row) * STATE;
    int touched = is_relation ? fleet->relation_counts[model * fleet->n_relations + row]
                              : fleet->entity_counts[model * fleet->n_entities + row];
    if (touched >= count) continue;
    Drift d = drift_of(fleet, touched, count);
    real sums[3] = {0, 0, 0};
    for (int k = THREAD; k < width; k += N_THREADS) {
      real change = drifted(state[width + k], state[2 * width + k], d);
      state[k] += change;
      int n = is_relation ? RELATION_WIDTH : WIDTH;
      if (TRACKED && k < n) fleet->drift[is_relation][row * n + k] += change;
      sums[0] += state[k] * state[k];
    }
    if (!constrained) continue;
    block_sums(sums, room);
    for (int k = THREAD; k < width; k += N_THREADS) {
      real after = projection_of(sums[0]) * state[k];
      int n = is_relation ? RELATION_WIDTH : WIDTH;
      if (TRACKED && k < n) fleet->projection[is_relation][row * n + k] += after - state[k];
      state[k] = after;
    }
  }
}

// Scores of all candidates of some predictions in double precision, a block for each.
// asked: (n, 6) model, given, relation, first candidate, one past the last, place in `out`.
KERNEL void stand(const Fleet *fleet, const int *asked, double *out, long long stride) {
  SHARED_MEMORY(double, memory);
  const int *mine = asked + 6ll * BLOCK;
  const real *entities = fleet->entities + mine[0] * fleet->n_entities * STATE;
  const real *relations = fleet->relations + mine[0] * fleet->n_relations * RELATION_STATE;
  double *given = memory, *relation = given + WIDTH, *q = relation + RELATION_WIDTH;
  for (int k = THREAD; k < WIDTH; k += N_THREADS)
    given[k] = entities[(long long)mine[1] * STATE + k];
  for (int k = THREAD; k < RELATION_WIDTH; k += N_THREADS)
    relation[k] = relations[(long long)mine[2] * RELATION_STATE + k];
  BARRIER();
  query_in_double(given, relation, q);
  BARRIER();
  for (int c = mine[3] + THREAD / WARP; c < mine[4]; c += N_THREADS / WARP) {
    const real *row = entities + (long long)c * STATE;
    double total = 0;
    for (int k = THREAD % WARP; k < WIDTH; k += WARP) {
      double x = row[k];
      total += MATCH == DOT ? q[k] * x : MATCH == L1 ? fabs(q[k] - x) : (q[k] - x) * (q[k] - x);
    }
    for (int gap = WARP / 2; gap > 0; gap /= 2) total += SHUFFLE(total, gap);
    if (THREAD % WARP == 0)
      out[mine[5] * stride + c - mine[3]] =
          MATCH == DOT ? total + (HAS_OFFSET ? q[WIDTH] : 0) : MATCH == L1 ? -total : -sqrt(total);
  }
}
