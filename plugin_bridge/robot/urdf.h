/* SPDX-License-Identifier: BSD-3-Clause */
/* Private: a URDF document as it stands, with what the model makes of it. Elements that are not
   understood (visual, collision, material, transmission, ...) are kept as text and written back. */
#ifndef BRIDGE_ROBOT_URDF_H
#define BRIDGE_ROBOT_URDF_H

#include "robot/robot.h"

#define URDF_LINKS 100000
#define URDF_NO_LIMIT 1e6 /* velocity and effort of a drive that is not known */

enum {
    URDF_REVOLUTE,
    URDF_CONTINUOUS,
    URDF_PRISMATIC,
    URDF_FIXED,
    URDF_FLOATING, /* at the root only: the child is free */
    URDF_SPHERICAL /* a ball, which PyBullet knows and ROS does not */
};

typedef struct urdf_link {
    const char *name;
    int32_t     line;
    bool        has_inertial, has_inertia;
    double      mass;
    double      xyz[3], rpy[3]; /* of the inertial */
    double      inertia[6];     /* xx yy zz xy xz yz, in the axes of the inertial */
    const char *extra;          /* its other elements, or NULL */
    /* found by urdf_tree.c */
    int32_t joint;    /* that leads to it; -1: the root */
    bool    is_heavy; /* mass and inertia are good for a body of its own */
    int32_t group;    /* link at the top of what fixed joints hold together */
    int32_t head;     /* of a link at the top: the link whose body the group has; -1: the world */
    int32_t body;     /* that it is fixed in; SKEL_WORLD: the world */
    double  world[7]; /* its frame in the world at zero */
} urdf_link;

typedef struct urdf_joint {
    const char *name;
    int32_t     line, type; /* URDF_* */
    const char *parent_name, *child_name, *mimic_name;
    double      xyz[3], rpy[3], axis[3]; /* axis as written */
    bool        has_axis, has_limit, has_lower, has_upper, has_dynamics;
    double      lower, upper, effort, velocity, damping, friction;
    double      factor, offset; /* of the mimic */
    const char *extra;
    /* found by urdf_tree.c */
    int32_t parent, child, mimic; /* links; joint, -1: none */
    bool    stands;               /* mimics a fixed joint, and so stands at `value` */
    double  value;
    int32_t index; /* of the model's joint; -1: none */
} urdf_joint;

struct urdf_document {
    memory_arena *arena;
    const char   *name;
    const char   *namespaces; /* attributes xmlns:... of the robot, as text, or NULL */
    urdf_link    *links;
    int32_t       link_count, link_room;
    urdf_joint   *joints;
    int32_t       joint_count, joint_room;
    const char   *extra;
    int32_t       root;
    int32_t      *order; /* links, parents first (link_count) */
};

/** Number of finite numbers in the text, up to max; -1 where it has other words, max + 1 where it
    has more. */
int32_t urdf_numbers(const char *text, double *out, int32_t max);
/** Rz(yaw) Ry(pitch) Rx(roll), and a point: a pose. */
void urdf_pose(const double xyz[3], const double rpy[3], double out[7]);

/** Whether the joint holds its links together: fixed, or a mimic of a fixed joint. */
bool urdf_is_rigid(const urdf_joint *joint);

/** Links, joints and the rest; problems with the line. */
bool urdf_parse(document *doc, const char *text, size_t length, urdf_document *u);
/** Finds links by name, the root, the order, rigid groups and poses. */
bool urdf_link_up(document *doc, urdf_document *u);
/** The model, with frames and mimics of the scene's robot. */
void urdf_build(document *doc, urdf_document *u, skel_scene *s);
/** A document of any tree. SKEL_E_UNSUPPORTED where it is none. */
skel_status urdf_make(const skel_scene *s, urdf_document *u, skel_error *err);
/** As text. */
void urdf_put(text_buffer *t, const urdf_document *u);

#endif
