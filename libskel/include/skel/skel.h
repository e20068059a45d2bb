/* SPDX-License-Identifier: BSD-3-Clause */
/** @file
   libskel: rigid-body dynamics, inverse kinematics and Denavit-Hartenberg tables of skeletons and
   robots, and bodies that fit a skin. This header includes all the others. */
#ifndef SKEL_H
#define SKEL_H

#include <skel/skel_base.h>
#include <skel/skel_model.h>
#include <skel/skel_dh.h>
#include <skel/skel_state.h>
#include <skel/skel_inverse.h>
#include <skel/skel_flight.h>
#include <skel/skel_ik.h>
#include <skel/skel_bake.h>
#include <skel/skel_channels.h>
#include <skel/skel_fit.h>
#include <skel/skel_scene.h>
#include <skel/skel_robot.h>
#include <skel/skel_track.h>

#endif
