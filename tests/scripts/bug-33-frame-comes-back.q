title    A frame that went to another and back: zeros here, and nothing lost there
source   Quire, list of known faults, 33: M A; st; U A; frame reused by B; M A again; ld A
machine  hp-a500

variant line  flush_range=line
variant fixed flush_range=fixed:1M
variant split flush_range=calibrated-split
variant eager flush_range=calibrated-split coherence=eager
variant arm   machine=pandaboard
variant x86   machine=core2-t7300-kvm

process p
repeat 4 as=i {
	map     a anonymous private rw size=64K address=0x40005000
	load    a
	store   a
	unmap   a
	process q$i
	map     b anonymous private rw size=64K address=(0x40035000 + $i * 0x11000)
	store   b
	use     p
	map     a anonymous private rw size=64K address=0x40005000
	load    a
	store   a at=100 size=4K
	use     q$i
	load    b
	use     p
	load    a
	unmap   a
	exit    q$i
}
expect  violations == 0
