#include "plant.h"

/* q moved by the increments du of the legs; the other joints follow so that the loops stay closed. */
static int moved(const double q[STEWART_NQ], const double du[STEWART_NU], double to[STEWART_NQ])
{
    double v[STEWART_NV];
    const int status = stewart_velocity(q, du, v);
    if (status) {
        return status;
    }
    stewart_integrate(q, v, to);
    return stewart_correct(to, STEWART_TOLERANCE, STEWART_MAX_ITERATIONS, to, 0);
}

static int acceleration(const plant *robot, const double f[STEWART_NF], double udot[STEWART_NU])
{
    double J[6 * STEWART_NU], tau[STEWART_NU] = {0.0};
    const int status = stewart_task_jacobian(STEWART_FRAME_PLATFORM, robot->q, J);
    if (status) {
        return status;
    }
    for (int row = 0; row < 3; ++row) { /* virtual work: tau = J^T w */
        for (int i = 0; i < STEWART_NU; ++i) {
            tau[i] += J[STEWART_NU * (3 + row) + i] * robot->force[row];
        }
    }
    return stewart_forward_dynamics_with(robot->q, robot->u, f, tau, udot);
}

int plant_step(plant *robot, const double f[STEWART_NF], double h)
{
    static const double node[4] = {0.0, 0.5, 0.5, 1.0}, weight[4] = {1.0 / 6.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 6.0};
    double du[STEWART_NU] = {0.0}, dv[STEWART_NU] = {0.0}, way[STEWART_NU], udot[STEWART_NU] = {0.0};
    plant at = *robot;
    for (int stage = 0; stage < 4; ++stage) {
        int status = STEWART_OK;
        if (stage > 0) {
            for (int i = 0; i < STEWART_NU; ++i) {
                way[i] = h * node[stage] * at.u[i];
                at.u[i] = robot->u[i] + h * node[stage] * udot[i];
            }
            status = moved(robot->q, way, at.q);
        }
        if (status || (status = acceleration(&at, f, udot)) != STEWART_OK) {
            return status;
        }
        for (int i = 0; i < STEWART_NU; ++i) {
            du[i] += h * weight[stage] * at.u[i];
            dv[i] += h * weight[stage] * udot[i];
        }
    }
    const int status = moved(robot->q, du, at.q);
    if (status) {
        return status;
    }
    for (int i = 0; i < STEWART_NU; ++i) {
        at.u[i] = robot->u[i] + dv[i];
    }
    *robot = at;
    return STEWART_OK;
}
