title    Every page of a range is flushed and purged, not only its first
source   Quire, list of known faults, 8. Folios: tests/unit/bugs.c
machine  hp-a500

variant line       flush_range=line
variant fixed      flush_range=fixed:1M
variant split      flush_range=calibrated-split
variant whole      flush_range=whole
variant arm        machine=pandaboard
variant x86        machine=core2-t7300-kvm

process p
# Stored to, gone, the frames in use again at other colours: no old line comes over them.
map     m anonymous private rw size=64K
store   m
unmap   m
map     n anonymous private rw size=64K address=0x40023000
store   n
process other
buffer  sweep size=2M fill=zero
load    sweep
use     p
load    n

# Narrowed: every page of it.
protect n r
load    n
repeat 16 as=i {
	expect-error SIGSEGV { store n at=($i * 4K) size=8 }
}
protect n rw
store   n
unmap   n at=4K size=56K
repeat 14 as=i {
	expect-error SIGSEGV { load n at=(($i + 1) * 4K) size=8 }
}
load    n size=4K
load    n at=60K size=4K
expect  violations == 0
