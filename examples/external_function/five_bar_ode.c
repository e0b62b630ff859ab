/* The five-bar leg as external functions of CasADi and acados, over its independent coordinates.
 *
 *     five_bar_ode       (x, f) -> xdot                     x = (hip angles, hip speeds), f = hip torques
 *     jac_five_bar_ode   (x, f, -) -> d xdot/dx, d xdot/df  CasADi finds it by its name
 *     five_bar_vde_forw  (x, Sx, Sf, f) -> xdot, A Sx, A Sf + B, with A, B those derivatives: acados' forward sensitivities
 *
 * CasADi counts in long long, acados in int: -DINDEX=int.  Matrices are column by column, as both expect.  The
 * functions keep no state: the loop is closed anew from the reference, so that x alone decides the result.
 */
#include "five_bar_derivatives.h"
#include "five_bar_motion.h"

#ifndef INDEX
#define INDEX long long
#endif

#define D FIVE_BAR_NU /* coordinates; each has its own motor, and FIVE_BAR_NF == D */
#define N (2 * D)     /* states */

typedef struct {
    double q[FIVE_BAR_NQ];
    double u[D];
    double f[D];
} state;

/* A null argument stands for zeros. */
static double entry(const double *values, int i)
{
    return values ? values[i] : 0.0;
}

static int closed(const double *x, const double *f, state *at)
{
    five_bar_updater w;
    five_bar_update_limits limits;
    five_bar_update_report report;
    double q0[FIVE_BAR_NQ];
    five_bar_reference(q0);
    five_bar_update_limits_default(&limits);
    int status = five_bar_updater_start(&w, q0, &report);
    for (int i = 0; i < D; ++i) {
        status |= five_bar_updater_set(&w, i, entry(x, i));
        at->u[i] = entry(x, D + i);
        at->f[i] = entry(f, i);
    }
    if (!status) {
        status = five_bar_updater_update(&w, &limits, &report);
    }
    for (int i = 0; !status && i < FIVE_BAR_NQ; ++i) {
        at->q[i] = w.q[i];
    }
    return status;
}

static int rates(const state *at, double *xdot)
{
    double udot[D];
    const int status = five_bar_forward_dynamics(at->q, at->u, at->f, udot);
    for (int i = 0; xdot && i < D; ++i) {
        xdot[i] = at->u[i];
        xdot[D + i] = udot[i];
    }
    return status;
}

/* A (N x N) and B (N x D), column by column. */
static int slopes(const state *at, double A[N * N], double B[N * D])
{
    double by_s[D * D], by_u[D * D], by_f[D * D];
    const int status = five_bar_forward_dynamics_derivatives(at->q, at->u, at->f, by_s, by_u, by_f);
    for (int j = 0; j < D; ++j) {
        for (int i = 0; i < D; ++i) {
            A[N * j + i] = 0.0;
            A[N * j + D + i] = by_s[D * i + j]; /* s are increments of the hip angles themselves */
            A[N * (D + j) + i] = i == j ? 1.0 : 0.0;
            A[N * (D + j) + D + i] = by_u[D * i + j];
            B[N * j + i] = 0.0;
            B[N * j + D + i] = by_f[D * i + j];
        }
    }
    return status;
}

/* to = A S + B (B may be null), N x `columns` */
static void product(const double *A, const double *S, const double *B, int columns, double *to)
{
    for (int j = 0; to && j < columns; ++j) {
        for (int i = 0; i < N; ++i) {
            double sum = entry(B, N * j + i);
            for (int k = 0; k < N; ++k) {
                sum += A[N * k + i] * entry(S, N * j + k);
            }
            to[N * j + i] = sum;
        }
    }
}

/* --- what CasADi and acados ask of a function --- */

static const INDEX states[] = {N, 1, 1}, efforts[] = {D, 1, 1}, by_states[] = {N, N, 1}, by_efforts[] = {N, D, 1};
static const INDEX unused[] = {N, 1, 0, 0}; /* an input without nonzeros */

#define DESCRIBE(name, inputs, outputs)                                                                                \
    INDEX name##_n_in(void);                                                                                           \
    INDEX name##_n_out(void);                                                                                          \
    const INDEX *name##_sparsity_in(INDEX i);                                                                          \
    const INDEX *name##_sparsity_out(INDEX i);                                                                         \
    int name##_work(INDEX *sz_arg, INDEX *sz_res, INDEX *sz_iw, INDEX *sz_w);                                          \
    int name(const double **arg, double **res, INDEX *iw, double *w, int mem);                                         \
    INDEX name##_n_in(void) { return (INDEX)(sizeof inputs / sizeof *inputs); }                                        \
    INDEX name##_n_out(void) { return (INDEX)(sizeof outputs / sizeof *outputs); }                                     \
    const INDEX *name##_sparsity_in(INDEX i) { return i >= 0 && i < name##_n_in() ? inputs[i] : 0; }                   \
    const INDEX *name##_sparsity_out(INDEX i) { return i >= 0 && i < name##_n_out() ? outputs[i] : 0; }                \
    int name##_work(INDEX *sz_arg, INDEX *sz_res, INDEX *sz_iw, INDEX *sz_w)                                           \
    {                                                                                                                  \
        if (sz_arg) *sz_arg = name##_n_in();                                                                           \
        if (sz_res) *sz_res = name##_n_out();                                                                          \
        if (sz_iw) *sz_iw = 0;                                                                                         \
        if (sz_w) *sz_w = 0;                                                                                           \
        return 0;                                                                                                      \
    }                                                                                                                  \
    int name(const double **arg, double **res, INDEX *iw, double *w, int mem)

static const INDEX *const ode_in[] = {states, efforts}, *const ode_out[] = {states};
static const INDEX *const jac_in[] = {states, efforts, unused}, *const jac_out[] = {by_states, by_efforts};
static const INDEX *const vde_in[] = {states, by_states, by_efforts, efforts};
static const INDEX *const vde_out[] = {states, by_states, by_efforts};

DESCRIBE(five_bar_ode, ode_in, ode_out)
{
    state at;
    (void)iw, (void)w, (void)mem;
    const int status = closed(arg[0], arg[1], &at);
    return status ? status : rates(&at, res[0]);
}

DESCRIBE(jac_five_bar_ode, jac_in, jac_out)
{
    state at;
    double A[N * N], B[N * D];
    (void)iw, (void)w, (void)mem;
    int status = closed(arg[0], arg[1], &at);
    if (status || (status = slopes(&at, A, B)) != 0) {
        return status;
    }
    for (int i = 0; res[0] && i < N * N; ++i) {
        res[0][i] = A[i];
    }
    for (int i = 0; res[1] && i < N * D; ++i) {
        res[1][i] = B[i];
    }
    return 0;
}

DESCRIBE(five_bar_vde_forw, vde_in, vde_out)
{
    state at;
    double A[N * N], B[N * D];
    (void)iw, (void)w, (void)mem;
    int status = closed(arg[0], arg[3], &at);
    if (status || (status = rates(&at, res[0])) != 0 || (status = slopes(&at, A, B)) != 0) {
        return status;
    }
    product(A, arg[1], 0, N, res[1]);
    product(A, arg[2], B, D, res[2]);
    return 0;
}
