// Train many models at the same time, one thread block each: the step of the CPU kernels, on a GPU.
//
// Before this file, source.py defines the constants of a problem as macros (see Sizes, Layout and
// Rule, whose names are there in capitals), the type `real` and the struct Fleet. The functions query
// and query_vjp come from the declaration of the model.
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
// Add x over the threads of a warp. Every thread gets the sum, in the same order.
#define WARP_SUM(x) for (int gap = WARP / 2; gap > 0; gap /= 2) x += SHUFFLE(x, gap)
#define LOAD_PACK(from) (*(const Pack *)(from))
#define STORE_PACK(to, pack) (*(Pack *)(to) = (pack))

enum { DOT, L1, L2 };
enum { SOFTMAX, SIGMOID, SQUARED };
enum { SGD, ADAGRAD, ADAM };
enum { NO_CONSTRAINT, UNIT };

#define OWN (2 * ROW + RELATION_ROW)  // numbers of the rows that a fact owns: subject, relation, object
#define HAS_OFFSET (QUERY_WIDTH > WIDTH)

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
