title    A table entry is cleaned as far as the walker reads
source   Quire, list of known faults, 36: only to where D and I sides meet
machine  pandaboard

variant memory coherence.walker=memory machine.memory=12M machine.kernel_text=1M
variant l2     coherence.walker=l2 machine.memory=12M machine.kernel_text=1M
variant always coherence.walker=memory pte_clean=always machine.memory=12M machine.kernel_text=1M
variant entries coherence.walker=memory pte_clean=entries machine.memory=12M machine.kernel_text=1M
variant l1     coherence.walker=l1 pte_clean=detect machine.memory=12M machine.kernel_text=1M

process before
buffer  old size=(free * 4K - 256K) fill=random
exit    before

mount   ram ramfs
file    f on=ram size=64K fill=random
process p
map     a anonymous private rw size=256K
store   a
load    a
map     m f shared rw
store   m
protect a r
expect-error SIGSEGV { store a at=4K size=8 }
protect a rw
store   a
unmap   a at=64K size=64K
expect-error SIGSEGV { load a at=64K size=8 }
fork    q
store   a size=64K
use     q
load    a size=64K
cpu     1
use     p
load    a size=64K
store   a size=64K
store   m
msync   m async
store   m
cpu     0
load    m
use     p
exit    q
map     n anonymous private rw size=64K address=0x60000000
store   n
load    n
expect  violations == 0
