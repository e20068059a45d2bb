# SPDX-License-Identifier: GPL-3.0-or-later
"""Blender's data: the only readers and writers of bpy."""
