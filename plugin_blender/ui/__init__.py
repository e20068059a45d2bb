# SPDX-License-Identifier: GPL-3.0-or-later
"""What the user sees: settings, operators, panels."""
