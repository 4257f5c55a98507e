/* What `rows.h` and `cost_rows.h` are written in, by whether logits (Z) and costs (R) are float64.
 * Included before each of their inclusions, so it has no guard. */
#undef Z
#undef R
#undef TYPED
#undef FOR_R
#undef EXP
#undef LOG
#undef INVERSE
#undef LOAD_Z
#undef LOAD_SOME_Z
#undef STORE_Z
#undef STORE_SOME_Z
#undef LOAD_R
#undef LOAD_SOME_R
#undef FULL
#undef FULL_LANES
#undef LOAD_FULL
#undef GREATER
#undef GREATEST
#undef HAS_EQUAL

#if Z_IS_DOUBLE
#define Z double
#define EXP exp_double
#define LOG log_double
#define INVERSE inverse_double
#define LOAD_Z load_double
#define LOAD_SOME_Z load_some_doubles
#define STORE_Z store_double
#define STORE_SOME_Z store_some_doubles
/* A vector filled with logits as they are. */
#define FULL doubles
#define FULL_LANES LANES
#define LOAD_FULL load_double
#define GREATER greater
#define GREATEST greatest_lane
#define HAS_EQUAL has_equal
#else
#define Z float
#define EXP exp_single
#define LOG log_single
#define INVERSE inverse_single
#define LOAD_Z load_float
#define LOAD_SOME_Z load_some_floats
#define STORE_Z store_float
#define STORE_SOME_Z store_some_floats
#define FULL floats
#define FULL_LANES WIDE
#define LOAD_FULL load_floats
#define GREATER greater_floats
#define GREATEST greatest_float
#define HAS_EQUAL has_equal_float
#endif

#if R_IS_DOUBLE
#define R double
#define FOR_R(name) name##_double
#define LOAD_R load_double
#define LOAD_SOME_R load_some_doubles
#else
#define R float
#define FOR_R(name) name##_float
#define LOAD_R load_float
#define LOAD_SOME_R load_some_floats
#endif

#if Z_IS_DOUBLE && R_IS_DOUBLE
#define TYPED(name) name##_double_double
#elif Z_IS_DOUBLE
#define TYPED(name) name##_double_float
#elif R_IS_DOUBLE
#define TYPED(name) name##_float_double
#else
#define TYPED(name) name##_float_float
#endif
