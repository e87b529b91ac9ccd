// The input of a step: its fact, and candidates drawn with the same bits as on the CPU.

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

// Negative j of a step, from `count` ids starting at `first`, without the true object.
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

// One block per step: the fact at its position, and its candidates. Repeated draws are
// listed once, in order of first appearance, with their count.
KERNEL void draw(const Fleet *fleet, int n_steps) {
  SHARED_MEMORY(int, drawn);
  for (int step = BLOCK; step < n_steps; step += N_BLOCKS) {
    int direction = step % N_DIRECTIONS;
    int fact = fleet->order[fleet->first + step / N_DIRECTIONS];
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
