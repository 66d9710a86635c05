title    Copy on write after fork copies what was stored last
source   Quire, list of known faults, 22: st x; fork; child st: kernel copies P
machine  hp-a500

variant page    coherence=page machine.memory=12M machine.kernel_text=1M
variant mapping coherence=mapping machine.memory=12M machine.kernel_text=1M
variant eager   coherence=eager machine.memory=12M machine.kernel_text=1M
variant arm     machine=pandaboard machine.memory=12M machine.kernel_text=1M
variant x86     machine=core2-t7300-kvm machine.memory=12M machine.kernel_text=1M

# So that the kernel's lines of the frames are there, and old.
process before
buffer  old size=(free * 4K - 256K) fill=random
exit    before

mount   ram ramfs
file    f on=ram size=32K fill=random
process p
map     a anonymous private rw size=32K
map     c f private rw
store   a
store   c
fork    q
use     q
store   a at=100 size=8
load    a
store   c at=(4K + 8) size=8
load    c
use     p
load    a
store   a at=8K size=8
load    a
load    c
fork    r
store   a at=16K size=16K
exit    p
use     r
load    a
store   a
store   c
use     q
load    a
load    c
exit    r
store   a
load    a

# The child's copy is made on another CPU.
in page,mapping,eager,arm {
	fork    s
	cpu 1
	use     s
	store   a stride=4K
	load    a
	cpu 0
	load    a
}
expect  violations == 0
