// The rows that a fact owns: subject, relation and object, updated by the whole block.

// Subject, relation and object as one sequence of numbers, split over all threads of the block.
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

// Project the rows in `values`, (OWN,), or only those with pending drift.
DEVICE void project_own(const Fleet *fleet, const Own *own, real *values, real *room, int lagging) {
  real sums[3] = {0, 0, 0};
  FOR_OWN(k, which, place) sums[which] += values[k] * values[k];
  block_sums(sums, room);
  FOR_OWN(k, which, place) {
    if (!OWN_CONSTRAINED(which) || (lagging && own->drift[which].fade1 == 1)) continue;
    real after = projection_of(sums[which]) * values[k];
    if (TRACKED && own->there[which])
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
  if (DEFERRED && (CONSTRAINED || CONSTRAINED_RELATIONS)) project_own(fleet, own, at.own, at.sums, 1);
}

// Add the gradient of l2/2 |x|^2 + n3/3 |x|^3, where |.| is the modulus of complex numbers.
DEVICE real regularised(real gradient, const real *row, int place, int width, int parts, int times) {
  if ((L2_WEIGHT == 0 && N3_WEIGHT == 0) || parts == 0 || place >= width) return gradient;
  real x = row[place], square = x * x;
  if (parts == 2) {
    real other = row[place >= width / 2 ? place - width / 2 : place + width / 2];
    square += other * other;
  }
  return gradient + times * ((real)L2_WEIGHT + (real)N3_WEIGHT * SQRT(square)) * x;
}

// Update the fact's own rows, credit the change to the fact, then apply the constraint.
DEVICE void move_own(
    const Fleet *fleet, Own *own, int fact, int direction, real object_weight, int count, Pace pace,
    Shared at) {
  const real *rows[3] = {at.own, at.own + ROW, at.own + ROW + RELATION_ROW};
  real distance[2] = {0, 0};
  if (MATCH == L2) {  // distances from the query to the subject, if it is a candidate, and to the object
    real sums[3] = {0, 0, 0};
    for (int k = THREAD < OWN_THREADS ? THREAD : WIDTH; k < WIDTH; k += OWN_THREADS) {
      real to_subject = at.query[k] - rows[0][k], to_object = at.query[k] - rows[2][k];
      sums[0] += to_subject * to_subject;
      sums[1] += to_object * to_object;
    }
    block_sums(sums, at.sums);
    distance[0] = SQRT(sums[0]), distance[1] = SQRT(sums[1]);
  }
  // The gradients of subject and relation are there already. All are computed before any row
  // changes, because regularisation reads whole rows.
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
      // Slots of the fact as stored: subject, relation, object, inverse relation.
      int is_subject = (which == 0) == (direction == 0) || !own->there[2];
      int start = which == 1 ? WIDTH + direction * (WIDTH + RELATION_WIDTH)
                  : is_subject ? 0 : WIDTH + RELATION_WIDTH;
      fleet->trace[(long long)fact * TRACE_WIDTH + start + place] += change;
    }
  }
  if (CONSTRAINED || CONSTRAINED_RELATIONS) project_own(fleet, own, at.own, at.sums, 0);
  FOR_OWN(k, which, place) if (own->there[which]) own->state[which][place] = at.own[k];
  if (DEFERRED)
    for (int i = THREAD; i < 3; i += N_THREADS)
      if (own->there[i]) *own->touched[i] = count + 1;
}

// Update the largest row norms and the largest |d score / d row|, like `_measure` on the CPU.
DEVICE void measure(const Fleet *fleet, Shared at) {
  real *rows[3] = {at.own, at.own + ROW, at.own + ROW + RELATION_ROW};
  real squares[3] = {0, 0, 0}, distance[3] = {0, 0, 0}, slopes[3] = {0, 0, 0};
  FOR_OWN(k, which, place) {
    squares[which] += at.own[k] * at.own[k];
    real gap = which == 2 && place < WIDTH ? at.query[place] - at.own[k] : 0;
    distance[0] += gap * gap;
  }
  block_sums(squares, at.sums);
  if (MATCH == L2) block_sums(distance, at.sums);
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

// The loss of a step, summed by one warp.
DEVICE double loss_of(const real *scores, const int *times, int n, int n_drawn, Contest c, real target) {
  if (LOSS == SQUARED) return (double)(scores[0] - target) * (scores[0] - target) / 2;
  if (LOSS == SOFTMAX) return log((double)c.total) - (double)(scores[0] - c.top);
  double loss = 0;
  for (int j = THREAD; j < n; j += WARP) {
    double x = j == 0 ? -scores[j] : scores[j];
    loss += (DISTINCT || j == 0 ? 1 : times[j]) * (fmax(x, 0.0) + log1p(exp(-fabs(x))));
  }
  for (int gap = WARP / 2; gap > 0; gap /= 2) loss += SHUFFLE(loss, gap);
  return loss / n_drawn;
}
