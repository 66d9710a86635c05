title    Reading a file is as fast when it is mapped as when it is not
source   Quire, list of known faults, 51
machine  pandaboard

variant arm
variant hp  machine=hp-a500
variant x86 machine=core-i5-2012

mount   ram ramfs
file    f on=ram size=4M fill=random
process p
buffer  b size=64K
read    f
time    alone us { read f }
map     m f shared r
time    mapped us { read f }
load    m stride=4K
time    seen us { read f }
unmap   m
map     w f shared rw
read    f
time    writable us { read f }
expect  mapped < alone * 1.02
expect  writable < alone * 1.02
# Where caches alias, the policy page looks for a page that is mapped at the user's colour each time.
in arm,x86 expect seen < alone * 1.02
expect  violations == 0
