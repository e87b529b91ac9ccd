// Train many models at the same time, one thread block each: the step of the CPU kernels, on a GPU.
//
// Before this file, source.py defines the constants of a problem as macros (see Sizes, Layout and
// Rule, whose names are there in capitals), the type `real` and the struct Fleet. The functions query
// and query_vjp come from the declaration of the model.
//
// Except for the macros between #ifndef and #endif it is plain C: tests define them in another way,
// to compile the kernels for the CPU.

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

#endif

// A loop whose rounds the threads of a block share.
#define FOR_EACH(k, n) for (int k = THREAD; k < (n); k += N_THREADS)
#define LANE (THREAD % GROUP)
// Add x over the threads of a warp. Every thread gets the sum, in the same order.
#define WARP_SUM(x) for (int gap = WARP / 2; gap > 0; gap /= 2) x += SHUFFLE(x, gap)
#define LOAD_PACK(from) (*(const Pack *)(from))
#define STORE_PACK(to, pack) (*(Pack *)(to) = (pack))

enum { BY_DOT, BY_L1, BY_L2 };
enum { SOFTMAX, SIGMOID, SQUARED };
enum { SGD, ADAGRAD, ADAM };
enum { NO_CONSTRAINT, UNIT };

#define OWN (2 * ROW + RELATION_ROW)  // numbers of the rows that a fact owns: subject, relation, object
#define WIDTH ENTITY_WIDTH
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
