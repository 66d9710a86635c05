title    Two shared maps of one page at different colours
source   Quire, list of known faults, 10: a store through one, a load through the other
machine  hp-a500

variant page    coherence=page
variant mapping coherence=mapping
variant arm     machine=pandaboard
variant x86     machine=core2-t7300-kvm

mount   ram ramfs
file    f on=ram size=16K fill=random
process p
map     a f shared rw address=0x40000000
map     b f shared rw address=0x40009000
map     c f shared rx address=0x50012000
load    a
load    b
execute c
repeat 3 {
	store   a size=8K
	load    b
	store   b at=4K size=8K
	load    a
	load    c
	execute c
}
# In another process too, and on another CPU.
fork    q
use     q
store   b
use     p
load    a
load    c
in page,mapping,arm {
	cpu 1
	use     q
	store   a
	cpu 0
	load    b
}
unmap   a
load    b
execute c
buffer  r size=16K
read    f
expect  violations == 0
