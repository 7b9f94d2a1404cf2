# shellcheck shell=bash
# Shared by the scripts in ops/: messages, system packages, the Python environment, the build. Source it; it changes
# to the repository root. Works with bash 3.2, which macOS includes.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$ROOT" || exit 1

# The oldest Swift version that can build Package.swift (its tools version and warning settings).
SWIFT_MIN=6.2
# The oldest Python version that the pinned packages support.
PYTHON_MIN=3.10
VENV="$ROOT/.venv"

if [ -t 2 ] && [ -z "${NO_COLOR:-}" ] && [ "${TERM:-dumb}" != dumb ]; then
    bold=$(printf '\033[1m') red=$(printf '\033[31m') plain=$(printf '\033[0m')
else
    bold='' red='' plain=''
fi

# Progress is printed on stderr; stdout has only results.
step() { printf '%s%s%s\n' "$bold" "$*" "$plain" >&2; }
note() { printf '  %s\n' "$*" >&2; }
die() {
    printf '%serror:%s %s\n' "$red" "$plain" "$*" >&2
    exit 1
}

have() { command -v "$1" >/dev/null 2>&1; }

# release_version: prints the version of the programs in this tree, without the marker of a debug build.
release_version() { sed -n 's/.*static let version = "\([0-9][0-9.]*\)".*/\1/p' Sources/pollerd/Output/Release.swift; }

# release_date: prints the time for files made from this commit, in RFC 3339; SOURCE_DATE_EPOCH overrides it.
release_date() {
    local epoch=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
    date -u -d "@$epoch" +%Y-%m-%dT%H:%M:%SZ 2>/dev/null || date -u -r "$epoch" +%Y-%m-%dT%H:%M:%SZ
}

# version_at_least VERSION MINIMUM, as in: version_at_least 6.3.1 6.2
version_at_least() {
    local have_major have_minor want_major want_minor
    IFS=. read -r have_major have_minor _ <<<"$1"
    IFS=. read -r want_major want_minor _ <<<"$2"
    [ "$have_major" -gt "$want_major" ] ||
        { [ "$have_major" -eq "$want_major" ] && [ "${have_minor:-0}" -ge "${want_minor:-0}" ]; }
}

# require_swift: exits with an explanation unless a new enough Swift is on PATH.
require_swift() {
    local version
    have swift || die "swift is not on PATH. Install Swift $SWIFT_MIN or newer from https://www.swift.org/install and run this again."
    version=$(swift --version 2>/dev/null | sed -n 's/.*Swift version \([0-9][0-9.]*\).*/\1/p')
    [ -n "$version" ] || die "'swift --version' does not name a version. Is this the Swift toolchain? See https://www.swift.org/install."
    version_at_least "$version" "$SWIFT_MIN" ||
        die "Swift $version is too old: $SWIFT_MIN or newer is needed. See https://www.swift.org/install (swiftly use latest)."
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    else
        have sudo || die "this needs root and there is no sudo. Run as root: $*"
        sudo "$@"
    fi
}

# require_packages PURPOSE…: installs missing packages. Purposes: build, serve, tools, python, package, lint, check,
# typescript, browser.
require_packages() {
    local wanted='' missing='' package purpose
    if have apt-get && have dpkg-query; then
        for purpose in "$@"; do
            case $purpose in
            build) wanted="$wanted libhiredis-dev libcurl4-openssl-dev zlib1g-dev libzstd-dev" ;;
            serve) have redis-server || wanted="$wanted redis-server" ;;
            tools) have curl || wanted="$wanted curl" ;;
            python) python_ready || wanted="$wanted python3 python3-venv" ;;
            package) wanted="$wanted binutils dpkg-dev python3" ;;
            typescript) have tsc || wanted="$wanted node-typescript" ;;
            browser) have chromium || wanted="$wanted chromium" ;;
            lint) wanted="$wanted lintian" ;;
            check)
                have shellcheck || wanted="$wanted shellcheck"
                [ -n "$(luac_command)" ] || wanted="$wanted lua5.1"
                ;;
            esac
        done
        for package in $wanted; do
            installed "$package" || missing="$missing $package"
        done
        [ -z "$missing" ] && return
        step "Installing$missing"
        # shellcheck disable=SC2086 # a list of package names
        apt_install $missing
    elif have brew; then
        for purpose in "$@"; do
            case $purpose in
            build) wanted="$wanted hiredis zstd" ;;
            serve) have redis-server || wanted="$wanted redis" ;;
            python) python_ready || wanted="$wanted python@3.13" ;;
            typescript) have tsc || wanted="$wanted typescript" ;;
            check)
                have shellcheck || wanted="$wanted shellcheck"
                [ -n "$(luac_command)" ] || wanted="$wanted lua"
                ;;
            esac
        done
        for package in $wanted; do
            brew list --versions "$package" >/dev/null 2>&1 || missing="$missing $package"
        done
        [ -z "$missing" ] && return
        step "Installing$missing"
        # shellcheck disable=SC2086 # a list of package names
        brew install --quiet $missing >&2 || die "brew could not install:$missing"
    else
        for purpose in "$@"; do
            case $purpose in
            serve) have redis-server || missing="$missing redis-server" ;;
            python) python_ready || missing="$missing python3(>=$PYTHON_MIN,with-venv)" ;;
            typescript) have tsc || missing="$missing typescript(with-node)" ;;
            check)
                have shellcheck || missing="$missing shellcheck"
                [ -n "$(luac_command)" ] || missing="$missing luac"
                ;;
            esac
        done
        [ -z "$missing" ] ||
            die "missing:$missing. Neither apt-get nor brew is here: install them, with the development files of hiredis, libcurl, zlib and zstd, and run this again."
    fi
}

has_unpacked() { have "$2" || [ -x "$VENV/$1/usr/bin/$2" ] || [ -x "$VENV/$1/usr/sbin/$2" ]; }

# require_unpacked PACKAGE PROGRAM TESTS: provides PROGRAM on PATH or in .venv/PACKAGE, for tests with a real server. If
# it is unavailable, it prints a note and these tests are skipped. Debian's package is unpacked but not installed,
# because that would start a server.
require_unpacked() {
    local package=$1 program=$2 tests=$3 folder="$VENV/$1" log status=0
    has_unpacked "$package" "$program" && return
    log=$(mktemp)
    if have apt-get && have dpkg; then
        step "Unpacking $package into .venv"
        mkdir -p "$folder"
        if ! (cd "$folder" && apt-get download -qq "$package" >>"$log" 2>&1); then
            # In a subshell, because as_root exits without root privileges.
            (as_root apt-get update -qq) >>"$log" 2>&1 || true
            (cd "$folder" && apt-get download -qq "$package" >>"$log" 2>&1) || status=1
        fi
        [ "$status" -ne 0 ] || dpkg -x "$folder/$package"_*.deb "$folder" >>"$log" 2>&1 || status=1
        rm -f "$folder/$package"_*.deb
    elif have brew; then
        step "Installing $package"
        brew install --quiet "$package" >>"$log" 2>&1 || status=1
    fi
    # In some releases a package only requires another one.
    has_unpacked "$package" "$program" || status=1
    [ "$status" -eq 0 ] || {
        tail -n 5 "$log" >&2
        note "$package cannot be had: $tests are skipped"
    }
    rm -f "$log"
}

installed() { [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

apt_install() {
    local log
    # The message is printed here, because the following output goes to a log.
    [ "$(id -u)" -eq 0 ] || have sudo ||
        die "missing: $*. To install them needs root, and there is no sudo. Run as root: apt-get install $*"
    log=$(mktemp)
    # A new image has no package lists yet, so a first failure is followed by an update.
    if ! apt_try "$log" "$@"; then
        as_root apt-get update -qq >>"$log" 2>&1 || true
        if ! apt_try "$log" "$@"; then
            tail -n 20 "$log" >&2
            rm -f "$log"
            die "apt-get could not install: $*"
        fi
    fi
    rm -f "$log"
}

apt_try() {
    local log=$1
    shift
    as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends "$@" >>"$log" 2>&1
}

# luac_command: prints the Lua 5.1 compiler, the dialect of Redis, or another luac, which also finds syntax errors.
luac_command() {
    local name
    for name in luac5.1 luac-5.1 luac; do
        have "$name" && printf '%s\n' "$name" && return
    done
    return 0
}

python_ready() {
    python3 -c "
import sys, venv, ensurepip
sys.exit(sys.version_info < tuple(map(int, '$PYTHON_MIN'.split('.'))))" 2>/dev/null
}

# require_venv: installs the pinned Python packages in .venv, again whenever the pins change.
require_venv() {
    local pins="$ROOT/Tests/EndToEnd/requirements.txt" stamp="$VENV/.pins"
    cmp -s "$pins" "$stamp" && return
    require_packages python
    python_ready || die "python3 is older than $PYTHON_MIN or lacks the venv module: install a newer one and run this again."
    step "Preparing the Python environment in .venv"
    rm -rf "$VENV"
    python3 -m venv "$VENV" || die "python3 -m venv failed: install python3-venv and run this again."
    "$VENV/bin/pip" install --quiet --disable-pip-version-check -r "$pins" >&2 ||
        die "pip could not install the packages of Tests/EndToEnd/requirements.txt: is PyPI reachable?"
    cp "$pins" "$stamp"
}

# build_progress: copies the output of `swift build`, but replaces the lines `[STEP/STEPS] …` by an estimate every 20
# s.
build_progress() {
    local line steps_done steps shown=$SECONDS begun=$SECONDS passed
    while IFS= read -r line; do
        case $line in
        \[[0-9]*/[0-9]*\]*)
            [ $((SECONDS - shown)) -ge 20 ] || continue
            shown=$SECONDS passed=$((SECONDS - begun))
            steps_done=${line#\[} steps=${line#*/}
            steps_done=${steps_done%%/*} steps=${steps%%\]*}
            # Steps differ in length, so the estimate is rough.
            [ "$steps_done" -gt 0 ] && note "$((100 * steps_done / steps)) % after $passed s, about" \
                "$(((steps - steps_done) * passed / steps_done / 60 + 1)) min left"
            ;;
        *) printf '%s\n' "$line" ;;
        esac
    done
    return 0
}

# swift_build ARG…: builds, after a note on why it may take long, and sets BIN_DIR to the folder of the programs.
# POLLER_BIN_DIR names finished programs to use instead.
swift_build() {
    if [ -n "${POLLER_BIN_DIR:-}" ]; then
        BIN_DIR=$(cd "$POLLER_BIN_DIR" 2>/dev/null && pwd) || die "POLLER_BIN_DIR=$POLLER_BIN_DIR is not a directory"
        [ -x "$BIN_DIR/pollerd" ] || die "there is no pollerd in POLLER_BIN_DIR=$POLLER_BIN_DIR"
        note "using the programs in $BIN_DIR"
        return
    fi
    require_swift
    require_packages build
    if [ -d .build/checkouts ]; then
        step "Building"
        swift build "$@" >&2 || die "the build failed; the compiler's message is above."
    else
        step "Building (the first time takes 5 to 25 minutes on two cores, then seconds)"
        swift build "$@" 2>&1 | build_progress >&2 || die "the build failed; the compiler's message is above."
    fi
    BIN_DIR=$(swift build "$@" --show-bin-path)
}

# build_programs: builds the programs for release, and sets BIN_DIR to a folder with all of them. One file is pollerd,
# pollerctl and stripe-sandbox, depending on the name of the call. On Linux the files contain Swift's libraries.
build_programs() {
    local release=(-c release) name
    if [ -n "${POLLER_BIN_DIR:-}" ]; then
        # shellcheck disable=SC2119 # takes options, needs none here
        swift_build
        return
    fi
    [ "$(uname)" != Linux ] || release+=(--static-swift-stdlib)
    swift_build "${release[@]}" --product poller
    swift_build "${release[@]}" --product pollerd-bench
    mkdir -p "$ROOT/.build/programs"
    for name in pollerd pollerctl stripe-sandbox; do
        ln -f "$BIN_DIR/poller" "$ROOT/.build/programs/$name"
    done
    ln -f "$BIN_DIR/poller" "$BIN_DIR/pollerd-bench" "$ROOT/.build/programs/"
    BIN_DIR=$ROOT/.build/programs
}
