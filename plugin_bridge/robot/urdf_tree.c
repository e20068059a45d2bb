/* SPDX-License-Identifier: BSD-3-Clause */
/* The tree of a URDF: finds links by name, the root, an order with parents first, the poses with
   all coordinates at zero, and the links that become bodies. A link without mass and inertia
   belongs to the body of its rigid group. If no link of a group has both, its topmost link becomes
   the body; at the root, the group belongs to the world. */
#include "robot/urdf.h"

#include <math.h>
#include <string.h>

static void wrong(document *doc, const urdf_joint *j, const char *what, const char *is,
                  const char *must) {
    robot_note(doc, SKEL_E_DOCUMENT, "line %d: joint '%.60s': %s: is '%.60s', must be %s",
               (int)j->line, j->name, what, is, must);
}

/* ---- names ----------------------------------------------------------------------------------- */

/* Files of Drake have joints with the parent "world", a link that they do not declare. */
static bool add_world(urdf_document *u) {
    for (int32_t i = 0; i < u->link_count; ++i)
        if (strcmp(u->links[i].name, "world") == 0) return true;
    for (int32_t k = 0; k < u->joint_count; ++k) {
        if (!u->joints[k].parent_name || strcmp(u->joints[k].parent_name, "world") != 0) continue;
        if (!arena_grow(u->arena, &u->links, u->link_count, &u->link_room, sizeof *u->links))
            return false;
        u->links[u->link_count++] =
            (urdf_link){.name = u->joints[k].parent_name, .line = u->joints[k].line};
        return true;
    }
    return true;
}

static bool find_links(document *doc, urdf_document *u, name_table *joints) {
    name_table links = {0};
    if (!names_open(doc, &links, u->link_count) || !names_open(doc, joints, u->joint_count))
        return false;

    for (int32_t i = 0; i < u->link_count; ++i) {
        const int32_t other = names_put(&links, u->links[i].name, i);
        u->links[i].joint = -1;
        if (other >= 0)
            robot_note(doc, SKEL_E_DOCUMENT,
                       "line %d: link '%.60s': name: is the same as in line %d, must be unique",
                       (int)u->links[i].line, u->links[i].name, (int)u->links[other].line);
    }

    for (int32_t k = 0; k < u->joint_count; ++k) {
        urdf_joint *j = &u->joints[k];
        const int32_t other = names_put(joints, j->name, k);
        if (other >= 0)
            robot_note(doc, SKEL_E_DOCUMENT,
                       "line %d: joint '%.60s': name: is the same as in line %d, must be unique",
                       (int)j->line, j->name, (int)u->joints[other].line);
        j->parent = names_find(&links, j->parent_name);
        j->child = names_find(&links, j->child_name);
        j->index = -1;
        if (j->parent < 0) wrong(doc, j, "parent: link", j->parent_name, "one of the links");
        if (j->child < 0) wrong(doc, j, "child: link", j->child_name, "one of the links");
    }
    return doc->error_count == 0;
}

static void warn(document *doc, const urdf_joint *j, const char *what, const char *is,
                 const char *so) {
    robot_note(doc, SKEL_OK, "line %d: joint '%.60s': %s: is '%.60s', %s", (int)j->line, j->name,
               what, is, so);
}

bool urdf_is_rigid(const urdf_joint *joint) {
    return joint->type == URDF_FIXED || joint->is_locked;
}

/* Along the mimic chain, q = factor q' + offset. If the chain ends in a fixed joint, q' = 0 and the
   joint is locked at the offset. */
static void find_locked(document *doc, urdf_document *u, int32_t k) {
    double factor = 1.0, offset = 0.0;

    for (int32_t at = k; at >= 0; at = u->joints[at].mimic) {
        urdf_joint *j = &u->joints[at];
        if (at != k && j->type == URDF_FIXED) {
            u->joints[k].is_locked = true;
            u->joints[k].value = offset;
            warn(doc, &u->joints[k], "mimic: joint", u->joints[k].mimic_name,
                 "which is fixed: this joint is locked at its offset");
            return;
        }
        offset += factor * j->offset;
        factor *= j->factor;
    }
}

/* The source joints, of which one that cannot be followed is only a warning; then mimic chains
   without a cycle; then the chains that end in a fixed joint. */
static bool find_mimics(document *doc, urdf_document *u, const name_table *names) {
    for (int32_t k = 0; k < u->joint_count; ++k) {
        urdf_joint *j = &u->joints[k];
        j->mimic = -1;
        if (!j->mimic_name) continue;
        const int32_t of = names_find(names, j->mimic_name);
        if (of == k)
            wrong(doc, j, "mimic: joint", j->mimic_name, "another joint");
        else if (of < 0)
            warn(doc, j, "mimic: joint", j->mimic_name, "which is not a joint: this joint is free");
        else if (urdf_types[u->joints[of].type].dof > 1)
            warn(doc, j, "mimic: joint", j->mimic_name,
                 "which has more than one coordinate: this joint is free");
        else if (urdf_types[j->type].dof == 1)
            j->mimic = of;
    }

    for (int32_t k = 0; k < u->joint_count && doc->error_count == 0; ++k) {
        int32_t steps = 0;
        for (int32_t at = k; at >= 0 && steps <= u->joint_count; at = u->joints[at].mimic) ++steps;
        if (steps > u->joint_count)
            wrong(doc, &u->joints[k], "mimic: joint", u->joints[k].mimic_name,
                  "one that does not mimic this joint in turn");
    }

    for (int32_t k = 0; k < u->joint_count && doc->error_count == 0; ++k)
        if (u->joints[k].mimic >= 0) find_locked(doc, u, k);
    for (int32_t k = 0; k < u->joint_count; ++k)
        if (u->joints[k].is_locked) u->joints[k].mimic = -1;
    return doc->error_count == 0;
}

/* ---- the tree -------------------------------------------------------------------------------- */

static void find_parents(document *doc, urdf_document *u) {
    for (int32_t k = 0; k < u->joint_count; ++k) {
        urdf_joint *j = &u->joints[k];
        urdf_link *child = &u->links[j->child];
        if (j->child == j->parent)
            wrong(doc, j, "child: link", j->child_name, "another link than the parent");
        else if (child->joint >= 0)
            wrong(doc, j, "child: link", j->child_name,
                  "the child of one joint only: URDF has no loops");
        else
            child->joint = k;
    }

    u->root = -1;
    for (int32_t i = 0; i < u->link_count; ++i) {
        if (u->links[i].joint >= 0) continue;
        if (u->root < 0)
            u->root = i;
        else
            robot_note(doc, SKEL_E_DOCUMENT,
                       "line %d: link '%.60s': is the child of no joint, nor is '%.60s': the "
                       "links must form one tree",
                       (int)u->links[i].line, u->links[i].name, u->links[u->root].name);
    }
}

/* Orders the links with parents first (breadth first). A link that is not reached is in a cycle. */
static bool find_order(document *doc, urdf_document *u) {
    const size_t n = (size_t)u->link_count;
    int32_t *first = doc_alloc(doc, n + 1, sizeof *first);
    int32_t *next = doc_alloc(doc, n + 1, sizeof *next);
    u->order = arena_alloc(u->arena, n + 1, sizeof *u->order);
    if (!first || !next || !u->order) return false;

    /* The children of each link as a linked list, in the order of the document. */
    for (int32_t i = 0; i < u->link_count; ++i) {
        first[i] = -1;
        next[i] = -1;
    }
    for (int32_t i = u->link_count - 1; i >= 0; --i) {
        if (u->links[i].joint < 0) continue;
        const int32_t p = u->joints[u->links[i].joint].parent;
        next[i] = first[p];
        first[p] = i;
    }

    int32_t count = 0;
    if (u->root >= 0) u->order[count++] = u->root;
    for (int32_t at = 0; at < count; ++at)
        for (int32_t c = first[u->order[at]]; c >= 0; c = next[c]) u->order[count++] = c;
    if (count == u->link_count) return true;

    /* Name a link of the cycle. */
    bool *reached = doc_alloc(doc, n + 1, sizeof *reached);
    for (int32_t at = 0; reached && at < count; ++at) reached[u->order[at]] = true;
    for (int32_t i = 0; reached && i < u->link_count; ++i)
        if (!reached[i]) {
            wrong(doc, &u->joints[u->links[i].joint], "parent: link",
                  u->joints[u->links[i].joint].parent_name,
                  "connected to the root: these joints form a cycle");
            return false;
        }
    return false;
}

/* ---- poses and bodies ------------------------------------------------------------------------ */

void urdf_pose(const double xyz[3], const double rpy[3], double out[7]) {
    const double x[4] = {cos(0.5 * rpy[0]), sin(0.5 * rpy[0]), 0, 0};
    const double y[4] = {cos(0.5 * rpy[1]), 0, sin(0.5 * rpy[1]), 0};
    const double z[4] = {cos(0.5 * rpy[2]), 0, 0, sin(0.5 * rpy[2])};
    double zy[4];
    robot_quat_mul(z, y, zy);
    robot_quat_mul(zy, x, out + 3);
    memcpy(out, xyz, 3 * sizeof *xyz);
}

/* The frame of a joint's child in its parent, at zero or at the constant value of a locked joint.
   */
static void child_pose(const urdf_joint *j, double out[7]) {
    urdf_pose(j->xyz, j->rpy, out);
    if (!j->is_locked) return;

    double moved[7] = {0, 0, 0, 1}, axis[3];
    memcpy(axis, j->axis, sizeof axis);
    doc_normalise(axis, 3);
    const double half = 0.5 * j->value;
    if (j->type != URDF_PRISMATIC) moved[3] = cos(half);
    for (int k = 0; k < 3; ++k) {
        if (j->type == URDF_PRISMATIC)
            moved[k] = j->value * axis[k];
        else
            moved[4 + k] = sin(half) * axis[k];
    }
    robot_pose_mul(out, moved, out);
}

/* A link becomes a body of its own if it has a mass and an inertia that dynamics can use. Any other
   mass is added to the body of its rigid group (urdf_to_scene.c). */
static void check_inertial(document *doc, urdf_link *l) {
    if (!l->has_inertial || !(l->mass > 0.0)) return;
    l->has_body = robot_inertia_solid(l->mass, l->inertia, 1.0);
    if (l->has_body && !robot_inertia_real(l->inertia))
        robot_note(doc, SKEL_OK,
                   "line %d: link '%.60s': inertial: inertia: one principal moment exceeds the sum "
                   "of the other two: no solid has such an inertia",
                   (int)l->line, l->name);
}

/* Poses, rigid groups, and the link that becomes the body of each group. */
static void find_groups(document *doc, urdf_document *u) {
    for (int32_t at = 0; at < u->link_count; ++at) {
        const int32_t i = u->order[at];
        urdf_link *l = &u->links[i];
        check_inertial(doc, l);
        l->group = i;
        l->head = i;

        /* Pose and group follow from the parent. */
        if (l->joint >= 0) {
            const urdf_joint *j = &u->joints[l->joint];
            double x[7];
            child_pose(j, x);
            robot_pose_mul(u->links[j->parent].world, x, l->world);
            if (urdf_is_rigid(j)) l->group = u->links[j->parent].group;
        } else {
            const double identity[7] = {0, 0, 0, 1};
            memcpy(l->world, identity, sizeof identity);
        }

        /* The first link with a body of its own becomes the head of the group. */
        if (l->group == i && i == u->root && !l->has_body) l->head = -1;
        urdf_link *top = &u->links[l->group];
        const bool is_world = l->group == u->root && strcmp(top->name, "world") == 0;
        const bool has_head = top->head >= 0 && u->links[top->head].has_body;
        if (is_world)
            top->head = -1;
        else if (l->has_body && !has_head)
            top->head = i;
    }
}

/* A floating joint makes its child free in the world, so its parent must be fixed there. */
static void check_floating(document *doc, const urdf_document *u) {
    for (int32_t k = 0; k < u->joint_count; ++k) {
        const urdf_joint *j = &u->joints[k];
        if (j->type == URDF_FLOATING && u->links[j->parent].group != u->root)
            wrong(doc, j, "type", "floating",
                  "another type: only a child of the root's rigid group can float");
    }
}

bool urdf_find_tree(document *doc, urdf_document *u) {
    name_table joints = {0};
    if (u->link_count == 0) {
        robot_note(doc, SKEL_E_DOCUMENT, "document: has no links, must have at least one");
        return false;
    }
    if (!add_world(u) || !find_links(doc, u, &joints) || !find_mimics(doc, u, &joints))
        return false;

    find_parents(doc, u);
    if (doc->error_count > 0 || !find_order(doc, u)) return false;

    for (int32_t i = 0; i < u->link_count; ++i)
        if (i != u->root && strcmp(u->links[i].name, "world") == 0)
            robot_note(
                doc, SKEL_E_DOCUMENT,
                "line %d: link 'world': name: is reserved for the root, must be another name",
                (int)u->links[i].line);

    find_groups(doc, u);
    check_floating(doc, u);
    return doc->error_count == 0 && !doc->no_memory;
}
