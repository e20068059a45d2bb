#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# shoot.sh VERSION PROFILE OUT.png NAME: the sidebar tab in a window nobody sees, as a picture; of
# the panels of physics, ik or robots, or of the bodies. The profile lies in $SKEL_TEMP, which is
# all that Blender sees beside the project.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
version=$1 profile=$2 picture=$3 name=$4
temp=$(mktemp -d -p "$SKEL_TEMP")
Xvfb :"${SKEL_DISPLAY:-87}" -screen 0 1280x1000x24 -ac >/dev/null 2>&1 &
server=$!
trap 'kill "$server" 2>/dev/null || true; rm -rf "$temp"' EXIT
sleep 1
export DISPLAY=:"${SKEL_DISPLAY:-87}" LIBGL_ALWAYS_SOFTWARE=1
export BLENDER_USER_RESOURCES=$profile
"$here/../../tests/blender/blenders.sh" run "$version" --factory-startup -p 0 0 1280 1000 \
    --python-exit-code 7 --python "$here/panels.py" -- "$temp/ready" "$temp/done" "$name" &
blender=$!
for _ in $(seq 120); do
    [ -e "$temp/ready" ] && break
    kill -0 "$blender" 2>/dev/null || { echo "Blender left early"; exit 1; }
    sleep 0.5
done
sleep 1
import -window root "$picture"
touch "$temp/done"
wait "$blender"
