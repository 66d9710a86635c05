title    A device that reads a page sees what was stored through a mapping
source   Quire, list of known faults, 48
machine  pandaboard

variant arm
variant walker   coherence.walker=memory
variant x86      machine=core2-t7300-kvm
variant hp       machine=hp-a500
variant hp-apart machine=hp-a500 coherence.dma=no

mount   d disk
file    f on=d size=64K fill=random
fsync   f
process p
map     m f shared rw
load    m
store   m at=4K size=20K
fsync   f
# Dirty again, also in the cache of the other CPU.
in arm,walker,hp,hp-apart {
	cpu 1
	use     p
	store   m at=16K size=16K
	cpu 0
}
store   m at=40K size=8
fsync   f
exit    p
unmount d
mount   d disk
process q
file    f on=d
buffer  b size=64K
read    f
map     m f shared r
load    m
expect  violations == 0
