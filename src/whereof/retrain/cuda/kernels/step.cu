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
#define LEDGER(name, is_relation) ((is_relation) ? fleet->name##_relations : fleet->name)
#define OWN_ROW(which) ((which) == 1 ? RELATION_ROW : ROW)
#define OWN_WIDTH(which) ((which) == 1 ? RELATION_WIDTH : WIDTH)
#define OWN_CONSTRAINED(which) ((which) == 1 ? CONSTRAINED_RELATIONS : CONSTRAINED)

DEVICE Own own_of(const Fleet *fleet, int model, int subject, int relation, int object) {
  real *entities = fleet->entities + model * fleet->n_entities * STATE;
  real *relations = fleet->relations + model * fleet->n_relations * RELATION_STATE;
  int *touched = DEFERRED ? fleet->entity_counts + model * fleet->n_entities : 0;
  int *touched_relations = DEFERRED ? fleet->relation_counts + model * fleet->n_relations : 0;
  Own own = {
      {entities + (long long)subject * STATE, relations + (long long)relation * RELATION_STATE,
       entities + (long long)object * STATE},
      {touched + subject, touched_relations + relation, touched + object},
      {{0, 0, 0, 0, 1, 1}, {0, 0, 0, 0, 1, 1}, {0, 0, 0, 0, 1, 1}},
      {subject, relation, object},
      {1, 1, object != subject}};
  return own;
}

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
      note(LEDGER(projection, which == 1), own, which, place, after - values[k]);
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
        note(LEDGER(drift, which == 1), own, which, place, change);
      value += change;
    }
    at.own[k] = value;
  }
  if (DEFERRED && (CONSTRAINED || CONSTRAINED_RELATIONS)) project_own(fleet, own, at.own, at.sums, 1);
}

// Add the gradient of l2/2 |x|^2 + n3/3 |x|^3, where |.| is the modulus of complex numbers.
DEVICE real regularised(real gradient, const real *row, int place, int width, int parts, real times) {
  if ((L2 == 0 && N3 == 0) || parts == 0 || place >= width) return gradient;
  real x = row[place], square = x * x;
  if (parts == 2) {
    real other = row[place >= width / 2 ? place - width / 2 : place + width / 2];
    square += other * other;
  }
  return gradient + times * ((real)L2 + (real)N3 * sqrt(square)) * x;
}

// Distances from the query to the subject and to the object; L2 only.
DEVICE void distances_of(Shared at, real distance[3]) {
  if (MATCH != BY_L2) return;
  for (int k = THREAD < OWN_THREADS ? THREAD : WIDTH; k < WIDTH; k += OWN_THREADS) {
    real to_subject = at.query[k] - at.own[k], to_object = at.query[k] - at.own[ROW + RELATION_ROW + k];
    distance[0] += to_subject * to_subject;
    distance[1] += to_object * to_object;
  }
  block_sums(distance, at.sums);
  distance[0] = sqrt(distance[0]), distance[1] = sqrt(distance[1]);
}

// Complete the gradients of the fact's own rows; those of the query are there already.
DEVICE void fill_gradients(int is_loop, real object_weight, real fact_weight, Shared at) {
  const real *rows[3] = {at.own, at.own + ROW, at.own + ROW + RELATION_ROW};
  real distance[3] = {0, 0, 0};
  distances_of(at, distance);
  FOR_OWN(k, which, place) {
    real gradient = which == 2 ? 0 : at.own_next[k];
    real x = at.own[k], q = which == 1 || place >= WIDTH ? 0 : at.query[place];
    if (which == 0) gradient += slope(q, x, place < WIDTH ? *at.weight : 0, distance[0]);
    if (which == 2) gradient += slope(q, x, place < WIDTH ? object_weight : 0, distance[1]);
    real times = (which == 0 && is_loop ? 2 : 1) * fact_weight;
    int parts = which == 1 ? RELATION_PARTS : ENTITY_PARTS;
    at.own_next[k] = regularised(gradient, rows[which], place, OWN_WIDTH(which), parts, times);
  }
  BARRIER();
}

// Update the fact's own rows, credit the change to the fact, then apply the constraint.
DEVICE void move_own(
    const Fleet *fleet, Own *own, int fact, int direction, int count, Pace pace, Shared at) {
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
    if (TRACKED) note(LEDGER(owned, which == 1), own, which, place, change);
    if (TRACED && place < OWN_WIDTH(which)) {
      if (SOURCE_CREDIT && OPTIMIZER == ADAM)
        change = -pace.rate * gradient / (sqrt(*square) / pace.correction + (real)EPSILON);
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
  const real *object = at.own + ROW + RELATION_ROW;
  real squares[3] = {0, 0, 0}, distance[3] = {0, 0, 0}, slopes[3] = {0, 0, 0};
  FOR_OWN(k, which, place) squares[which] += at.own[k] * at.own[k];
  block_sums(squares, at.sums);
  distances_of(at, distance);
  for (int k = THREAD; k < QUERY_WIDTH; k += N_THREADS) {
    real x = k < WIDTH ? object[k] : 0;
    at.d_query[k] = k >= WIDTH ? 1 : MATCH == BY_DOT ? x : -slope(at.query[k], x, 1, distance[1]);
  }
  BARRIER();
  query_vjp(at.own, at.own + ROW, at.d_query, at.own_next, at.own_next + ROW);
  BARRIER();
  FOR_OWN(k, which, place) {
    real d = at.own_next[k];
    if (which == 2) d = place < WIDTH ? slope(at.query[place], at.own[k], 1, distance[1]) : 0;
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
DEVICE double loss_of(const real *scores, const int *times, int n, Contest c) {
  if (LOSS == SQUARED) return (double)(scores[0] - c.target) * (scores[0] - c.target) / 2;
  if (LOSS == SOFTMAX) return log((double)c.total) - (double)(scores[0] - c.top);
  double loss = 0;
  for (int j = THREAD; j < n; j += WARP) {
    double x = j == 0 ? -scores[j] : scores[j];
    loss += (DISTINCT || j == 0 ? 1 : times[j]) * (fmax(x, 0.0) + log1p(exp(-fabs(x))));
  }
  WARP_SUM(loss);
  return loss / c.n_drawn;
}

// The coefficients of the update after which the count is `count`.
DEVICE Pace pace_of(const Fleet *fleet, int index, int count) {
  const double *now = fleet->times + 6 * (count < fleet->n_times ? count : fleet->n_times - 1);
  double rate = fleet->rates[index];
  Pace pace = {(real)rate, (real)(OPTIMIZER == ADAM ? rate * now[4] : rate), (real)now[5]};
  return pace;
}

// One step of one model, and the loop over the steps of a launch.

DEVICE void take_step(
    const Fleet *fleet, int model, int index, const int *step, real fact_weight, int count, Shared at) {
  int fact = step[0], subject = step[1], relation = step[2], object = step[3], n = step[4];
  int direction = index % N_DIRECTIONS;
  real *entities = fleet->entities + model * fleet->n_entities * STATE;
  int *touched = DEFERRED ? fleet->entity_counts + model * fleet->n_entities : 0;
  const int *ids = fleet->candidates + index * fleet->most;
  const int *times = fleet->repeats + index * fleet->most;
  Pace pace = pace_of(fleet, index, count + 1);
  Own own = own_of(fleet, model, subject, relation, object);
  Kept *log = LOGGED && fleet->logs ? logged_rows(fleet, index) : 0;
  if (log) keep_pair(fleet, index, own.state[0], own.state[1], n, count);
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
  Contest contest = contest_of(fleet, fact, fact_weight, direction, at.scores, times, n);
  move_candidates(fleet, entities, times, n, subject, contest, pace, log, at);
  BARRIER();
  for (int k = THREAD; k < QUERY_WIDTH; k += N_THREADS) {
    real total = 0;
    for (int w = 0; w < TURNS * (N_THREADS / WARP); w++) total += at.partial[w * QUERY_ROW + k];
    at.d_query[k] = total;
  }
  if (TRACKED && THREAD < WARP) {
    double loss = loss_of(at.scores, times, n, contest);
    if (THREAD == 0) fleet->meter[0] += (double)contest.fact_weight * loss, fleet->meter[1] += 1;
  }
  FOR_OWN(k, which, place) if (place >= OWN_WIDTH(which)) at.own_next[k] = 0;
  BARRIER();
  query_vjp(at.own, at.own + ROW, at.d_query, at.own_next, at.own_next + ROW);
  real object_weight = weight_of(at.scores[0], 0, 1, contest);
  BARRIER();
  // All gradients are computed before any row changes, because regularisation reads whole rows.
  fill_gradients(!own.there[2], object_weight, contest.fact_weight, at);
  move_own(fleet, &own, fact, direction, count, pace, at);
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
  at.scores = ROOM_SHARED ? at.weight + 1 : (real *)(fleet->room + (long long)model * ROOM);
  at.drifts = (Drift *)(at.scores + fleet->most);
  at.ids = DEFERRED ? (int *)(at.drifts + fleet->most) : (int *)(at.scores + fleet->most);
  return at;
}

// Prefetch the rows of a later step.
DEVICE void fetch_ahead(const Fleet *fleet, int model, int index) {
  const int *ids = fleet->candidates + index * fleet->most, *step = fleet->steps + 5ll * index;
  const real *entities = fleet->entities + model * fleet->n_entities * STATE;
  for (int j = THREAD; j <= step[4]; j += N_THREADS) {  // one more: the subject
    const real *row = entities + (long long)(j < step[4] ? ids[j] : step[1]) * STATE;
    for (int k = 0; k < STATE; k += 128 / (int)sizeof(real)) FETCH(row + k);
  }
}

// One block per model: the steps of a chunk, without those of facts whose weight is 0. The weights of
// removed facts are multiplied by the model's factor, or are 0.
KERNEL BOUNDED void train(const Fleet *fleet, int start, int stop) {
  SHARED_MEMORY(real, memory);
  int model = BLOCK;
  const unsigned *removed = fleet->removed + model * fleet->n_words;
  Shared at = share_out(memory, fleet, model);
  long long count = fleet->counts[model];
  for (int index = start; index < stop; index++) {
    const int *step = fleet->steps + 5ll * index;
    int fact = step[0];
    double weight = WEIGHTED ? fleet->weights[fact] : 1;
    if (fleet->n_words && removed[fact >> 5] >> (fact & 31) & 1)
      weight *= fleet->factors ? fleet->factors[model] : 0;
    if (weight == 0) continue;
    if (AHEAD && index + 1 < stop) fetch_ahead(fleet, model, index + 1);
    take_step(fleet, model, index, step, (real)weight, (int)count, at);
    BARRIER();
    count++;
  }
  if (THREAD == 0) fleet->counts[model] = count;
}

// One block per model: apply the pending drift of all rows, an entity and a relation at a time.
KERNEL BOUNDED void settle(const Fleet *fleet) {
  SHARED_MEMORY(real, memory);
  Shared at = share_out(memory, fleet, BLOCK);
  int n_entities = (int)fleet->n_entities, n_relations = (int)fleet->n_relations;
  for (int i = 0; i < n_entities || i < n_relations; i++) {
    int entity = i < n_entities ? i : 0, relation = i < n_relations ? i : 0;
    Own own = own_of(fleet, BLOCK, entity, relation, entity);
    own.there[0] = i < n_entities, own.there[1] = i < n_relations;
    read_own(fleet, &own, (int)fleet->counts[BLOCK], at);
    FOR_OWN(k, which, place) if (own.there[which]) own.state[which][place] = at.own[k];
  }
}
