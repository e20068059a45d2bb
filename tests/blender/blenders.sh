#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Real Blenders to test with, and the way to run them:
#   tests/blender/blenders.sh make [VERSION ...]   makes what is missing; says what it cannot
#   tests/blender/blenders.sh run VERSION ARGS     runs that Blender; 77: it cannot be had here
#   tests/blender/blenders.sh list                 a line per version: where it is, or why not
# 3.4 is Debian's package on this machine. 4.3 and 5.2 are Debian's packages of later releases, in
# folders of their own under ${XDG_CACHE_HOME:-~/.cache}/skel, about 2 GB each; the mirror is the
# one that this machine's apt uses. Remove the folders to get rid of them, or to have them anew.
set -euo pipefail

SKEL_CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/skel
SKEL_VERSIONS=(3.4 4.3 5.2)
declare -A suite=([4.3]=trixie [5.2]=sid)
# What Blender needs beyond what it says (sid), and to open windows without a graphics card.
more=(libgl1-mesa-dri libegl1 libgl1 libegl-mesa0 libglx-mesa0 python3-cattr python3-requests)

unavailable() { printf 'skipped: Blender %s: %s\n' "$1" "$2" >&2; exit 77; }

mirror() {
    { grep -rhE '^(URIs:|deb )' /etc/apt/sources.list /etc/apt/sources.list.d || true; } 2>&- |
        grep -oE '(https?|file)://[^ ]+/debian/?( |$)' | head -n 1
}

# folder VERSION: the root of its file system; empty where it is this machine's own.
folder() { [ -n "${suite[$1]:-}" ] && printf '%s/blender-%s' "$SKEL_CACHE" "$1" || true; }

# why VERSION: the reason that it is not there; empty where it is.
why() {
    local root; root=$(folder "$1")
    if [ -z "$root" ]; then
        command -v blender >/dev/null || { echo "the package blender is not installed"; return; }
        case "$(blender --version 2>/dev/null | head -n 1)" in
            "Blender $1".*) ;;
            *) echo "this machine's Blender is another version" ;;
        esac
    elif [ ! -e "$root/.complete" ]; then
        cat "$root.why" 2>/dev/null || echo "not made yet: tests/blender/blenders.sh make $1"
    elif [ "$(id -u)" -ne 0 ]; then
        echo "to run it takes root"
    fi
}

# fill ROOT SUITE MIRROR: a small Debian with Blender in it.
fill() {
    local -a apt=(chroot "$1" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8
                  DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Dpkg::Use-Pty=0)
    debootstrap --variant=minbase "$2" "$1" "$3" || return 1
    printf '#!/bin/sh\nexit 101\n' >"$1/usr/sbin/policy-rc.d"
    chmod +x "$1/usr/sbin/policy-rc.d"
    echo 'Acquire::Check-Valid-Until "false";' >"$1/etc/apt/apt.conf.d/90skel"
    printf 'force-unsafe-io\npath-exclude=/usr/share/%s/*\n' doc >"$1/etc/dpkg/dpkg.cfg.d/skel"
    printf 'path-exclude=/usr/share/%s/*\n' man locale >>"$1/etc/dpkg/dpkg.cfg.d/skel"
    cp /etc/resolv.conf "$1/etc/resolv.conf" 2>/dev/null || true
    "${apt[@]}" update && "${apt[@]}" install --no-install-recommends blender "${more[@]}" &&
        "${apt[@]}" clean && rm -rf "$1/var/lib/apt/lists"
}

make_one() {
    local root from log; root=$(folder "$1")
    [ -n "$root" ] || return 0
    [ -e "$root/.complete" ] && return 0
    mkdir -p "$SKEL_CACHE"
    exec 9>"$root.lock"                         # two test runs at a time make it once
    command -v flock >/dev/null && flock 9
    [ -e "$root/.complete" ] && return 0
    from=$(mirror) log=$root.log
    if [ "$(id -u)" -ne 0 ]; then
        echo "making its folder takes root" >"$root.why"
    elif ! command -v debootstrap >/dev/null; then
        echo "debootstrap is not installed" >"$root.why"
    elif [ -z "$from" ]; then
        echo "no Debian mirror among this machine's apt sources" >"$root.why"
    else
        echo "Blender $1: making $root, which takes two minutes or so"
        rm -rf "$root.new" "$root"
        if fill "$root.new" "${suite[$1]}" "$from" >"$log" 2>&1; then
            mv "$root.new" "$root" && touch "$root/.complete" && rm -f "$root.why" && return 0
        fi
        printf 'it could not be made: %s\n' "$(grep -E '^[EW]:' "$log" | tail -n 1)" >"$root.why"
    fi
    echo "Blender $1: $(cat "$root.why")"
}

# Mounts are private to the process and vanish with it; the exit code comes through.
in_chroot() {
    local root=$1; shift
    local project; project=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
    exec unshare -m --propagation private bash -c '
        set -e
        root=$1 project=$2 temp=$3; shift 3
        mkdir -p "$root$project" "$root$temp"
        mount --bind "$project" "$root$project"
        [ "$temp" = "$project" ] || mount --bind "$temp" "$root$temp"
        mount -t proc proc "$root/proc"
        mount -t tmpfs tmpfs "$root/dev/shm" 2>/dev/null || true
        names=(DISPLAY BLENDER_USER_RESOURCES LIBGL_ALWAYS_SOFTWARE ${!SKEL_*})
        given=()
        for name in "${names[@]}"; do [ -n "${!name:-}" ] && given+=("$name=${!name}"); done
        exec chroot "$root" env -i -C "$temp" PATH=/usr/bin:/bin HOME="$temp" TMPDIR="$temp" \
            LC_ALL=C.UTF-8 "${given[@]}" blender "$@"' \
        - "$root" "$project" "${SKEL_TEMP:-${TMPDIR:-/tmp}}" "$@"
}

run_one() {
    local reason root; reason=$(why "$1"); root=$(folder "$1")
    [ -z "$reason" ] || unavailable "$1" "$reason"
    shift
    if [ -n "$root" ]; then in_chroot "$root" "$@"; else exec blender "$@"; fi
}

case "${1:-list}" in
    make) shift; for version in "${@:-${SKEL_VERSIONS[@]}}"; do make_one "$version"; done ;;
    run) shift; run_one "$@" ;;
    list) for version in "${SKEL_VERSIONS[@]}"; do
              reason=$(why "$version"); root=$(folder "$version")
              printf '%s: %s\n' "$version" "${reason:-here, ${root:-installed}}"
          done ;;
    *) sed -n '3,9s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 2 ;;
esac
