// The rows that the steps of a segment touch, as they are before each step: the candidates, then the
// subject, then the relation.

#define KEPT_STEP ((long long)(MOST + 1) * KEPT_STATE + KEPT_RELATION_STATE)

DEVICE Kept *logged_rows(const Fleet *fleet, int index) {
  return fleet->log + (index - fleet->log_first) * KEPT_STEP;
}

// Log a candidate's row, which its group has loaded.
DEVICE void keep_row(const Held *held, Kept *to) {
  UNROLL for (int part = 0; part < PARTS; part++) FOR_PACKS(p, k) {
    Kept *pack = to + part * KEPT_ROW + k;
    if (sizeof(Kept) == sizeof(real))
      STORE_PACK(pack, held->part[part][p]);
    else
      FOR_PACK(i) if (k + i < KEPT_ROW) pack[i] = held->part[part][p].at[i];
  }
}

// Log a fact's subject and relation, and the count after its step.
DEVICE void keep_pair(
    const Fleet *fleet, int index, const real *subject, const real *relation, int n, int count) {
  Kept *rows = logged_rows(fleet, index), *to = rows + (long long)n * KEPT_STATE;
  Kept *to_relation = rows + (MOST + 1) * KEPT_STATE;
  for (int part = 0; part < PARTS; part++) {
    FOR_EACH(k, KEPT_ROW) to[part * KEPT_ROW + k] = subject[part * ROW + k];
    FOR_EACH(k, KEPT_RELATION_ROW)
      to_relation[part * KEPT_RELATION_ROW + k] = relation[part * RELATION_ROW + k];
  }
  if (THREAD == 0) fleet->marks[2 * (index - fleet->log_first)] = count + 1;
}
