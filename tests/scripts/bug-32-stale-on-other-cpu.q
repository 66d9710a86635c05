title    When munmap has returned no CPU can reach the frame
source   Quire, list of known faults, 32: C0 unmap, free, reuse; C1 st through the stale entry
machine  core-i5-2012

variant x86 machine.cpus=2
variant arm machine=pandaboard
variant apart machine=pandaboard coherence.tlb_broadcast=no
variant hp  machine=hp-a500

mount   ram ramfs
file    f on=ram size=16K fill=random
process p
map     m anonymous private rw size=16K
map     s f shared rw
store   m
store   s
cpu     1
use     p
load    m
store   m
store   s
cpu     0
unmap   m at=4K size=12K
process q
map     n anonymous private rw size=64K
store   n
truncate f size=4K
cpu     1
expect-error SIGSEGV { store m at=4K size=8 }
expect-error SIGSEGV { load m at=8K size=8 }
expect-error SIGBUS  { store s at=4K size=8 }
cpu     0
load    n
cpu     1
store   m size=4K
load    s size=4K
# A whole space ends, and its number is used again.
process r
map     m anonymous private rw size=16K
store   m
cpu     0
use     q
exit    r
process t
map     m anonymous private rw size=16K
load    m
store   m
cpu     1
use     t
load    m
expect  violations == 0
