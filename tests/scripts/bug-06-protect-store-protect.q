title    Code that a process changes between two mprotects is executed as changed
source   Quire, list of known faults, 6: M code rx; mprotect rw; st (copy on write); mprotect rx; ifetch
machine  pandaboard

variant arm
variant memory  coherence.walker=memory
variant mapping coherence=mapping
variant hp      machine=hp-a500
variant x86     machine=core2-t7300-kvm

mount   ram ramfs
file    f on=ram size=16K fill=random
process p
map     x f private rx
map     s f shared rx
map     a anonymous private rw size=16K
execute x
execute s
store   a
protect a rx
execute a

# Twice: the second time the pages are private already, and instructions of them are in the I cache.
repeat 2 {
	protect x rw
	store   x
	protect x rx
	execute x
	protect a rw
	store   a at=4K size=8K
	protect a rx
	execute a
	protect s rw
	store   s
	protect s rx
	execute s
}

# With one protection for both, between stores and fetches.
protect a rwx
execute a
store   a
execute a
expect  violations == 0
