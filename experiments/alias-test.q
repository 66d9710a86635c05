# The alias test on every machine that has a published result.
#
# alias-test maps one page at two addresses a power of two apart, stores through one and loads through the other, right
# behind the store and after a barrier. It measures the least separation from which on no load after a barrier is stale
# (cache coherent from), none at all (all coherent from), and the loop takes no more than twice the time of one address
# (fast from). 0 B: not even the largest, 16 MB, passes. What each machine says of every separation is in the notes.
#
# Published: "fails below 16 KB" is 16384; where every separation passed, the least that is tested, 4096.

title    Alias test: one page at two addresses
source   Alias test by J. Lokier, results of dozens of people, linux-kernel, 29 August to 10 September 2003

bare
by-name

variant hp-a500-5x   machine=hp-a500-5x
variant pa7100lc     machine=pa7100lc
variant ultrasparc2  machine=ultrasparc2
variant sh4          machine=sh4
variant r5000        machine=r5000
variant r4400sc      machine=r4400sc
variant sa110        machine=sa110
variant sa1110       machine=sa1110
variant pxa255       machine=pxa255
variant 68040        machine=68040
variant k6           machine=k6
variant athlon       machine=athlon
variant pentium3     machine=pentium3
variant ppc750       machine=ppc750

publish "cache coherent from" B hp-a500-5x=262144 pa7100lc=131072 ultrasparc2=16384 sh4=16384 r5000=16384 r4400sc=4096 sa110=0 sa1110=4096 pxa255=4096 68040=4096 k6=4096 athlon=4096 pentium3=4096 ppc750=4096
publish "all coherent from"   B hp-a500-5x=4194304 pa7100lc=131072 ultrasparc2=16384 sh4=16384 r5000=16384 r4400sc=4096 sa110=0 sa1110=4096 pxa255=4096 68040=0 k6=4096 athlon=4096 pentium3=4096 ppc750=4096
publish "fast from"           B hp-a500-5x=4194304 pa7100lc=131072 ultrasparc2=16384 sh4=16384 r5000=16384 r4400sc=16384 sa110=0 sa1110=0 pxa255=0 68040=0 k6=16384 athlon=32768 pentium3=4096 ppc750=4096

# The kernels of these two ran with aliases uncached: so does the test. On the SA-110 the published kernel did not.
in sa1110,pxa255 alias-test uncached
in hp-a500-5x,pa7100lc,ultrasparc2,sh4,r5000,r4400sc,sa110,68040,k6,athlon,pentium3,ppc750 alias-test

expect differences == 0
