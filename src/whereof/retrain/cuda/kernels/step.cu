// One step of one model, and the loop over the steps of a launch.

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
  if (TRACKED && THREAD < WARP) {
    double loss = loss_of(at.scores, times, n, n_drawn, contest, target);
    if (THREAD == 0) fleet->meter[0] += loss, fleet->meter[1] += 1;
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

// One block per model: the steps of a chunk, without those of removed facts.
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
    if (AHEAD && index + 1 < stop) fetch_ahead(fleet, model, index + 1);
    take_step(fleet, model, index, step, (int)count, at);
    BARRIER();
    count++;
  }
  if (THREAD == 0) fleet->counts[model] = count;
}

// After training: apply pending drift, and score predictions.

// One block per model: apply the pending drift of all rows.
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

// Scores of all candidates of some predictions in double precision, one block per prediction.
// asked: (n, 6) model, given entity, relation row, first candidate, one past the last, place in `out`.
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
