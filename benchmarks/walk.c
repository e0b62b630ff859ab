/* A random walk of the inputs through the motion layer of one robot: walk STEPS SEED SIZE PREDICT SAMPLES
 *
 * Compiled with PREFIX, MACRO and HEADER; walk_data.h gives `scale`, one unit of every input.  Every step moves all
 * inputs or a single one by a uniform increment up to SIZE units; what an update refuses is taken back.  Prints one line
 * of numbers as JSON, and writes accepted configurations to the file SAMPLES.
 */
#define _POSIX_C_SOURCE 199309L
#include HEADER
#include "walk_data.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define F(name) JOIN(PREFIX, name)
#define M(name) JOIN(MACRO, name)

static unsigned long long state;

/* xorshift64*, uniform in (-1, 1). */
static double uniform(void)
{
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (double)((state * 2685821657736338717ULL) >> 11) / 4503599627370496.0 - 1.0;
}

static int ascending(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

int main(int count, char **arguments)
{
    if (count != 6) {
        return 2;
    }
    const long steps = atol(arguments[1]);
    const double size = atof(arguments[3]);
    state = 88172645463325252ULL + 977ULL * strtoull(arguments[2], 0, 10);
    FILE *samples = fopen(arguments[5], "wb");
    float *micros = (float *)malloc(sizeof(float) * (size_t)steps);
    F(_updater) *w = (F(_updater) *)calloc(1, sizeof(F(_updater)));
    F(_updater) *before = (F(_updater) *)calloc(1, sizeof(F(_updater)));
    F(_updater) *again = (F(_updater) *)calloc(1, sizeof(F(_updater)));
    F(_update_limits) limits;
    F(_update_report) report;
    double q[M(_NQ)], worst = 0.0, evaluations = 0.0;
    long modes[5] = {0}, refused[12] = {0}, bad = 0, changed = 0, differs = 0, most = 0;
    if (!samples || !micros || !w || !before || !again) {
        return 2;
    }
    F(_update_limits_default)(&limits);
    limits.predict = atoi(arguments[4]);
    F(_reference)(q);
#if M(_NP)
    double p[M(_NP)];
    F(_default_parameters)(p);
    if (F(_updater_start)(w, q, p, &report)) {
#else
    if (F(_updater_start)(w, q, &report)) {
#endif
        return 3;
    }
    for (long step = 0; step < steps; ++step) {
        const int all = uniform() > 0.0;
        const int only = (int)(M(_NU) * 0.5 * (1.0 + uniform()));
        for (int i = 0; i < M(_NU); ++i) {
            if (all || i == only) {
                F(_updater_advance)(w, i, size * scale[i] * uniform());
            }
        }
        memcpy(before, w, sizeof *w);
        const double start = now();
        const int status = F(_updater_update)(w, &limits, &report);
        micros[step] = (float)(now() - start);
        if (micros[step] > 5.0F) { /* another process may have had the processor: the same update again, from the copy */
            for (int repeat = 0; repeat < 5; ++repeat) {
                memcpy(again, before, sizeof *again);
                const double begin = now();
                F(_updater_update)(again, &limits, &report);
                micros[step] = fminf(micros[step], (float)(now() - begin));
            }
            differs += memcmp(again, w, sizeof *w) != 0;
        }
        evaluations += report.evaluations;
        most = report.evaluations > most ? report.evaluations : most;
        if (status) {
            int bit = 0;
            while (bit < 11 && !(status >> bit & 1)) {
                ++bit;
            }
            ++refused[bit];
            changed += memcmp(before, w, sizeof *w) != 0;
            F(_updater_revert)(w);
            continue;
        }
        ++modes[report.mode];
        worst = fmax(worst, report.residual);
        for (int i = 0; i < M(_NQ); ++i) {
            bad += !(fabs(w->q[i]) < 1e9);
        }
        if (step % (steps / 200 + 1) == 0) {
            fwrite(w->q, sizeof w->q, 1, samples);
        }
    }
    fclose(samples);
    qsort(micros, (size_t)steps, sizeof(float), ascending);
    printf("{\"median\": %.4g, \"p99\": %.4g, \"p9999\": %.4g, \"worst\": %.4g, \"residual\": %.3g, \"not_finite\": %ld, "
           "\"state_changed\": %ld, \"not_repeated\": %ld, \"evaluations\": %.4g, \"most\": %ld, \"modes\": [%ld, %ld, %ld, %ld, %ld], \"refused\": [",
        (double)micros[steps / 2], (double)micros[steps - 1 - steps / 100], (double)micros[steps - 1 - steps / 10000],
        (double)micros[steps - 1], worst, bad, changed, differs, evaluations / (double)steps, most, modes[0], modes[1], modes[2],
        modes[3], modes[4]);
    for (int i = 0; i < 12; ++i) {
        printf("%ld%s", refused[i], i < 11 ? ", " : "]}\n");
    }
    free(micros);
    free(w);
    free(before);
    free(again);
    return 0;
}
