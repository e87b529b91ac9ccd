// What CUDA and a plain C compiler say differently. On the CPU a warp has LANES threads, one unless
// told; a block has as many threads as the caller asks for.

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
#include <tgmath.h>  // cos and others of floats are floats, as in CUDA

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
static _Thread_local double *block_passed;  // a number of every thread
static _Thread_local pthread_barrier_t *block_barrier, *warp_barrier, *group_barrier;
#define BARRIER() pthread_barrier_wait(block_barrier)
#define SHARED_MEMORY(type, name) type *name = (type *)block_memory

// The number of the thread `gap` away; all threads of the barrier ask for one.
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
