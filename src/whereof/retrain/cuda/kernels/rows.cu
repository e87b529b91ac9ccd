// Sums over threads, rows that threads share, and the update of one number of a row.

DEVICE real group_sum(real x) {
  for (int gap = GROUP / 2; gap > 0; gap /= 2) x += GROUP_SHUFFLE(x, gap);
  return x;
}

// Three sums over the whole block.
DEVICE void block_sums(real sums[3], real *room) {
  for (int i = 0; i < 3; i++) WARP_SUM(sums[i]);
  BARRIER();
  if (THREAD % WARP == 0)
    for (int i = 0; i < 3; i++) room[THREAD / WARP * 3 + i] = sums[i];
  BARRIER();
  for (int i = 0; i < 3; i++) {
    sums[i] = 0;
    for (int w = 0; w < N_THREADS / WARP; w++) sums[i] += room[w * 3 + i];
  }
}

// Four sums of a row's pending drift between two counts, like `_series` on the CPU.
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
  real root = sqrt(square), part = 1 / (root + (real)EPSILON), x = root * part;
  return -mean * part * fma(x, fma(x, fma(x, d.t3, d.t2), d.t1), d.t0);
}

// Update a number and its moments by a gradient; return the change.
DEVICE real moved(real *row, real *mean, real *square, real gradient, Pace pace) {
  real change;
  if (OPTIMIZER == ADAM) {
    *mean = fma((real)BETA1, *mean, (real)(1 - BETA1) * gradient);
    *square = fma((real)BETA2, *square, (real)(1 - BETA2) * gradient * gradient);
    change = -pace.step * *mean / (sqrt(*square) + (real)EPSILON);
  } else if (OPTIMIZER == ADAGRAD) {
    *square = fma(gradient, gradient, *square);
    change = -pace.rate * gradient / (sqrt(*square) + (real)EPSILON);
  } else {
    change = -pace.rate * gradient;
  }
  *row += change;
  return change;
}

// d score / d row for one number, times a weight; distance: between query and row, L2 only.
DEVICE real slope(real q, real row, real weight, real distance) {
  if (MATCH == BY_DOT) return weight * q;
  if (MATCH == BY_L1) return weight * (real)((q > row) - (q < row));
  return distance > 0 ? weight / distance * (q - row) : 0;
}

// The factor by which projection scales a row, from the sum of its squares; 0 if it leaves the row.
DEVICE real factor_of(real squares) {
  real length = sqrt(squares), bound = CONSTRAINT == UNIT ? 1 : (real)MAX_NORM;
  if (length == 0 || (length <= bound && CONSTRAINT != UNIT)) return 0;
  return bound / length;
}

DEVICE real projection_of(real squares) {
  real factor = factor_of(squares);
  return factor > 0 ? factor : 1;
}

// A candidate's row, split over a group of threads: thread l has packs l, l + GROUP, and so on.
// Its parts are the row and its moments, as in memory.
typedef struct { Pack part[PARTS][PACKS]; Drift drift; } Held;

#define MEAN (PARTS > 2)      // the part with the first moments
#define SQUARE (PARTS - 1)    // the part with the second moments

#define FOR_PACKS(p, k) \
  UNROLL for (int p = 0, k = LANE * PACK; p < PACKS; p++, k += GROUP * PACK) if (k < ROW)
#define FOR_PACK(i) UNROLL for (int i = 0; i < PACK; i++)

DEVICE void load_parts(const real *state, int first, int stop, Held *held) {
  UNROLL for (int part = first; part < stop; part++)
    FOR_PACKS(p, k) held->part[part][p] = LOAD_PACK(state + part * ROW + k);
}

DEVICE void store_parts(real *state, int stop, const Held *held) {
  UNROLL for (int part = 0; part < stop; part++)
    FOR_PACKS(p, k) STORE_PACK(state + part * ROW + k, held->part[part][p]);
}
