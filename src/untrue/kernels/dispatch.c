/* Which of the compiled instruction sets this machine has. */
#include "kernels.h"

extern const struct instruction_set untrue_baseline;
#ifdef HAS_AVX2
extern const struct instruction_set untrue_avx2;
#endif
#ifdef HAS_AVX512
extern const struct instruction_set untrue_avx512;
#endif

const struct instruction_set *const *untrue_instruction_sets(void)
{
    static const struct instruction_set *found[4];
    int n = 0;
#if defined(HAS_AVX2) || defined(HAS_AVX512)
    __builtin_cpu_init();
#endif
#ifdef HAS_AVX512
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw"))
        found[n++] = &untrue_avx512;
#endif
#ifdef HAS_AVX2
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        found[n++] = &untrue_avx2;
#endif
    found[n++] = &untrue_baseline;
    found[n] = NULL;
    return found;
}
