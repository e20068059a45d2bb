/* SPDX-License-Identifier: BSD-3-Clause */
/* All of the layer dynamics but inverse dynamics: the state and the algorithms on it. */
#ifndef SKEL_DYNAMICS_DYNAMICS_H
#define SKEL_DYNAMICS_DYNAMICS_H

#include "dynamics/contact_loads.h"
#include "dynamics/energy.h"
#include "dynamics/joint_forces.h"
#include "dynamics/kinematics.h"
#include "dynamics/loads.h"
#include "dynamics/solvers.h"
#include "dynamics/state.h"

#endif
