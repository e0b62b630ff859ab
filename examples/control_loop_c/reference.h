/* What the platform is to do, and what its legs have to do for it. */
#ifndef REFERENCE_H
#define REFERENCE_H

#include "stewart_motion.h"

#define MOTION_TIME 4.0 /* s from rest to rest; afterwards the platform holds still */

/* A pose with its twist and classical acceleration: angular first, world axes, at the platform's origin. */
typedef struct {
    double R[9];
    double p[3];
    double V[6];
    double A[6];
} pose_reference;

/* Assembled configuration, speeds and accelerations of the legs that realise a pose. */
typedef struct {
    stewart_updater at; /* at.q is the configuration */
    double u[STEWART_NU];
    double udot[STEWART_NU];
} leg_reference;

/* The pose at time t, relative to the rest pose R0, p0. */
void platform_motion(double t, const double R0[9], const double p0[3], pose_reference *wanted);

/* Moves the legs from where they are to a pose.  0, or the status that ended it. */
int follow_pose(leg_reference *legs, const pose_reference *wanted, const stewart_update_limits *limits);

#endif
