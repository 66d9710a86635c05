# Setting table entries: is each cleaned from the D cache for a walker that reads the D cache anyway?
#
# The lmbench programs, as their sources define them. Sizes of programs were not published: those below are
# assumed, each with the range that is plausible for statically linked programs on Android of 2011. What a program
# touches decides how many entries it sets: the differences between the published figures (0.53 us for a page fault;
# 21 us fork; 35 to 38 us exec; 162 us sh) are the check on them.

title    Set page-table entries
source   Heechul Yun and Catalin Marinas, "Unnecessary cache-line flush on page table updates?", linux-arm-kernel, 1 July 2011
machine  cortex-a9-smp
question pte_clean

# Before: each entry is cleaned as it is written. After: not where the walker sees the D cache; new, empty tables
# still are, as the source left them. Beyond: those neither.
variant before  pte_clean=always
variant after   pte_clean=entries
variant beyond  pte_clean=detect

# Kernels of 2011 had no fault-around: each page of a file faults by itself.
policy  fault_around=1

set loops = 100

mount   tmp tmpfs

# --- Page faults on a temporary file: all pages in random order, less mapping and unmapping alone ---

file    data on=tmp size=8M fill=random
process lat_pagefault

map     m data shared r readonly
load    m stride=4K order=random        # once without a clock
unmap   m
map     m data shared r readonly
time touched {
	load    m stride=4K order=random
	unmap   m
	map     m data shared r readonly
	msync   m invalidate
}
time untouched {
	unmap   m
	map     m data shared r readonly
	msync   m invalidate
}
measure "page fault" us = (touched - untouched) / pages(data) note "what a clean costs is in no figure before by itself: it is the Pandaboard's, see docs/figures.md"
publish "page fault" us  before=3.6209  after=3.0759

# --- Programs: files, and what each maps and touches when it starts ---
#
#            text               data and bss       heap              stack
# lat_proc   256K (128..700K)   48K  (16..128K)    16K  (8..64K)     16K of 128K
# hello      96K  (32..512K)    24K  (8..64K)      8K   (4..32K)     12K of 128K
# sh         384K (128..900K)   64K  (24..128K)    128K (32..256K)   16K of 128K

file    lat_proc.bin on=tmp size=288K fill=random
file    hello.bin on=tmp size=112K fill=random
file    sh.bin on=tmp size=424K fill=random

routine start-lat_proc {
	map     text lat_proc.bin private rx size=256K
	map     data lat_proc.bin private rw at=256K size=32K
	map     bss anonymous private rw size=16K
	map     heap anonymous private rw size=16K
	map     stack anonymous private rw size=128K
	execute text size=96K stride=4K
	store   data size=16K stride=4K
	store   bss size=12K stride=4K
	store   heap stride=4K
	store   stack at=112K size=16K stride=4K
}

routine start-hello {
	map     text hello.bin private rx size=96K
	map     data hello.bin private rw at=96K size=16K
	map     bss anonymous private rw size=8K
	map     heap anonymous private rw size=8K
	map     stack anonymous private rw size=128K
	execute text size=56K stride=4K
	store   data stride=4K
	store   bss stride=4K
	store   heap stride=4K
	store   stack at=116K size=12K stride=4K
}

routine start-sh {
	map     text sh.bin private rx size=384K
	map     data sh.bin private rw at=384K size=40K
	map     bss anonymous private rw size=24K
	map     heap anonymous private rw size=128K
	map     stack anonymous private rw size=128K
	execute text size=256K stride=4K
	store   data stride=4K
	store   bss stride=4K
	store   heap stride=4K
	store   stack at=112K size=16K stride=4K
}

# What both sides of a fork touch next: the code after the call, the stack, a few variables.
routine after-fork {
	execute text at=32K size=16K stride=4K
	store   stack at=124K size=4K stride=4K
	store   data size=8K stride=4K
}

# --- fork, and the child exits at once: exit() runs through more of the library ---

process lat_proc
call    start-lat_proc

routine fork-exit {
	fork    child
	use     child
	call    after-fork
	execute text at=64K size=16K stride=4K
	store   bss size=8K stride=4K
	exit    child
	use     lat_proc
	call    after-fork
	syscall                 # wait
}
# Once without a clock: the memory allocator has pages at hand then.
call    fork-exit
set     before = entries
time forks {
	repeat $loops {
		call    fork-exit
	}
}
measure "fork+exit: entries set" entries = (entries - $before) / $loops
measure "fork+exit" us = forks / $loops
publish "fork+exit" us  before=485.5236  after=464.5414

# --- fork, and the child executes a small program ---

routine fork-exec {
	fork    child
	use     child
	call    after-fork
	syscall                 # close
	exec
	call    start-hello
	syscall count=2         # write, which fails: its output was closed; and the loader's one
	exit    child
	use     lat_proc
	call    after-fork
	syscall                 # wait
}
call    fork-exec
set     before = entries
time execs {
	repeat $loops {
		call    fork-exec
	}
}
measure "fork+exec: entries set" entries = (entries - $before) / $loops
measure "fork+exec" us = execs / $loops
publish "fork+exec" us  before=820.0613  after=785.4944

# --- fork, and the child executes the shell, which forks and executes the small program ---

routine fork-sh {
	fork    child
	use     child
	call    after-fork
	syscall                 # close
	exec
	call    start-sh
	syscall count=30        # a shell asks for its environment, terminal and signals as it starts
	work    shell
	fork    grandchild
	use     grandchild
	call    after-fork
	exec
	call    start-hello
	syscall count=2
	exit    grandchild
	use     child
	call    after-fork
	syscall count=2         # wait, and a signal handled
	exit    child
	use     lat_proc
	call    after-fork
	syscall                 # wait
}
call    fork-sh
set     before = entries
time shells {
	repeat $loops {
		call    fork-sh
	}
}
measure "fork+sh: entries set" entries = (entries - $before) / $loops
measure "fork+sh" us = shells / $loops
publish "fork+sh" us  before=2966.3828  after=2804.2023

# Copy on write kept the parent's memory its own.
load    data
load    bss
load    heap
load    stack
execute text
expect  violations == 0
