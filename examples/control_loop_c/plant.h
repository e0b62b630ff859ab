/* The platform as the controller meets it: forward dynamics, integrated. */
#ifndef PLANT_H
#define PLANT_H

#include "stewart.h"

typedef struct {
    double q[STEWART_NQ];
    double u[STEWART_NU];
    double force[3]; /* N, world axes, on the platform's origin: what the controller does not know */
} plant;

/* One Runge-Kutta step of the fourth order under constant port efforts.  0, or status bits of the library. */
int plant_step(plant *robot, const double f[STEWART_NF], double h);

#endif
