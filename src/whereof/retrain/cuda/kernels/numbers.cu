// Sums over threads, and what happens to one number of a row.

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
  return -mean * part * FMA(x, FMA(x, FMA(x, d.t3, d.t2), d.t1), d.t0);
}

// Move a number by a gradient; its moments move on. What it changes is returned.
DEVICE real moved(real *row, real *mean, real *square, real gradient, Pace pace) {
  real change;
  if (OPTIMIZER == ADAM) {
    *mean = FMA((real)BETA1, *mean, (real)(1 - BETA1) * gradient);
    *square = FMA((real)BETA2, *square, (real)(1 - BETA2) * gradient * gradient);
    change = -pace.step * *mean / (SQRT(*square) + (real)EPSILON);
  } else if (OPTIMIZER == ADAGRAD) {
    *square = FMA(gradient, gradient, *square);
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
