title    When truncate returns, nothing beyond the end is mapped
source   Quire, list of known faults, 18. The race itself: tests/unit/bugs.c
machine  hp-a500

variant hp    fs=ramfs
variant tmpfs fs=tmpfs
variant disk  fs=disk
variant arm   machine=pandaboard   fs=disk
variant x86   machine=core-i5-2012 fs=tmpfs

mount   m $fs
file    f on=m size=64K fill=random
process p
map     w f shared rw
map     c f private rw
load    w
store   c at=32K size=4K
cpu 1
use     p
load    w
cpu 0
truncate f size=20000
load    w size=20000
load    w at=20000 size=480
expect-error SIGBUS { load w at=20K size=8 }
expect-error SIGBUS { store w at=60K size=8 }
expect-error SIGBUS { load c at=32K size=8 }
cpu 1
expect-error SIGBUS { store w at=20K size=8 }
expect-error SIGBUS { load w at=32K size=8 }
expect-error SIGBUS { store c at=36K size=8 }

# Grown again, the end is zeros, whatever was stored behind it.
store   w at=20000 size=480
truncate f size=64K
load    w
cpu 0
buffer  b size=64K
read    f into=b
expect  violations == 0
