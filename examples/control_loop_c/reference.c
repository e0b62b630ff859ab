#include "reference.h"

#include <math.h>

#define PI 3.14159265358979323846
#define POSE_TOLERANCE 1e-12 /* m and rad */
#define POSE_ITERATIONS 6

/* A number with its first two derivatives by time. */
typedef struct {
    double x, v, a;
} course;

/* Phase from 0 to two turns, at rest at both ends: 4 pi (10 s^3 - 15 s^4 + 6 s^5). */
static course phase(double t)
{
    const double s = fmin(fmax(t / MOTION_TIME, 0.0), 1.0), r = 1.0 - s;
    const double rate = 4.0 * PI / MOTION_TIME;
    const course c = {4.0 * PI * s * s * s * (10.0 + s * (6.0 * s - 15.0)), rate * 30.0 * s * s * r * r,
        rate / MOTION_TIME * 60.0 * s * r * (r - s)};
    return c;
}

/* amplitude sin(k c) */
static course wave(double amplitude, double k, course c)
{
    const double S = sin(k * c.x), C = cos(k * c.x);
    const course y = {amplitude * S, amplitude * k * C * c.v, amplitude * k * (C * c.a - k * S * c.v * c.v)};
    return y;
}

void platform_motion(double t, const double R0[9], const double p0[3], pose_reference *wanted)
{
    static const double axis[3] = {2.0 / 7.0, 3.0 / 7.0, 6.0 / 7.0}; /* roll, pitch and yaw together */
    const course c = phase(t), place[3] = {wave(0.05, 1.0, c), wave(0.04, 2.0, c), wave(0.02, 3.0, c)};
    const course angle = wave(0.15, 1.0, c);
    const double S = sin(angle.x), K = 1.0 - cos(angle.x);
    for (int i = 0; i < 3; ++i) {
        wanted->p[i] = p0[i] + place[i].x;
        wanted->V[i] = axis[i] * angle.v;
        wanted->A[i] = axis[i] * angle.a;
        wanted->V[3 + i] = place[i].v;
        wanted->A[3 + i] = place[i].a;
    }
    for (int j = 0; j < 3; ++j) { /* a turn about a fixed axis: R = R0 + sin [n] R0 + (1 - cos) [n][n] R0 */
        const double x = R0[j], y = R0[3 + j], z = R0[6 + j], along = axis[0] * x + axis[1] * y + axis[2] * z;
        wanted->R[j] = x + S * (axis[1] * z - axis[2] * y) + K * (axis[0] * along - x);
        wanted->R[3 + j] = y + S * (axis[2] * x - axis[0] * z) + K * (axis[1] * along - y);
        wanted->R[6 + j] = z + S * (axis[0] * y - axis[1] * x) + K * (axis[2] * along - z);
    }
}

/* x = A^-1 b by elimination with row exchanges.  0, or STEWART_SMALL_PIVOT. */
static int solve(const double A[36], const double b[6], double x[6])
{
    double W[6][7];
    for (int i = 0; i < 6; ++i) {
        for (int j = 0; j < 6; ++j) {
            W[i][j] = A[6 * i + j];
        }
        W[i][6] = b[i];
    }
    for (int k = 0; k < 6; ++k) {
        int best = k;
        for (int i = k + 1; i < 6; ++i) {
            best = fabs(W[i][k]) > fabs(W[best][k]) ? i : best;
        }
        if (!(fabs(W[best][k]) > 1e-9)) {
            return STEWART_SMALL_PIVOT; /* the legs do not determine the platform here */
        }
        for (int j = 0; j < 7; ++j) {
            const double kept = W[k][j];
            W[k][j] = W[best][j];
            W[best][j] = kept;
        }
        for (int i = k + 1; i < 6; ++i) {
            const double factor = W[i][k] / W[k][k];
            for (int j = k; j < 7; ++j) {
                W[i][j] -= factor * W[k][j];
            }
        }
    }
    for (int i = 5; i >= 0; --i) {
        x[i] = W[i][6];
        for (int j = i + 1; j < 6; ++j) {
            x[i] -= W[i][j] * x[j];
        }
        x[i] /= W[i][i];
    }
    return STEWART_OK;
}

/* The twist that takes (R, p) to the wanted pose, to first order; its largest entry is returned. */
static double pose_error(const double R[9], const double p[3], const pose_reference *wanted, double e[6])
{
    double largest = 0.0, D[9]; /* wanted R times R transposed */
    for (int i = 0; i < 9; ++i) {
        const double *a = wanted->R + 3 * (i / 3), *b = R + 3 * (i % 3);
        D[i] = a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    }
    e[0] = 0.5 * (D[7] - D[5]);
    e[1] = 0.5 * (D[2] - D[6]);
    e[2] = 0.5 * (D[3] - D[1]);
    for (int i = 0; i < 3; ++i) {
        e[3 + i] = wanted->p[i] - p[i];
    }
    for (int i = 0; i < 6; ++i) {
        largest = fmax(largest, fabs(e[i]));
    }
    return largest;
}

int follow_pose(leg_reference *legs, const pose_reference *wanted, const stewart_update_limits *limits)
{
    double R[9], p[3], J[6 * STEWART_NU], e[6], step[6];
    stewart_update_report report;
    for (int iteration = 0;; ++iteration) { /* Newton: J dl = pose error; the updater closes the loops for dl */
        int status = stewart_pose(STEWART_FRAME_PLATFORM, legs->at.q, R, p);
        status |= stewart_task_jacobian(STEWART_FRAME_PLATFORM, legs->at.q, J);
        if (status) {
            return status;
        }
        if (pose_error(R, p, wanted, e) < POSE_TOLERANCE) {
            break;
        }
        status = iteration < POSE_ITERATIONS ? solve(J, e, step) : STEWART_NOT_CONVERGED;
        if (status) {
            return status;
        }
        for (int i = 0; i < STEWART_NU; ++i) {
            stewart_updater_advance(&legs->at, i, step[i]);
        }
        status = stewart_updater_update(&legs->at, limits, &report);
        if (status) {
            stewart_updater_revert(&legs->at);
            return status; /* a leg's limit, say: report.coordinate and report.side would tell */
        }
    }
    /* V = J u, and A = J udot + (what remains at udot = 0) */
    const double rest[STEWART_NU] = {0.0};
    double drift[6];
    int status = solve(J, wanted->V, legs->u);
    if (!status) {
        status = stewart_frame_acceleration(STEWART_FRAME_PLATFORM, legs->at.q, legs->u, rest, drift);
    }
    for (int i = 0; i < 6; ++i) {
        e[i] = wanted->A[i] - drift[i];
    }
    return status ? status : solve(J, e, legs->udot);
}
