title    read() and write() of a page that is mapped and stored to: both directions are current
source   Quire, list of known faults, 23: M; st; kmap; kld; kst; kunmap; ld
machine  hp-a500

variant page    coherence=page fs=ramfs
variant mapping coherence=mapping fs=ramfs
variant eager   coherence=eager fs=ramfs
variant tmpfs   coherence=page fs=tmpfs
variant arm     machine=pandaboard fs=ramfs
variant x86     machine=core2-t7300-kvm fs=ramfs

mount   m $fs
file    f on=m size=32K fill=random
process p
map     m f shared rw
buffer  b size=32K
repeat 3 as=i {
	store   m
	read    f
	store   m at=($i * 4K) size=200
	read    f at=($i * 4K) size=4K
	write   f at=(8K + $i * 4K) size=100 fresh
	load    m
	store   m at=(8K + $i * 4K + 50) size=100
	read    f
	write   f at=100 size=20000 fresh
	load    m
}
# A second process, whose map lies at another colour.
process q
map     n f shared rw address=0x40013000
load    n
store   n at=4K size=4K
buffer  b size=32K
read    f
write   f at=4000 size=200 fresh
load    n
use     p
load    m
store   m
use     q
read    f
expect  violations == 0
