title    An upper entry that went is forgotten before its table is used for something else
source   Quire, list of known faults, 30: the walker follows a pointer into a freed table
machine  core2-t7300-kvm

variant x86   tlb.walk_cache=4
variant x86-2 machine=core-i5-2012 machine.cpus=2 tlb.walk_cache=4
variant arm   machine=pandaboard tlb.walk_cache=4
variant arm-m machine=pandaboard coherence.walker=memory tlb.walk_cache=4
variant hp    machine=hp-a500

process p
map     keep anonymous private rw size=4K
store   keep
repeat 4 as=i {
	# One page in a leaf table of its own, which goes with it.
	map     m anonymous private rw size=8K address=0x40000000
	store   m
	in x86-2,arm,arm-m,hp {
		cpu 1
		use p
		load m
		cpu 0
	}
	set     tables = tables
	unmap   m at=0 size=8K
	expect  tables < $tables
	# The frames of the tables become data, numbers that look like entries.
	map     d anonymous private rw size=256K address=0x60000000
	store   d value=(0x100000 + $i * 0x1000 + 0x67)
	map     n anonymous private rw size=8K address=0x40000000
	load    n
	store   n
	in x86-2,arm,arm-m,hp {
		cpu 1
		load n
		cpu 0
	}
	load    d
	unmap   d
	unmap   n
}
load    keep
expect  violations == 0
