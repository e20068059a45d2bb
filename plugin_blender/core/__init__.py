# SPDX-License-Identifier: GPL-3.0-or-later
"""The work without Blender: plain data in, documents, models and keys out. No bpy."""
