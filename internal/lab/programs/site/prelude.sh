# What the scripts of the trials begin with. They run in the directory of their trial in the mount, with
# a directory of their own outside, $W.
set -eu
lab() { python3 "$LAB/lab.py" "$@"; }
drive() { lab drive "$@"; }

# settle waits until the archive has what this trial has done so far.
settle() { lab settle; }

# may does what must succeed where it is allowed, and must fail elsewhere.
may() {
  if [ "$OUTCOME" = done ]; then
    "$@"
  else
    refused "$@"
  fi
}

# refused does what must fail, or, with a time of grace and a document of an inbox, may fail later. What
# went wrong at the terminal (98, 99) is no refusal.
refused() {
  local status=0
  "$@" || status=$?
  case $status in
    0) [ -z "$LATE" ] || return 0 # it fails later, when it is sent
      printf 'it succeeded, and should not have: %s\n' "$*" && exit 9 ;;
    98 | 99) exit "$status" ;;
  esac
}

# big writes a text of N MB.
big() { python3 -c 'import sys
for i in range(int(sys.argv[1]) * 40000): print("%06d;0123456789abcdef" % i)' "$1"; }

mkdir -p "$W"
cd "$DIR"
