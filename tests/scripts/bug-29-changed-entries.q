title    No change to a present entry without a TLB invalidation
source   Quire, list of known faults, 29
machine  core2-t7300-kvm

variant x86
variant x86-2 machine=core-i5-2012 machine.cpus=2
variant arm   machine=pandaboard
variant hp    machine=hp-a500

mount   ram ramfs
file    f on=ram size=16K fill=random
process p
map     a anonymous private rw size=16K
map     c f private rw
map     s f shared rw
store   a
store   c
store   s
in x86-2,arm,hp { cpu 1 }
in x86-2,arm,hp use p
store   a
store   c
cpu     0

# Narrowed by fork: the parent's next store must not reach the child.
fork    q
store   a
store   c at=4K size=4K
use     q
load    a
load    c
exit    q
in x86-2,arm,hp { cpu 1 }
use     p
fork    r
cpu     0
use     p
store   a at=4K size=8K
in x86-2,arm,hp { cpu 1 }
use     r
load    a
exit    r
cpu     0
use     p

# Another page in the entry: copy on write, of a page that was loaded before.
fork    t
load    a
load    c
store   a
load    a
in x86-2,arm,hp { cpu 1 }
in x86-2,arm,hp use p
load    a
cpu     0
use     p
exit    t

# Narrowed by mprotect, and widened again: the store faults once, no more.
protect a r
expect-error SIGSEGV { store a at=4K size=8 }
protect a rw
load    a
set     before = faults
store   a at=4K size=8
expect  faults - $before == 1
store   a at=4K size=8
expect  faults - $before == 1

# Narrowed by msync, by writeback.
msync   s async
epoch
sleep   2s
store   s at=8 size=8
msync   s async
expect  mtime(f) >= 2
sleep   2s
store   s at=8 size=8
msync   s async
expect  mtime(f) >= 4
expect  violations == 0
