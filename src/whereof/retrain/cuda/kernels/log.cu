// The rows that the steps of a segment touch, as they are before each step: the negatives and the
// object, then the subject, then the relation.

#define KEPT_STEP ((long long)(MOST + 1) * KEPT_STATE + KEPT_RELATION_STATE)

DEVICE Kept *logged_rows(const Fleet *fleet, int index) {
  return fleet->log + (index - fleet->log_first) * KEPT_STEP;
}

DEVICE void keep_row(const Held *held, Kept *to) {
  UNROLL for (int part = 0; part < PARTS; part++) FOR_PACKS(p, k) {
    Kept *pack = to + part * KEPT_ROW + k;
    if (sizeof(Kept) == sizeof(real))
      STORE_PACK(pack, held->part[part][p]);
    else
      FOR_PACK(i) if (k + i < KEPT_ROW) pack[i] = held->part[part][p].at[i];
  }
}

DEVICE void keep_rows(const Fleet *fleet, int model, int index, const int *step, int count) {
  const real *entities = fleet->entities + model * fleet->n_entities * STATE;
  const real *relation = fleet->relations + (model * fleet->n_relations + step[2]) * RELATION_STATE;
  const int *ids = fleet->candidates + index * fleet->most;
  int n = step[4], n_groups = N_THREADS / GROUP, group = THREAD / GROUP;
  Kept *rows = logged_rows(fleet, index), *to = rows + (MOST + 1) * KEPT_STATE;
  for (int round = 0; round * n_groups <= n; round += SCORED) {
    Held held[SCORED];
    UNROLL for (int u = 0; u < SCORED; u++) {
      int j = (round + u) * n_groups + group, id = j < n ? ids[j] : step[1];
      load_parts(entities + (long long)id * STATE, 0, PARTS, &held[u]);
    }
    UNROLL for (int u = 0; u < SCORED; u++) {
      int j = (round + u) * n_groups + group;
      if (j <= n) keep_row(&held[u], rows + (long long)j * KEPT_STATE);
    }
  }
  for (int part = 0; part < PARTS; part++)
    FOR_EACH(k, KEPT_RELATION_ROW) to[part * KEPT_RELATION_ROW + k] = relation[part * RELATION_ROW + k];
  if (THREAD == 0) fleet->marks[2 * (index - fleet->log_first)] = count + 1;
}
