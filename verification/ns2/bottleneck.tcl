# One greedy flow over the Santa Cruz paper's basic bottleneck (its Fig. 7) in ns-2.  Prints ns-2's
# trace of every packet.  The sender is Vegas, Reno or any other agent with a plain sink.
#
#   ns bottleneck.tcl sender=Vegas duration=10
#
# Access links of 10 Mb/s, a bottleneck of 1.5 Mb/s with a buffer of 17 packets, a one-way delay of
# 40 ms, packets of 1000 bytes.

array set opt {
    sender Vegas    duration 10    window 64    ssthresh 32    packet 1000    ack 40
    alpha 1         beta 3         gamma 1
    rate 1.5e6      access 10e6    access_delay 0.002    delay 0.036    buffer 17
    tick 0.1        rto_min 1      rto_max 64            rto_initial 3
}
foreach argument $argv {
    if {![regexp {^([a-z_]+)=(.*)$} $argument - key value] || ![info exists opt($key)]} {
        puts stderr "bottleneck.tcl: unknown argument `$argument'"
        exit 2
    }
    set opt($key) $value
}

Agent/TCP set syn_ false
Agent/TCP set delay_growth_ false
Agent/TCP set useHeaders_ false
Agent/TCP set window_ $opt(window)
Agent/TCP set windowInit_ 1
Agent/TCP set singledup_ 0
Agent/TCP set tcpTick_ $opt(tick)
Agent/TCP set minrto_ $opt(rto_min)
Agent/TCP set maxrto_ $opt(rto_max)
Agent/TCP set rtxcur_init_ $opt(rto_initial)
Agent/TCP set packetSize_ $opt(packet)
Agent/TCPSink set packetSize_ $opt(ack)
Agent/TCP/Vegas set v_alpha_ $opt(alpha)
Agent/TCP/Vegas set v_beta_ $opt(beta)
Agent/TCP/Vegas set v_gamma_ $opt(gamma)

set ns [new Simulator]
$ns trace-all stdout
foreach node {a near far b} { set $node [$ns node] }
$ns duplex-link $a $near $opt(access) $opt(access_delay) DropTail
$ns duplex-link $near $far $opt(rate) $opt(delay) DropTail
$ns duplex-link $far $b $opt(access) $opt(access_delay) DropTail
$ns queue-limit $a $near 10000
$ns queue-limit $near $far $opt(buffer)
set tcp [new Agent/TCP/$opt(sender)]
set sink [new Agent/TCPSink]
$ns attach-agent $a $tcp
$ns attach-agent $b $sink
$ns connect $tcp $sink
set ftp [new Application/FTP]
$ftp attach-agent $tcp
# An agent sets ssthresh_ to window_ when it starts.
$ns at 0 "$tcp set ssthresh_ $opt(ssthresh); $ftp start"
$ns at $opt(duration) "exit 0"
$ns run
