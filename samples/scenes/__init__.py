# SPDX-License-Identifier: BSD-3-Clause
"""The sample scenes, by what they show; make_scenes.py writes them."""
