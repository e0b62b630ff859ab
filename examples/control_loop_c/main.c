/* A control loop of 1 kHz on a six-legged platform, with no Python: control [--no-wait] [--no-feedforward] [--cycles N]
 *
 * Every millisecond: the platform's reference pose becomes leg lengths, speeds and accelerations; inverse dynamics gives
 * the efforts of that motion; a PD law adds what the legs are off; the plant, here a simulation, moves on.
 */
#define _POSIX_C_SOURCE 200112L

#include "plant.h"
#include "reference.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PERIOD 1e-3      /* s */
#define STIFFNESS 4e4    /* N/m of every leg */
#define DAMPING 800.0    /* N s/m */
#define LARGEST 900.0    /* N, the legs' limit */

typedef struct {
    int wait;
    int feedforward;
    long cycles;
} options;

static int parse(int count, char **words, options *given)
{
    for (int i = 1; i < count; ++i) {
        if (!strcmp(words[i], "--no-wait")) {
            given->wait = 0;
        } else if (!strcmp(words[i], "--no-feedforward")) {
            given->feedforward = 0;
        } else if (!strcmp(words[i], "--cycles") && i + 1 < count && (given->cycles = atol(words[i + 1])) > 0) {
            ++i;
        } else {
            fprintf(stderr, "usage: %s [--no-wait] [--no-feedforward] [--cycles N]\n", words[0]);
            return 0;
        }
    }
    return 1;
}

static double microseconds(struct timespec from, struct timespec to)
{
    return 1e6 * (double)(to.tv_sec - from.tv_sec) + 1e-3 * (double)(to.tv_nsec - from.tv_nsec);
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Efforts for the measured q and u.  The ports are the independents here (l = u), so L is the identity and f = tau. */
static int control(const leg_reference *legs, const plant *measured, int feedforward, double f[STEWART_NF])
{
    double l[STEWART_NF], wanted[STEWART_NF], tau[STEWART_NU] = {0.0};
    const int status = feedforward ? stewart_inverse_dynamics(legs->at.q, legs->u, legs->udot, tau) : STEWART_OK;
    stewart_port_displacement(measured->q, l);
    stewart_port_displacement(legs->at.q, wanted);
    for (int i = 0; i < STEWART_NF; ++i) {
        const double effort = tau[i] + STIFFNESS * (wanted[i] - l[i]) + DAMPING * (legs->u[i] - measured->u[i]);
        f[i] = fmax(-LARGEST, fmin(LARGEST, effort));
    }
    return status;
}

static int ports_are_independents(const double q[STEWART_NQ])
{
    double L[STEWART_NF * STEWART_NU], off = 0.0;
    if (stewart_port_map(q, L) != STEWART_OK) {
        return 0;
    }
    for (int i = 0; i < STEWART_NF * STEWART_NU; ++i) {
        off = fmax(off, fabs(L[i] - (i % STEWART_NU == i / STEWART_NU ? 1.0 : 0.0)));
    }
    return off < 1e-12;
}

/* How far the worst leg is from where it should be, m. */
static double tracking_error(const leg_reference *legs, const plant *robot)
{
    double l[STEWART_NF], wanted[STEWART_NF], worst = 0.0;
    stewart_port_displacement(robot->q, l);
    stewart_port_displacement(legs->at.q, wanted);
    for (int i = 0; i < STEWART_NF; ++i) {
        worst = fmax(worst, fabs(wanted[i] - l[i]));
    }
    return worst;
}

static void print(const leg_reference *legs, const plant *robot, double worst_error)
{
    double l[STEWART_NF];
    printf("worst tracking error %.4e m\nwanted", worst_error);
    stewart_port_displacement(legs->at.q, l);
    for (int i = 0; i < STEWART_NF; ++i) {
        printf(" %.12f", l[i]);
    }
    printf("\nactual");
    stewart_port_displacement(robot->q, l);
    for (int i = 0; i < STEWART_NF; ++i) {
        printf(" %.12f", l[i]);
    }
    printf("\n");
}

/* Runs the loop; micros gets the controller's time of every cycle.  0, or the status that ended it. */
static int run(const options *given, double *micros, long *late)
{
    static leg_reference legs; /* zero speeds */
    plant robot = {.force = {0.0, 20.0, 0.0}};
    pose_reference wanted;
    stewart_update_limits limits;
    stewart_update_report report;
    double R0[9], p0[3], f[STEWART_NF], worst = 0.0;
    struct timespec begin, end, next;

    stewart_reference(robot.q);
    stewart_update_limits_default(&limits);
    limits.substeps = limits.homotopy = 0; /* small steps only: a fixed worst case */
    limits.work = 8;
    int status = stewart_updater_start(&legs.at, robot.q, &report);
    status |= stewart_pose(STEWART_FRAME_PLATFORM, robot.q, R0, p0);
    if (status || !ports_are_independents(robot.q)) {
        return status ? status : -1;
    }
    clock_gettime(CLOCK_MONOTONIC, &next);
    for (long k = 0; k < given->cycles; ++k) {
        clock_gettime(CLOCK_MONOTONIC, &begin);
        platform_motion(PERIOD * (double)k, R0, p0, &wanted);
        status = follow_pose(&legs, &wanted, &limits);
        if (!status) {
            status = control(&legs, &robot, given->feedforward, f);
        }
        clock_gettime(CLOCK_MONOTONIC, &end);
        micros[k] = microseconds(begin, end);
        worst = fmax(worst, tracking_error(&legs, &robot));
        if (status || (status = plant_step(&robot, f, PERIOD)) != STEWART_OK) {
            fprintf(stderr, "cycle %ld: status %d\n", k, status);
            return status;
        }
        if (given->wait) {
            next.tv_nsec += (long)(1e9 * PERIOD);
            next.tv_sec += next.tv_nsec / 1000000000L;
            next.tv_nsec %= 1000000000L;
            clock_gettime(CLOCK_MONOTONIC, &end);
            *late += microseconds(next, end) > 0.0;
            clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, 0);
        }
    }
    print(&legs, &robot, worst);
    return STEWART_OK;
}

int main(int count, char **words)
{
    options given = {1, 1, 5000};
    long late = 0;
    if (!parse(count, words, &given)) {
        return 2;
    }
    double *micros = malloc(sizeof(double) * (size_t)given.cycles);
    const int status = micros ? run(&given, micros, &late) : -1;
    if (!status) {
        qsort(micros, (size_t)given.cycles, sizeof(double), ascending);
        printf("controller: median %.1f us, worst %.1f us of %.0f us", micros[given.cycles / 2], micros[given.cycles - 1],
            1e6 * PERIOD);
        printf(given.wait ? ", %ld of %ld cycles late\n" : ", not waiting\n", late, given.cycles);
    }
    free(micros);
    return status != 0;
}
