// When training is over: rows brought up to date, and how predictions score.

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
