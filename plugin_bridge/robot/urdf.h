/* SPDX-License-Identifier: BSD-3-Clause */
/* Private: a URDF document, and how its links and joints map to the model. Elements that the model
   does not use (visual, collision, material, transmission, ...) are kept as text and written
   back. */
#ifndef BRIDGE_ROBOT_URDF_H
#define BRIDGE_ROBOT_URDF_H

#include "robot/robot.h"

#define URDF_LINKS 100000
#define URDF_NO_LIMIT                                                                              \
    1e6 /* [rad/s], [m/s], [N m], [N]: written if the limit of a drive is unknown */

enum {
    URDF_REVOLUTE,
    URDF_CONTINUOUS,
    URDF_PRISMATIC,
    URDF_FIXED,
    URDF_FLOATING,  /* the child moves freely; only below the root */
    URDF_SPHERICAL, /* a ball joint; PyBullet reads it, ROS does not */
    URDF_PLANAR,    /* moves in the plane across <axis> and turns about it; URDF does not specify
                       x, which is turned with the smallest rotation of z to <axis> */
    URDF_TYPE_COUNT
};

typedef struct urdf_type {
    const char *name;
    int32_t joint;    /* SKEL_JOINT_* of the model; a floating joint becomes none */
    int32_t dof;      /* number of coordinates; only a joint with one can mimic another */
    bool has_axis;    /* <axis> is used */
    bool has_range;   /* lower and upper of <limit> bound the coordinate */
    bool is_standard; /* ROS reads it */
} urdf_type;
extern const urdf_type urdf_types[URDF_TYPE_COUNT]; /* by URDF_* */

typedef struct urdf_link {
    const char *name;
    int32_t line;
    bool has_inertial, has_inertia;
    double mass;
    double xyz[3], rpy[3]; /* origin of <inertial> in the link's frame [m], [rad] */
    double inertia[6];     /* xx yy zz xy xz yz, in the axes of <inertial> [kg m^2] */
    const char *extra;     /* the other elements as text, or NULL */
    /* set by urdf_tree.c */
    int32_t joint;   /* joint whose child is the link; -1: the root */
    bool has_body;   /* mass and inertia are sufficient for a body of its own */
    int32_t group;   /* topmost link of those that rigid joints connect */
    int32_t head;    /* of a topmost link: the link whose body the group gets; -1: the world */
    int32_t body;    /* the body to which the link belongs; SKEL_WORLD: the world */
    double world[7]; /* its frame in the world with all joint coordinates at zero */
} urdf_link;

typedef struct urdf_joint {
    const char *name;
    int32_t line, type; /* URDF_* */
    const char *parent_name, *child_name, *mimic_name;
    double xyz[3], rpy[3], axis[3]; /* axis as given, not normalised */
    bool has_axis, has_limit, has_lower, has_upper, has_dynamics;
    double lower, upper, effort, velocity, damping, friction;
    double factor, offset; /* of <mimic> */
    const char *extra;
    /* set by urdf_tree.c */
    int32_t parent, child; /* links */
    int32_t mimic;         /* source joint; -1: none */
    bool is_locked;        /* mimics a fixed joint, so its coordinate is constant: `value` */
    double value;          /* [rad], [m] */
    int32_t index;         /* joint of the model; -1: none */
} urdf_joint;

struct urdf_document {
    memory_arena *arena;
    const char *name;
    const char *namespaces; /* attributes xmlns:... of <robot> as text, or NULL */
    urdf_link *links;
    int32_t link_count, link_room;
    urdf_joint *joints;
    int32_t joint_count, joint_room;
    const char *extra;
    int32_t root;
    int32_t *order; /* links, parents first (link_count) */
};

/** Reads up to max finite numbers and returns how many there are; -1 if the text has other words,
    max + 1 if it has more numbers. */
int32_t urdf_numbers(const char *text, double *out, int32_t max);
/** The pose of a point and the rotation Rz(yaw) Ry(pitch) Rx(roll). */
void urdf_pose(const double xyz[3], const double rpy[3], double out[7]);

/** Whether the joint connects its links rigidly: it is fixed, or mimics a fixed joint. */
bool urdf_is_rigid(const urdf_joint *joint);

/** Reads the text. Problems state the line. */
bool urdf_parse(document *doc, const char *text, size_t length, urdf_document *u);
/** Finds the tree: links by name, the root, the order, rigid groups and poses. */
bool urdf_find_tree(document *doc, urdf_document *u);
/** Creates the model and the robot of the scene. */
void urdf_build(document *doc, urdf_document *u, skel_scene *s);
/** The URDF document of a scene. SKEL_E_UNSUPPORTED if its bodies do not form a tree. */
skel_status urdf_make(const skel_scene *s, urdf_document *u, skel_error *err);
/** Writes the document as text. */
void urdf_put(text_buffer *t, const urdf_document *u);

#endif
