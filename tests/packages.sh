# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034
# Sourced by tests/run and samples/run: headings, and Debian packages that are missing.

heading() { printf '\n== %s\n' "$*"; }

# To build and to run.
SKEL_BUILD_PACKAGES=(gcc libc6-dev make cmake liblapacke-dev libopenblas-serial-dev
                     libsundials-dev libexpat1-dev python3)
# To test, on top.
SKEL_TEST_PACKAGES=(pkg-config check clang-14 clang-format-14 clang-tidy-14 libclang-rt-14-dev
                    valgrind binutils flake8 doxygen mandoc)
# For pyright, which npm fetches (tests/check_pyright.py); needed if there is no npm yet.
SKEL_NPM_PACKAGES=(nodejs npm)
# For the target coverage, on top.
SKEL_COVERAGE_PACKAGES=(gcovr)
# To test the add-on, on top; where they cannot be had, those tests are skipped.
SKEL_BLENDER_PACKAGES=(blender debootstrap xvfb xauth libgl1-mesa-dri libegl1 libgl1)
# For the pictures of samples/blender/run.
SKEL_PICTURE_PACKAGES=(blender imagemagick ffmpeg xvfb xauth libgl1-mesa-dri libegl1 libgl1)

missing_packages() {
    local package
    for package in "$@"; do
        case "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)" in
            installed) ;;
            *) printf '%s\n' "$package" ;;
        esac
    done
}

# Installs those of the named packages that are missing; where it may not, says which and stops.
need_packages() {
    local -a missing as_root=()
    if ! command -v dpkg-query >/dev/null; then
        echo "This is not a Debian system. It needs what Debian calls: $*"
        return 0
    fi
    mapfile -t missing < <(missing_packages "$@")
    if [ ${#missing[@]} -eq 0 ]; then
        echo "all installed"
        return 0
    fi
    echo "missing: ${missing[*]}"
    local by_hand="apt-get update && apt-get install --no-install-recommends ${missing[*]}"
    if [ "$(id -u)" -ne 0 ]; then
        if ! sudo -n true 2>/dev/null; then
            echo "Not root, and sudo is not there or asks for a password. Please run as root:"
            echo "$by_hand"
            exit 1
        fi
        as_root=(sudo -n)
    fi
    local -a apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y
                  -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=1800)   # another apt may be at work
    echo "installing, which takes a minute or so"
    # One broken source among many fails the update, though Debian's own lists may be fine: try.
    "${apt[@]}" update >"$SKEL_PACKAGE_LOG" 2>&1 || true
    if ! "${apt[@]}" install --no-install-recommends "${missing[@]}" 2>&1 |
            tee -a "$SKEL_PACKAGE_LOG" | { grep -E '^(Need to get|After this)' || true; }; then
        tail -n 20 "$SKEL_PACKAGE_LOG"
        echo "The installation failed. Please run as root:"
        echo "$by_hand"
        exit 1
    fi
    echo "installed"
}
