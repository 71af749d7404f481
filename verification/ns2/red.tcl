# Ten greedy flows over one bottleneck with random early detection in ns-2. Prints one JSON object
# on stdout.
#
#   ns red.tcl ecn=0 bytes=0 gentle=0 duration=300 warm_up=50 seed=1
#
# README.md in this folder describes the meaning of the settings in ns-2.

array set opt {
    ecn 0           bytes 0             gentle 0            duration 300        warm_up 50          seed 1
    rate 10e6       delay 0.05          limit 200           min_th 20           max_th 60           max_p 0.1
    weight 0.002    wire 1500           greedy 10           spread 1            window 10000
}
foreach argument $argv {
    if {![regexp {^([a-z_]+)=(.*)$} $argument - key value] || ![info exists opt($key)]} {
        puts stderr "red.tcl: unknown argument `$argument'"
        puts stderr "hint: arguments are key=value with a key of: [lsort [array names opt]]"
        exit 2
    }
    set opt($key) $value
}

# The sender of web.tcl, with the timers of 2002.
Agent/TCP set syn_ false
Agent/TCP set delay_growth_ false
Agent/TCP set useHeaders_ false
Agent/TCP set window_ $opt(window)
Agent/TCP set windowInit_ 1
Agent/TCP set singledup_ 0
Agent/TCP set precisionReduce_ 1
Agent/TCP set tcpTick_ 0.1
Agent/TCP set minrto_ 1
Agent/TCP set maxrto_ 64
Agent/TCP set rtxcur_init_ 3
Agent/TCP set packetSize_ $opt(wire)
Agent/TCP set ecn_ $opt(ecn)
Agent/TCPSink set packetSize_ 40

# The paper's RED: method 2 of its section VII without wait_, no adaptation, ECN-capable packets
# marked at any probability. Thresholds are in packets, also with an average in bytes; ns-2
# multiplies them by mean_pktsize_.
Queue/RED set bytes_ $opt(bytes)
Queue/RED set queue_in_bytes_ $opt(bytes)
Queue/RED set mean_pktsize_ $opt(wire)
Queue/RED set thresh_ $opt(min_th)
Queue/RED set maxthresh_ $opt(max_th)
Queue/RED set q_weight_ $opt(weight)
Queue/RED set linterm_ [expr {1.0 / $opt(max_p)}]
Queue/RED set gentle_ $opt(gentle)
Queue/RED set wait_ false
Queue/RED set adaptive_ 0
Queue/RED set cautious_ 0
Queue/RED set setbit_ $opt(ecn)
Queue/RED set use_mark_p_ false
Queue/RED set drop_tail_ true

set ns [new Simulator]
foreach stream {starts} {
    set $stream [new RNG]
    for {set i 0} {$i < $opt(seed)} {incr i} { [set $stream] next-substream }
}
for {set i 0} {$i < $opt(seed)} {incr i} { $defaultRNG next-substream }

set servers [$ns node]
set clients [$ns node]
$ns simplex-link $servers $clients $opt(rate) $opt(delay) RED
$ns simplex-link $clients $servers 1e15 $opt(delay) DropTail
$ns queue-limit $servers $clients $opt(limit)
$ns queue-limit $clients $servers 100000000
set monitor [$ns monitor-queue $servers $clients [open /dev/null w]]

for {set i 0} {$i < $opt(greedy)} {incr i} {
    set tcp [new Agent/TCP/Sack1]
    set sink [new Agent/TCPSink/Sack1]
    $ns attach-agent $servers $tcp
    $ns attach-agent $clients $sink
    $ns connect $tcp $sink
    $ns at [$starts uniform 0 $opt(spread)] "$tcp send -1"
}

set counters {parrivals_ pdrops_ pmarks_ pdepartures_}
proc snapshot {into} {
    global ns monitor counters
    upvar #0 $into at
    foreach counter $counters { set at($counter) [$monitor set $counter] }
    [$monitor get-pkts-integrator] newpoint [$ns now] [$monitor set pkts_]
    set at(packets) [[$monitor get-pkts-integrator] set sum_]
}
proc finish {} {
    global opt before after counters
    snapshot after
    foreach counter [concat $counters packets] { set d($counter) [expr {$after($counter) - $before($counter)}] }
    set span [expr {double($opt(duration) - $opt(warm_up))}]
    puts [format {{"offered_packets":%d,"dropped_packets":%d,"marked_packets":%d,"utilisation":%s,"mean_waiting_packets":%s}} \
        $d(parrivals_) $d(pdrops_) $d(pmarks_) [expr {$d(pdepartures_) * 8.0 * $opt(wire) / $opt(rate) / $span}] \
        [expr {$d(packets) / $span}]]
    exit 0
}
$ns at $opt(warm_up) "snapshot before"
$ns at $opt(duration) "finish"
$ns run
