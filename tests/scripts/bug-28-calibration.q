title    A threshold that was measured wrongly stays within bounds, and changes no result
source   Quire, list of known faults, 28: a warm cache, a huge-page mapping, an emulator
machine  hp-a500

# An emulator, on which nothing takes any time; loops that cost nothing, and operations that do; the other way round;
# a clock that is very coarse; a kernel that is small.
variant real     flush_range=calibrated-split
variant nothing  flush_range=calibrated-split cost.data_op=0 cost.data_op_set=0 cost.data_op_clean=0 cost.data_op_dirty=0 cost.insn_op=0 cost.insn_op_set=0 cost.broadcast=0 cost.barrier=0 cost.tlb_op=0 cost.tlb_all=0 cost.memory_write=0 cost.memory_read=0 cost.cross_call=0
variant set-free flush_range=calibrated-split cost.data_op_set=0 cost.insn_op_set=0 cost.tlb_all=0 cost.memory_write=0 cost.cross_call=0
variant op-free  flush_range=calibrated-split cost.data_op=0 cost.data_op_clean=0 cost.data_op_dirty=0 cost.insn_op=0 cost.tlb_op=0 cost.broadcast=0
variant one      flush_range=calibrated       cost.data_op=0 cost.data_op_clean=0 cost.data_op_dirty=0 cost.broadcast=0
variant free-one flush_range=calibrated       cost.data_op_set=0 cost.memory_write=0 cost.cross_call=0
variant text     flush_range=calibrated-split machine.kernel_text=4K

# Documented bounds: a sixteenth of the cache, four times the caches of all CPUs; 4 pages, four times the TLB.
expect  threshold(data) >= 64K
expect  threshold(data) <= 8M
expect  threshold(insn) >= 32K
expect  threshold(insn) <= 8M
expect  threshold(tlb) >= 16K
expect  threshold(tlb) <= 2560K

process p
repeat 2 as=i {
	map     a anonymous private rw size=($i * 512K + 64K)
	store   a
	unmap   a
	map     b anonymous private rw size=($i * 512K + 64K) address=(0x40000000 + $i * 0x1003000)
	store   b
	process other$i
	buffer  sweep size=2M fill=zero
	load    sweep
	use     p
	load    b
	unmap   b
}
expect  violations == 0
