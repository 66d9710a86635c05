title    Instructions of a page that was read from the disk are not those of the frame's last page
source   Quire, list of known faults, 7: page-in of an executable page without I-side sync
machine  pandaboard

variant arm
variant mapping coherence=mapping
variant coherent coherence.dma=yes
variant hp      machine=hp-a500
variant hp-dma  machine=hp-a500 coherence.dma=no
variant x86     machine=core2-t7300-kvm

mount   d disk
file    f on=d size=64K fill=random
file    g on=d size=64K fill=random
fsync   f
fsync   g
reclaim

# The two are mapped at one address in turn, in the frames that the other has left.
repeat 3 as=i {
	process p$i
	map     x f private rx
	execute x
	exit    p$i
	reclaim
	process q$i
	map     x g private rx
	execute x
	exit    q$i
	reclaim
}
expect  violations == 0
