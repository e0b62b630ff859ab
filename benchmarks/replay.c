/* The same inputs through the motion layer in several forms: replay ROWS COUNT ROUNDS CONFIGURATIONS
 *
 * Compiled with PREFIX, MACRO and HEADER; replay_data.h gives `coordinate`, the place in q of every input (-1: not set).
 * ROWS holds COUNT rows of doubles: NU inputs, then NP parameters.  The forms take turns within each of ROUNDS rounds:
 * 0 direct     updates without prediction, continuation and acquisition
 * 1 predicted  with prediction along the lift, still without those
 * 2 continued  `follow`, by which every point of the way passes the full acceptance
 * 3 global     no dependency index: lift, move, correct and check the whole robot at every row
 * 4 every      as 1, but every input moves by NUDGE to and fro, so that the index excludes no module
 * Prints one line of JSON with the thread's processor time per row; the configurations of round 0 go to the file.
 */
#define _POSIX_C_SOURCE 199309L
#include HEADER
#include "replay_data.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define F(name) JOIN(PREFIX, name)
#define M(name) JOIN(MACRO, name)
#define FORMS 5
#define GLOBAL 3
#define EVERY 4
#define NUDGE 1e-13 /* rad or m */
#if M(_NP)
#define P(p) , p
#else
#define P(p)
#endif

typedef struct {
    long accepted, evaluations, points, modes[5];
    double residual;
} totals;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

/* One global update of q: everything is moved, solved and checked.  0 or a status. */
static int everything(double *q, const double *row, totals *sum)
{
    double du[M(_NU)], v[M(_NV)], moved[M(_NQ)], rho[M(_NR) + 1], E[M(_NV) * M(_NU)];
    const double *p = row + M(_NU);
    int status = F(_lift)(q P(p), E); /* what an updater keeps for its prediction, here for the whole robot */
    (void)p;
    for (int i = 0; i < M(_NU); ++i) {
        du[i] = coordinate[i] < 0 ? 0.0 : row[i] - q[coordinate[i]];
    }
    for (int k = 0; k < M(_NV); ++k) {
        v[k] = 0.0;
        for (int i = 0; i < M(_NU); ++i) {
            v[k] += E[k * M(_NU) + i] * du[i];
        }
    }
    F(_integrate)(q, v P(p), moved);
    for (int i = 0; i < M(_NU); ++i) {
        if (coordinate[i] >= 0) {
            moved[coordinate[i]] = row[i];
        }
    }
    status |= F(_correct)(moved P(p), M(_TOLERANCE), M(_MAX_ITERATIONS), moved, 0);
    if (status) {
        return status;
    }
    F(_residual)(moved P(p), rho);
    for (int k = 0; k < M(_NR); ++k) {
        sum->residual = fmax(sum->residual, fabs(rho[k]));
    }
    memcpy(q, moved, sizeof moved);
    return 0;
}

static int updated(
    F(_updater) * w, const F(_update_limits) * limits, const double *row, int follow, double nudge, totals *sum)
{
    F(_update_report) report;
    for (int i = 0; i < M(_NU); ++i) {
        if (coordinate[i] >= 0) {
            F(_updater_set)(w, i, row[i] + nudge);
        } else if (nudge != 0.0) {
            F(_updater_advance)(w, i, nudge);
        }
    }
#if M(_NP)
    F(_updater_set_parameters)(w, row + M(_NU));
#endif
    const int status = follow ? F(_follow)(w, limits, &report) : F(_updater_update)(w, limits, &report);
    sum->evaluations += report.evaluations;
    sum->points += report.points;
    if (status) {
        F(_updater_revert)(w);
        return status;
    }
    ++sum->modes[report.mode];
    sum->residual = fmax(sum->residual, report.residual);
    return 0;
}

int main(int count, char **words)
{
    if (count != 5) {
        return 2;
    }
    const long rows = atol(words[2]), rounds = atol(words[3]), width = M(_NU) + M(_NP);
    double *table = (double *)malloc(sizeof(double) * (size_t)(rows * width)), q0[M(_NQ)], q[M(_NQ)];
    double *times = (double *)malloc(sizeof(double) * (size_t)(rounds * FORMS));
    FILE *in = fopen(words[1], "rb"), *out = fopen(words[4], "wb");
    F(_updater) *first = (F(_updater) *)calloc(1, sizeof *first), *w = (F(_updater) *)calloc(1, sizeof *w);
    totals sums[FORMS];
    F(_update_report) report;
    memset(sums, 0, sizeof sums);
    if (!table || !times || !in || !out || !first || !w ||
        fread(table, sizeof(double), (size_t)(rows * width), in) != (size_t)(rows * width)) {
        return 2;
    }
    F(_reference)(q0);
    if (F(_updater_start)(first, q0 P(table + M(_NU)), &report)) {
        return 3;
    }
    for (long round = 0; round < rounds; ++round) {
        for (int form = 0; form < FORMS; ++form) {
            F(_update_limits) limits;
            totals sum;
            F(_update_limits_default)(&limits);
            limits.predict = form != 0;
            if (form != 2) {
                limits.substeps = limits.homotopy = 0;
            }
            memset(&sum, 0, sizeof sum);
            memcpy(w, first, sizeof *w);
            memcpy(q, q0, sizeof q);
            const double start = now();
            for (long k = 0; k < rows; ++k) {
                const double *row = table + k * width;
                const double nudge = form != EVERY ? 0.0 : k % 2 ? NUDGE : -NUDGE;
                const int status = form == GLOBAL ? everything(q, row, &sum) : updated(w, &limits, row, form == 2, nudge, &sum);
                sum.accepted += !status;
                if (!round) {
                    fwrite(form == GLOBAL ? q : w->q, sizeof q, 1, out);
                }
            }
            times[round * FORMS + form] = (now() - start) / (double)rows;
            sums[form] = sum;
        }
    }
    fclose(out);
    printf("{\"times\": [");
    for (long k = 0; k < rounds * FORMS; ++k) {
        printf("%s%.6g", k ? ", " : "", times[k]);
    }
    printf("], \"forms\": [");
    for (int form = 0; form < FORMS; ++form) {
        const totals *s = sums + form;
        printf("%s{\"accepted\": %ld, \"evaluations\": %ld, \"points\": %ld, \"residual\": %.3g, \"modes\": [%ld, %ld, %ld, %ld, %ld]}",
            form ? ", " : "", s->accepted, s->evaluations, s->points, s->residual, s->modes[0], s->modes[1], s->modes[2],
            s->modes[3], s->modes[4]);
    }
    printf("]}\n");
    return 0;
}
