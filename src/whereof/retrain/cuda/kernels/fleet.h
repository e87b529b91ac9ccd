// Train many models at the same time, one thread block each: the step of the CPU kernels, on a GPU.
//
// The constants of a problem are macros, defined in source.py:
//   real, PACK          the type of numbers, and how many are in 16 bytes
//   WIDTH, ROW          width of an entity row, and padded to whole packs; same for RELATION_*
//   QUERY_WIDTH         WIDTH, or one more if queries have an offset
//   PARTS               row, first and second moment, stored together: 1, 2 or 3 parts
//   STATE               distance between two entity rows; same for RELATION_STATE
//   GROUP, PACKS        threads that share a row, and packs of the row per thread
//   TURNS               partial sums of gradients per group, so that half as many groups sum in
//                       the same order and the result does not depend on their number
//   OWN_THREADS         threads that work on the rows that a fact owns
//   HELD                rounds of candidates whose rows stay in shared memory between passes
//   AHEAD               whether to prefetch the rows of the next step
//   SCORED, MOVED       rows that a group loads at a time in the first and second pass
// and MATCH, LOSS, OPTIMIZER, CONSTRAINT and others, as in Rule. The model's functions query and
// query_vjp come from its declaration.
//
// Except for a few CUDA markers it is plain C, so that tests can compile it for the CPU.
//
// First come the differences between CUDA and plain C. On the CPU, a warp has LANES threads,
// one by default; the caller sets the number of threads of a block.

typedef unsigned long long u64;
#define GOLDEN 0x9E3779B97F4A7C15ull

#ifndef ON_CPU

#define ALIGNED(n) __align__(n)
#define DEVICE static __device__ __forceinline__
#define KERNEL extern "C" __global__
#define BOUNDED __launch_bounds__(THREADS, BLOCKS)
#define UNROLL _Pragma("unroll")
#define THREAD ((int)threadIdx.x)
#define N_THREADS ((int)blockDim.x)
#define BLOCK ((int)blockIdx.x)
#define N_BLOCKS ((int)gridDim.x)
#define WARP 32
#define BARRIER() __syncthreads()
#define SHUFFLE(x, gap) __shfl_xor_sync(0xffffffffu, x, gap)
#define GROUP_MASK (GROUP == 32 ? 0xffffffffu : ((1u << GROUP) - 1u) << (THREAD % 32 / GROUP * GROUP))
#define GROUP_SHUFFLE(x, gap) __shfl_xor_sync(GROUP_MASK, x, gap)
#define FETCH(address) asm volatile("prefetch.global.L2 [%0];" ::"l"(address))
#define SHARED_MEMORY(type, name)                      \
  extern __shared__ __align__(16) char shared_bytes[]; \
  type *name = (type *)shared_bytes

#else

#include <pthread.h>
#include <stdlib.h>
#include <tgmath.h>  // cos and others return floats for floats, as in CUDA

#ifndef LANES
#define LANES 1
#endif
#define ALIGNED(n) __attribute__((aligned(n)))
#define DEVICE static inline
#define KERNEL static
#define BOUNDED
#define UNROLL
#define WARP LANES
#define SHUFFLE(x, gap) passed(x, gap, warp_barrier)
#define GROUP_SHUFFLE(x, gap) passed(x, gap, group_barrier)
#define FETCH(address) __builtin_prefetch(address)

static _Thread_local int THREAD, N_THREADS, BLOCK, N_BLOCKS;
static _Thread_local char *block_memory;
static _Thread_local double *block_passed;  // one number per thread
static _Thread_local pthread_barrier_t *block_barrier, *warp_barrier, *group_barrier;
#define BARRIER() pthread_barrier_wait(block_barrier)
#define SHARED_MEMORY(type, name) type *name = (type *)block_memory

// The number of the thread at distance `gap`; all threads of the barrier call this.
static inline double passed(double x, int gap, pthread_barrier_t *barrier) {
  block_passed[THREAD] = x;
  pthread_barrier_wait(barrier);
  double found = block_passed[THREAD ^ gap];
  pthread_barrier_wait(barrier);
  return found;
}

#endif

// A loop whose rounds the threads of a block share.
#define FOR_EACH(k, n) for (int k = THREAD; k < (n); k += N_THREADS)
#define LANE (THREAD % GROUP)
#define LOAD_PACK(from) (*(const Pack *)(from))
#define STORE_PACK(to, pack) (*(Pack *)(to) = (pack))

#ifdef DOUBLE
typedef double real;
#define PACK 2
#define SQRT sqrt
#define EXP exp
#define FABS fabs
#define FMAX fmax
#define FMA fma
#else
typedef float real;
#define PACK 4
#define SQRT sqrtf
#define EXP expf
#define FABS fabsf
#define FMAX fmaxf
#define FMA fmaf
#endif

#define DOT 0
#define L1 1
#define L2 2
#define SOFTMAX 0
#define SIGMOID 1
#define SQUARED 2
#define SGD 0
#define ADAGRAD 1
#define ADAM 2
#define UNIT 1

#define OWN (2 * ROW + RELATION_ROW)  // numbers of the rows that a fact owns: subject, relation, object
#define HAS_OFFSET (QUERY_WIDTH > WIDTH)

// The data of a launch. Every field takes 8 bytes; fleet.py lists them in the same order.
typedef struct {
  real *entities, *relations;             // (models, rows, PARTS * row)
  int *entity_counts, *relation_counts;   // (models, rows) count at which a row is up to date; `adam` only
  const unsigned *removed;                // (models, words) one bit per fact: removed or not
  long long *counts;                      // (models,) number of updates so far
  const int *facts;                       // (n_facts, 3)
  const int *order;                       // (n_facts,) fact ids of the epoch
  int *steps;                             // (chunk, 5) fact, subject, relation, object, candidates
  int *candidates, *repeats;              // (chunk, most) distinct ids; number of draws of each
  const double *rates;                    // (chunk,)
  const double *times;                    // (n_times, 6) by count: four tails, step, correction
  const double *powers;                   // (horizon, 5) by counts missed: four powers, beta2's
  const real *targets;                    // (n_facts,) targets of the squared loss
  real *trace;                            // (n_facts, TRACE_WIDTH)
  real *owned[2], *drift[2], *projection[2];  // ledgers of entities and relations, unpadded
  double *meter;                          // loss, facts, entity norm, relation norm, slope
  char *room;                             // (models, ROOM) bytes, if shared memory is too small
  long long n_entities, n_relations, n_facts, n_words, most, n_times, horizon, first, epoch;
} Fleet;

typedef struct { real at[PACK]; } ALIGNED(16) Pack;

// The coefficients of one update, like Pace on the CPU.
typedef struct { real rate, step, correction; } Pace;

// A row's drift: four sums, and the decay of its moments.
typedef struct { real t0, t1, t2, t3, fade1, fade2; } Drift;

// Data that the threads of a block share.
typedef struct {
  real *own;       // (OWN,) rows of the fact before the step
  real *own_next;  // (OWN,) their gradients
  real *query;     // (QUERY_ROW,)
  real *d_query;   // (QUERY_ROW,)
  real *partial;   // (TURNS, warps, QUERY_ROW) partial sums of d_query
  real *sums;      // (warps, 3)
  real *held;      // (HELD, groups, ROW)
  real *weight;    // (1,) weight of the subject as a candidate
  real *scores;    // (most,), like the next two
  int *ids;
  Drift *drifts;   // `adam` only
} Shared;
