#!/bin/bash
# The command line: every bad input gives exit status 2 and a message that says where and what would be right,
# and leaves no file behind.
#
#   tests/cli.sh QUIRE    prints each failure, then `N passed, N failed`
set -u

quire=$(realpath "$1")
root=$(cd "$(dirname "$0")/.." && pwd)
export QUIRE_DATA=$root
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
passed=0
failed=0

# Root may read and write everything: what needs a lack of permission runs as nobody.
nobody=
if [ "$(id -u)" = 0 ]; then
	nobody="setpriv --reuid=65534 --regid=65534 --clear-groups"
	chmod 777 "$work"
fi
as_nobody=

# result NAME OK: counts one check.
result() {
	if [ "$2" = yes ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "cli: FAILED: $1"
		sed 's/^/    /' err out | head -20
	fi
}

# refuse PATTERN ARGUMENT...: exit status 2, the pattern in the message, nothing on stdout, out.json not made.
refuse() {
	local pattern=$1 status ok=yes
	shift
	$as_nobody "$quire" "$@" >out 2>err </dev/null
	status=$?
	[ $status = 2 ] || ok=no
	grep -q -e "$pattern" err || ok=no
	[ ! -s out ] || ok=no
	[ -z "$(find . -name 'out.json*')" ] || ok=no
	result "quire $* (status $status, wanted 2 and '$pattern')" $ok
	rm -f out.json*
}

# accept STATUS PATTERN ARGUMENT...: that exit status, the pattern on stdout.
accept() {
	local wanted=$1 pattern=$2 status ok=yes
	shift 2
	"$quire" "$@" >out 2>err </dev/null
	status=$?
	[ $status = "$wanted" ] || ok=no
	grep -q -e "$pattern" out || ok=no
	result "quire $* (status $status, wanted $wanted and '$pattern')" $ok
}

# check NAME COMMAND...: the command succeeds.
check() {
	local name=$1 ok=yes
	shift
	"$@" >out 2>err || ok=no
	result "$name" $ok
}

cat >small.q <<'END'
title    A small run
machine  pandaboard
END
script=small.q
json=(--json out.json)

# --- commands and options
refuse "expected run, check, machines or bench"
refuse "did you mean 'run'" rum
refuse "did you mean 'machines'" machine
refuse "did you mean 'check'" chekc
refuse "expected one of: run check machines bench" xyzzy
refuse "expected a number\|is a number" check --cpus x
refuse "expected one of" diff x
refuse "did you mean 'policy'" run --polcy coherence=page "${json[@]}"
refuse "did you mean 'json'" run --jsn x
refuse "expected one of: help" run --zzzzzzzz
refuse "invalid option" run -x
refuse "requires an argument" run --machine
refuse "needs a value" run --machine= "${json[@]}"
refuse "given twice" run --full --full "${json[@]}"
refuse "given twice" run --json a --json b
refuse "means nothing to" machines --full
refuse "means nothing to" bench --policy coherence=page
refuse "means nothing to" run --keys "${json[@]}"
refuse "takes no name" machines --keys pandaboard
refuse "did you mean 'sim'" bench sm
refuse "did you mean 'check'" bench chek
refuse "number from 1 to 256" run --jobs 0 "${json[@]}"
refuse "number from 1 to 256" run --jobs -1 "${json[@]}"
refuse "number from 1 to 256" run --jobs two "${json[@]}"
refuse "number from 1 to 256" run --jobs 99999999999999999999999 "${json[@]}"

# --- names
refuse "did you mean 'mapped-read'" run mapped-raed "${json[@]}"
refuse "did you mean 'mapped-read'" run Mapped-Read "${json[@]}"
refuse "unknown experiment ''" run "" "${json[@]}"
refuse "unknown experiment 'zzz'" run zzz "${json[@]}"
refuse "did you mean 'pandaboard'" run --machine pandabord "$script" "${json[@]}"
refuse "did you mean 'pandaboard'" machines PandaBoard
refuse "known in .*machines:.* hp-a500" machines zzz
refuse "did you mean 'coherence'" run --policy coherense=page "$script" "${json[@]}"
refuse "did you mean 'page'" run --policy coherence=pge "$script" "${json[@]}"
refuse "expected eager" run --policy coherence= "$script" "${json[@]}"
refuse "expected key=value" run --policy coherence "$script" "${json[@]}"
refuse "expected key=value" run --policy coherence=page,, "$script" "${json[@]}"
refuse "as in fixed:512K" run --policy flush_range=fixed "$script" "${json[@]}"
refuse "as in fixed:512K" run --policy flush_range=fixed:12Q "$script" "${json[@]}"
refuse "as in fixed:512K" run --policy flush_range=fixed:99999999999999999999 "$script" "${json[@]}"
refuse "as in fixed:512K" run --policy flush_range=fixed:99999999T "$script" "${json[@]}"

# --- figures
refuse "did you mean 'l2_read'" run --set cost.l2_raed=3 --machine pandaboard "$script" "${json[@]}"
refuse "did you mean 'cost'" run --set cots.l2_read=3 "$script" "${json[@]}"
refuse "expected section.key" run --set l2_read=3 "$script" "${json[@]}"
refuse "expected key=value" run --set cost.l2_read "$script" "${json[@]}"
refuse "expected a time" run --set cost.l2_read=3 "$script" "${json[@]}"
refuse "expected a time" run --set "cost.l2_read=3 bytes" "$script" "${json[@]}"
refuse "expected a time" run --set "cost.l2_read=-3 cycles" "$script" "${json[@]}"
refuse "to 10000 cycles" run --set "cost.l2_read=10001 cycles" "$script" "${json[@]}"
refuse "to 10000 cycles" run --set "cost.l2_read=99999999999999999999999 cycles" "$script" "${json[@]}"
refuse "multiple" run --set l1d.size=33000 "$script" "${json[@]}"
refuse "from 1 to 64" run --set l1d.ways=0 "$script" "${json[@]}"
refuse "yes or no" run --set coherence.dma=maybe "$script" "${json[@]}"

# --- files
mkdir directory directory.q
: >empty.q
printf 'title x\0y\n' >binary.q
head -c 1200000 /dev/zero | tr '\0' x >huge.q
printf '[machine]\ntitle = T\ncpus = two | m\n' >machine.ini
printf '[machine]\nisa = armv7\n' >sourceless.ini
printf 'no section\n' >broken.ini
cp empty.q empty.ini
cp binary.q binary.ini
cp huge.q huge.ini
printf 'frobnicate 3\n' >words.q
refuse "No such file" run ./missing.q "${json[@]}"
refuse "No such file" run "$script" ./missing.q "${json[@]}"
refuse "directory, expected a file" run ./directory "${json[@]}"
refuse "directory, expected a file" run directory.q "${json[@]}"
refuse "empty.q: the file is empty" run empty.q "${json[@]}"
refuse "binary.q: a binary file" run binary.q "${json[@]}"
refuse "huge.q: .* larger than 1 MiB" run huge.q "${json[@]}"
refuse "words.q:1:1: " run words.q "${json[@]}"
refuse "No such file" machines ./missing.ini
refuse "directory, expected a file" machines ./directory
refuse "empty.ini: the file is empty" machines empty.ini
refuse "binary.ini: a binary file" machines binary.ini
refuse "huge.ini: .* larger than 1 MiB" machines huge.ini
refuse "machine.ini:3:8: .*whole number" machines machine.ini
refuse "sourceless.ini:2:1: .*source" machines sourceless.ini
refuse "broken.ini:1:1: expected" machines broken.ini
refuse "machine.ini:3:8: " run --machine ./machine.ini "$script" "${json[@]}"
if [ -z "$nobody" ] || $nobody "$quire" --version >out 2>err; then
	as_nobody=$nobody
	printf 'title x\n' >secret.q
	chmod 000 secret.q
	refuse "Permission denied" run secret.q "${json[@]}"
	echo old >kept.json
	chmod 444 kept.json
	refuse "Permission denied" run --json kept.json "$script"
	as_nobody=
	check "a file that must not be written is kept" grep -q old kept.json
	check "no temporary file is left" test -z "$(find . -name 'kept.json.*')"
else
	echo "cli: nobody cannot run $quire: permissions were not tried"
fi

# --- machines without architecture code, and machines of variants
refuse "machine sh4 has no architecture code: it runs the alias test only" run mapped-read --machine sh4 "${json[@]}"
refuse "machine sh4: there is no architecture code for it" check --machine sh4 "${json[@]}"
refuse "hardware does not keep the D caches of its CPUs coherent" run munmap --set coherence.data=no "${json[@]}"
refuse "hardware does not keep the D caches of its CPUs coherent" check --machine pandaboard --set coherence.data=no "${json[@]}"
refuse "no variant of .* runs on 'hp-a500-5y', did you mean 'hp-a500-5x'" run alias-test --machine hp-a500-5y "${json[@]}"
refuse "runs on bare machines, without Quire" run alias-test --policy coherence=page "${json[@]}"
printf 'bare\nvariant a machine=sh3\nalias-test\n' >variant.q
refuse "variant.q:2:19: the machine of variant a" run variant.q "${json[@]}"
printf '[machine]\ntitle = x\nisa = parisc | x\n[coherence]\nalias_check = yes | x\n' >alias.ini
refuse "alias.ini" machines ./alias.ini

# --- results that cannot be written
refuse "No such file" run --json ./nowhere/out.json "$script"
refuse "is a directory" run --json ./directory "$script"

# --- an existing file stays as it was when the run is refused
echo old >results.json
refuse "did you mean" run --json results.json --machine pandabord "$script"
check "an existing file is kept" grep -q old results.json
check "no temporary file is left" test -z "$(find . -name 'results.json.*')"

# --- what is right
accept 0 "Usage: quire" --help
accept 0 "run \[EXPERIMENT|FILE\]" --help
accept 0 "^quire [0-9]*\.[0-9]*\.[0-9]*$" --version
accept 0 "^pandaboard " machines
accept 0 "^sh4 .*SH7750" machines
accept 0 "alias-test: 14 variants, 42 measures, 14 expectations checked.* 0 failed" run alias-test
accept 0 "alias-test: 1 variant, 3 measures" run alias-test --machine sa110
accept 0 '"machine": "sa110"' run alias-test --json -
accept 0 '"policies": null' run alias-test --json -
# By-name scripts run when they are named only.
mkdir -p data/experiments && cp -r "$root/machines" data/
printf 'machine sh4\nbare\nby-name\nalias-test\n' >data/experiments/named.q
printf 'machine sh4\nbare\nalias-test\n' >data/experiments/always.q
# shellcheck disable=SC2016 # the inner shell expands
check "run leaves out by-name scripts" bash -c 'QUIRE_DATA=data "$1" run >all && grep -q "SUMMARY: always" all && ! grep -q named all' - "$quire"
# shellcheck disable=SC2016
check "a by-name script runs by name" bash -c 'QUIRE_DATA=data "$1" run named | grep -q "SUMMARY: named"' - "$quire"
accept 0 "range 7..8.7 cycles" machines pandaboard
accept 0 "read-page .*one page of read" machines --keys
for machine in "$root"/machines/*.ini; do
	accept 0 "." machines "$(basename "$machine" .ini)"
	accept 0 "." machines "$machine"
done
"$quire" --help >out 2>err
result "--help names no command that does not exist" "$(grep -qE '^ +(diff) ' out && echo no || echo yes)"

# --- the manual says what --help says
manual=$root/docs/quire.1
for option in $("$quire" --help | grep -oE -- '--[a-z]+' | sort -u); do
	result "the manual has $option" "$(grep -q -- "${option//-/\\\\-}" "$manual" && echo yes || echo no)"
done
# shellcheck disable=SC1003
for option in $(grep -E '^\.(B|BR) ' "$manual" | grep -oE '\\-\\-[a-z]+' | tr -d '\\' | sort -u); do
	result "--help has $option of the manual" "$("$quire" --help | grep -q -- "$option" && echo yes || echo no)"
done

# --- a run, its JSON, and both at once
if "$quire" run small.q >out 2>err; then
	accept 0 "SUMMARY: small: " run small.q
	accept 0 '"name": "small"' run --json - small.q
	check "JSON is the same bytes each time" sh -c \
		"'$quire' run --json one.json small.q && '$quire' run --json two.json small.q && cmp one.json two.json"
	check "JSON parses" python3 -c "import json; json.load(open('one.json'))"
	check "no temporary file beside it" test -z "$(find . -name 'one.json.*')"
	accept 0 "SUMMARY" run --json results.json small.q
	check "an existing file is replaced" grep -q '"quire"' results.json
else
	result "quire run small.q" no
fi

# --- check: bad input, a safe world, one that fails, and the script of that
refuse "did you mean 'tlb.page'" check --machine pandaboard --drop tlb.pge
refuse "did you mean 'broadcast-assumed'" check --machine pandaboard --mutant broadcast-asumed
refuse "number from 1 to 3" check --cpus 4
refuse "number from 1 to 30" check --depth 0
refuse "nothing without --random" check --seed 1
refuse "one fault at a time" check --drop tlb.page --mutant all
refuse "takes no argument" check pandaboard
refuse "did you mean 'pandaboard'" check --machine pandabord
refuse "means nothing to" run --depth 3 small.q
accept 0 "safe to depth 3: " check --machine pandaboard --depth 3
accept 0 "safe at any depth\|safe to depth 2" check --machine pandaboard --depth 2 --cpus 1 --pages 1
check "where no two calls can meet no estimate is made of them" sh -c \
	"! '$quire' check --machine core2-t7300-kvm --cpus 1 --depth 5 --interleave 5 2>&1 | grep -q nan"
accept 0 "no walk of 5 steps failed" check --machine pandaboard --random --depth 5 --seconds 1
accept 1 "^STALE TABLE ENTRY: " check --machine cortex-a8 --drop table.entry --script found.q
accept 1 "refuted in 3 steps" check --machine arm11-mpcore --mutant broadcast-assumed --script other.q
accept 1 "^4 of 15 mutants caught" check --machine cortex-a8 --mutant all --depth 2
accept 1 "at found.q:7" run found.q
sed 's/ drop=[a-z.]*//' found.q >mended.q
accept 0 "0 failed, 0 violations" run mended.q
# What a site left out breaks in a long run: the script passes as it is.
broken_without() { # site, script, what is reported
	sed "s/^explore.*/& drop=$1/" "$root/tests/scripts/$2" >broken.q
	accept 1 "^$3: " run broken.q
}
broken_without coherence.user-map.colour check-colour-during-munmap.q "STALE READ"
broken_without coherence.unmap.page check-two-colours-left.q "STALE READ"
broken_without coherence.copy.target check-frame-dirty-elsewhere.q "DEVICE DATA OVERWRITTEN"
broken_without flush-range.unmap.insn check-insn-after-unmap.q "STALE INSTRUCTION"
broken_without tlb.space check-number-of-ended-space.q "STALE TLB ENTRY"
sed 's/load shared page 0/load shraed page 0/' found.q >misspelt.q
refuse "did you mean 'cpu0, p0: load shared page 0'" run misspelt.q
check "JSON of a check parses" sh -c \
	"'$quire' check --machine pandaboard --depth 2 --json - | python3 -c 'import json, sys; json.load(sys.stdin)'"

# --- with its mutant, a script about a barrier fails in every variant
mutated() { # script, mutant, failed expectations
	sed "s/^explore .*/& mutant=$2/" "$root/tests/scripts/$1.q" >"$1.q"
	accept 1 "; $3 failed" run "$1.q"
}
mutated bug-01-flag-before-clean flag-before-clean 1
mutated bug-21-flush-then-purge tlb-after-flush 1
mutated bug-32-freed-too-early tlb-after-free 2
mutated bug-11-device-barrier barrier-left-out 4
mutated bug-11-tlb-barrier barrier-left-out 2
mutated bug-38-entry-barrier entry-barrier-left-out 2

# --- an interrupt ends a run: what is known is printed, no file is left
cat >long.q <<'END'
title    A run without an end
machine  pandaboard
mount    t tmpfs
file     f on=t size=1M fill=random
process  p
buffer   b size=64K
repeat 1000000 {
	read f chunk=64K into=b
}
END
timeout --preserve-status -s INT 2 "$quire" run --json interrupted.json long.q >kept 2>err
status=$?
result "an interrupt gives exit status 130 (status $status)" "$([ $status = 130 ] && echo yes || echo no)"
check "an interrupted run prints what it knows" grep -q "not finished" kept
check "an interrupted run leaves no file" test -z "$(find . -name 'interrupted.json*')"

# --- a check that would take days says so before it begins, and tells what it knows when it is interrupted
"$quire" check --machine pandaboard --depth 12 >kept 2>warned &
check=$!
for _ in $(seq 600); do
	grep -q "minutes on this host" warned && break
	sleep 0.1
done
check "a long check says how long, and what is shorter" grep -q "steps to depth 12, .* Shorter: --depth 11" warned
kill -INT $check
wait $check
status=$?
result "an interrupted check gives exit status 130 (status $status)" "$([ $status = 130 ] && echo yes || echo no)"
check "an interrupted check tells how far it is safe" grep -q "interrupted: safe to depth" kept

echo "$passed passed, $failed failed"
[ $failed = 0 ]
